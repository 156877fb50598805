//! The accents the same operations answer in.
//!
//! A dialect is a module that owns everything one client family expects beyond the contract: other names for input
//! fields, the envelope round results and failures, wording, and how all that looks in OpenAPI. Capabilities know none
//! of it, and the rest of this face only hands over a result or a [`Failure`]. [`Family`](family::Family) tells requests
//! apart, and a [`Tongue`] answers each in its family's words.

pub(crate) mod aio;
pub(crate) mod deep_agent;
mod family;
mod tongue;

pub(crate) use tongue::{Asked, Tongue, unencodable};

use atoll_operation::{Error, Kind, Method};
use axum::http::StatusCode;

/// The further routes operations are reached by: method, path, and the operation's id.
pub fn other_routes() -> impl Iterator<Item = (Method, &'static str, &'static str)> {
    deep_agent::ROUTES.iter().map(|route| (route.method, route.path, route.operation))
}

/// By which names and from where an input is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) aliases: &'a [aio::Alias],
    /// Where relative paths begin, where that is not the workspace.
    pub(crate) base: Option<&'a deep_agent::Base>,
}

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
