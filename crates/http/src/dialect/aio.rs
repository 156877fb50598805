//! AIO Sandbox's accent: one envelope round every JSON answer, its names for fields, its wording.
//!
//! Every answer carries `success`, `message`, `data`, `hint` and `code`; failures keep the envelope whatever their
//! status, add `error_code` (ours, dotted) and hold a non-zero integer `code`, because clients of a sister system take
//! a body without one for success. A wrong input is reported in both forms clients have been seen to read.

mod document;
mod envelope;

pub use document::openapi;
pub(crate) use envelope::{failure, success};

/// Another name by which clients send a field.
pub(crate) struct Alias {
    /// What clients send.
    pub(crate) alias: &'static str,
    /// What it means.
    pub(crate) field: &'static str,
}

const fn alias(alias: &'static str, field: &'static str) -> Alias {
    Alias { alias, field }
}

const SHELL: &[Alias] =
    &[alias("session_id", "id"), alias("cmd", "command"), alias("cwd", "exec_dir")];

const BASH: &[Alias] =
    &[alias("id", "session_id"), alias("cmd", "command"), alias("cwd", "exec_dir")];

/// The other names an operation's fields go by. A name counts only where the field exists and was not sent itself.
pub(crate) fn aliases(operation: &str) -> &'static [Alias] {
    match operation.split('_').next() {
        Some("shell") => SHELL,
        Some("bash") => BASH,
        _ => &[],
    }
}

/// What the envelope says of a success.
fn message(operation: &str) -> &'static str {
    match operation {
        "sandbox_get_context" => "Environment information retrieved",
        _ => "Operation successful",
    }
}

/// A result whose fields lie beside `data` instead of in it, as clients of this family expect.
struct Hoist {
    /// The field that becomes `data`.
    data: &'static str,
    /// Name of the answer's schema.
    schema: &'static str,
}

/// How an operation's result is taken apart, if it is.
fn hoist(operation: &str) -> Option<Hoist> {
    (operation == "sandbox_get_context")
        .then_some(Hoist { data: "text", schema: "SandboxResponse" })
}
