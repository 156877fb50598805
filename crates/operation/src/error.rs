//! One error for the whole program: a closed kind, a stable code, a message for the caller.
//!
//! Capabilities build it, faces translate it. `kind` decides the HTTP status and the CLI exit code in one
//! table; `code` is what programs match on; `message` says what failed, with what, and what to do. The private
//! cause is kept apart: it is logged once by the face and never sent.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

/// What went wrong, as far as a caller must tell cases apart. Closed on purpose: reuse before inventing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The input does not fit its schema; [`Error::fields`] says where.
    InvalidInput,
    /// The input is well formed, but cannot be accepted.
    InvalidArgument,
    /// No or bad credentials.
    Unauthenticated,
    /// Known caller, not allowed.
    PermissionDenied,
    /// The thing named does not exist.
    NotFound,
    /// The thing named exists already or changed meanwhile.
    Conflict,
    /// The thing named is not in a state that allows this.
    FailedPrecondition,
    /// The input or output is over a size limit.
    TooLarge,
    /// A limit on count or rate is reached.
    ResourceExhausted,
    /// The caller went away.
    Cancelled,
    /// A deadline of ours passed.
    DeadlineExceeded,
    /// This build or machine cannot do it.
    Unsupported,
    /// A part is missing or down; the message says how to cure it.
    Unavailable,
    /// Our fault.
    Internal,
}

impl Kind {
    /// Every kind, for tests and documentation.
    pub const ALL: [Kind; 14] = [
        Kind::InvalidInput,
        Kind::InvalidArgument,
        Kind::Unauthenticated,
        Kind::PermissionDenied,
        Kind::NotFound,
        Kind::Conflict,
        Kind::FailedPrecondition,
        Kind::TooLarge,
        Kind::ResourceExhausted,
        Kind::Cancelled,
        Kind::DeadlineExceeded,
        Kind::Unsupported,
        Kind::Unavailable,
        Kind::Internal,
    ];

    /// HTTP status and CLI exit code: the one table.
    const fn table(self) -> (u16, u8) {
        match self {
            Kind::InvalidInput => (422, 2),
            Kind::InvalidArgument => (400, 2),
            Kind::Unauthenticated => (401, 4),
            Kind::PermissionDenied => (403, 4),
            Kind::NotFound => (404, 3),
            Kind::Conflict | Kind::FailedPrecondition => (409, 5),
            Kind::TooLarge => (413, 2),
            Kind::ResourceExhausted => (429, 6),
            Kind::Cancelled => (499, 7),
            Kind::DeadlineExceeded => (504, 7),
            Kind::Unsupported => (501, 2),
            Kind::Unavailable => (503, 8),
            Kind::Internal => (500, 1),
        }
    }

    /// The HTTP status a face answers with.
    pub const fn http_status(self) -> u16 {
        self.table().0
    }

    /// The exit code the CLI ends with.
    pub const fn exit_code(self) -> u8 {
        self.table().1
    }
}

/// One field of the input that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field, outermost first; empty for the input as a whole.
    pub path: Vec<String>,
    /// What is wrong with it, readable after the field's name.
    pub message: String,
    /// A stable word for the mistake: `missing`, `type`, `minimum`, …
    pub rule: &'static str,
}

/// A failed operation.
pub struct Error(Box<Inner>);

struct Inner {
    kind: Kind,
    code: Cow<'static, str>,
    message: String,
    fields: Vec<FieldError>,
    details: Option<Value>,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of this kind; `code` is dotted and stable (`shell.session_not_found`).
    pub fn new(kind: Kind, code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            code: code.into(),
            message: message.into(),
            fields: Vec::new(),
            details: None,
            hint: None,
            source: None,
        }))
    }

    /// The input does not fit its schema.
    pub fn invalid_input(fields: Vec<FieldError>) -> Self {
        let message = fields
            .iter()
            .map(|field| {
                if field.path.is_empty() {
                    field.message.clone()
                } else {
                    format!("{}: {}", field.path.join("."), field.message)
                }
            })
            .collect::<Vec<_>>()
            .join("; ");
        let mut error = Self::new(Kind::InvalidInput, "input.invalid", message);
        error.0.fields = fields;
        error
    }

    /// One field of the input has a value that cannot be right.
    pub fn field(name: &str, rule: &'static str, message: impl Into<String>) -> Self {
        Self::invalid_input(vec![FieldError {
            path: vec![name.to_owned()],
            message: message.into(),
            rule,
        }])
    }

    /// Our own fault; the cause is logged, not sent.
    pub fn internal(
        message: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::new(Kind::Internal, "internal", message).with_source(source)
    }

    /// Adds typed details for programs.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.0.details = Some(details);
        self
    }

    /// Adds advice for the agent reading the answer.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the private cause.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The stable dotted code.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// The message for the caller.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The fields that do not fit, when the kind is [`Kind::InvalidInput`].
    pub fn fields(&self) -> &[FieldError] {
        &self.0.fields
    }

    /// Typed details, if any.
    pub fn details(&self) -> Option<&Value> {
        self.0.details.as_ref()
    }

    /// Advice, if any.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("code", &self.0.code)
            .field("message", &self.0.message)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_maps_to_an_error_status_and_a_failing_exit_code() {
        for kind in Kind::ALL {
            assert!((400..600).contains(&kind.http_status()), "{kind:?}");
            assert_ne!(kind.exit_code(), 0, "{kind:?}");
        }
    }

    #[test]
    fn invalid_input_names_each_field() {
        let error = Error::invalid_input(vec![
            FieldError {
                path: vec!["timeout".into()],
                message: "must be >= 0".into(),
                rule: "minimum",
            },
            FieldError { path: vec![], message: "expected an object".into(), rule: "type" },
        ]);
        assert_eq!(error.message(), "timeout: must be >= 0; expected an object");
        assert_eq!(error.kind().http_status(), 422);
    }
}
