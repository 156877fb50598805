//! What went wrong, for the caller.

use std::io;

use atoll_egress::{ChangeError, UpstreamError};
use atoll_operation::{Error, Kind};

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
pub(super) fn failure(error: ChangeError) -> Error {
    let (kind, code) = match &error {
        ChangeError::Mapping(_) => (Kind::InvalidArgument, "proxy.invalid_mapping"),
        ChangeError::Rule(_) => (Kind::InvalidArgument, "proxy.invalid_pattern"),
        ChangeError::Upstream(UpstreamError::Address) => {
            (Kind::InvalidArgument, "proxy.invalid_upstream")
        }
        ChangeError::Upstream(UpstreamError::Command(_)) => {
            (Kind::FailedPrecondition, "proxy.auth_command_failed")
        }
        ChangeError::TooMany { .. } => (Kind::ResourceExhausted, "proxy.too_many"),
    };
    Error::new(kind, code, error.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
pub(super) fn unavailable(error: io::Error) -> Error {
    Error::new(
        Kind::Unavailable,
        "proxy.unavailable",
        format!("the egress proxy cannot listen: {error}"),
    )
}
