//! AIO Sandbox's accent: one envelope round every JSON answer, its names for fields, its wording.
//!
//! Every answer carries `success`, `message`, `data`, `hint` and `code`; failures keep the envelope whatever their
//! status, add `error_code` (ours, dotted) and hold a non-zero integer `code`, because clients of a sister system take
//! a body without one for success. A wrong input is reported in both forms clients have been seen to read.

mod document;
mod envelope;

use serde_json::{Map, Value, json};

pub use document::openapi;
pub(crate) use envelope::{exception, failure, failure_worded, success, success_saying};

/// Another name by which clients send a field.
#[derive(Debug)]
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

/// Operations on one file call it `file`, the others `path`; agents mix them up.
const FILE: &[Alias] = &[
    alias("path", "file"),
    alias("file", "path"),
    alias("file_path", "file"),
    alias("file_path", "path"),
    alias("old_text", "old_str"),
    alias("new_text", "new_str"),
    alias("since", "cursor"),
    alias("pattern", "glob"),
    alias("pattern", "regex"),
];

/// As published examples and agents have them.
const BROWSER: &[Alias] = &[
    alias("script", "expression"),
    alias("value", "text"),
    alias("text", "keyword"),
    alias("pattern", "url_pattern"),
];

/// The other names an operation's fields go by. A name counts only where the field exists and was not sent itself.
pub(crate) fn aliases(operation: &str) -> &'static [Alias] {
    match operation.split('_').next() {
        Some("shell") => SHELL,
        Some("bash") => BASH,
        Some("file") => FILE,
        Some("browser") => BROWSER,
        _ => &[],
    }
}

/// What the envelope says of a success.
fn message(operation: &str) -> &'static str {
    match operation {
        "sandbox_get_context" => "Environment information retrieved",
        "file_read" => "File read successfully",
        "file_write" | "file_append" => "File written successfully",
        _ => "Operation successful",
    }
}

/// Operations whose result is the whole answer: proxies and older clients read it without an envelope.
fn is_bare(operation: &str) -> bool {
    operation.starts_with("auth_")
}

/// Operations whose result lies in `data` and beside it: published examples read it in both places.
fn echoes(operation: &str) -> bool {
    operation.starts_with("file_watch_") || operation == "desktop_action"
}

/// What goes with a file system's refusal so that clients which know only the successful result can read it: an
/// answer with status 200 whose `data` has the fields such a result must have. `None` for operations that refuse with
/// a status.
fn refusal_fields(operation: &str, refusal: &Map<String, Value>) -> Option<Value> {
    let path = refusal.get("path").cloned().unwrap_or_default();
    let message = refusal.get("message").cloned().unwrap_or_default();
    Some(match operation {
        "file_read" => json!({"file": path, "content": ""}),
        "file_write" | "file_replace" | "file_search" => json!({"file": path}),
        "file_find" => json!({"files": []}),
        "file_glob" | "file_grep" => json!({"pattern": ""}),
        "file_list" => {
            json!({"files": [], "total_count": 0, "directory_count": 0, "file_count": 0})
        }
        "file_upload" => json!({"file_path": path, "file_size": 0, "success": false}),
        "file_str_replace_editor" => json!({"output": "", "prev_exist": false, "error": message}),
        _ => return None,
    })
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
