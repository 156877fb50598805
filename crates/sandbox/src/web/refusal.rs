//! Why something could not be had from the web, for whoever asked.

use atoll_fetch::{DialError, FetchError, Fetched};
use atoll_operation::{Error, Kind};

/// Why nothing was fetched.
pub(crate) fn refused(error: &FetchError) -> Error {
    let (kind, code) = match error {
        FetchError::Address { .. } => (Kind::InvalidArgument, "web.invalid_url"),
        FetchError::Connection(DialError::Refused(_)) => (Kind::PermissionDenied, "web.refused"),
        FetchError::Connection(DialError::Unreachable(_)) | FetchError::Tls { .. } => {
            (Kind::Unavailable, "web.unreachable")
        }
        FetchError::Answer { .. } | FetchError::Redirects { .. } => {
            (Kind::Unavailable, "web.bad_answer")
        }
        FetchError::TooLarge { .. } => (Kind::TooLarge, "web.too_large"),
        FetchError::Timeout { .. } => (Kind::DeadlineExceeded, "web.timeout"),
    };
    let error = Error::new(kind, code, error.to_string());
    match kind {
        Kind::TooLarge => error.with_hint("Download it in the shell (curl), and convert the file."),
        _ => error,
    }
}

/// An error if what was fetched is the page of an error.
pub(crate) fn unfriendly(fetched: &Fetched) -> Result<(), Error> {
    let (status, url) = (fetched.status, &fetched.url);
    let kind = match status {
        ..=399 => return Ok(()),
        404 | 410 => Kind::NotFound,
        401 | 403 => Kind::PermissionDenied,
        _ => Kind::Unavailable,
    };
    let message = format!("{url} answered with status {status}");
    Err(Error::new(kind, "web.status", message))
}
