//! The accents the same operations answer in.
//!
//! A dialect is a module that owns everything one client family expects beyond the contract: other names for input
//! fields, the envelope round results and failures, wording, and how all that looks in OpenAPI. Capabilities know none
//! of it, and the rest of this face only hands over a result or a [`Failure`]. There is one dialect so far; the next
//! one adds its module here and the test that tells its requests apart.

pub(crate) mod aio;

use atoll_operation::{Error, Kind};
use axum::http::StatusCode;

/// A request that was not carried out, before a dialect words it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) error: Error,
}

impl Failure {
    /// A failure of the face itself, with a status no operation answers with.
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let error = Error::new(Kind::InvalidArgument, code, message);
        Self { status, error }
    }

    /// The answer to a request whose handler panicked.
    pub(crate) fn panicked() -> Self {
        Self::from(Error::new(
            Kind::Internal,
            "internal.panic",
            "the server failed while it carried this out; its log says why under this request's id",
        ))
    }

    /// Adds what to do about it.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        let error = self.error.with_hint(hint);
        Self { error, ..self }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = StatusCode::from_u16(error.kind().http_status());
        Self { status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), error }
    }
}
