//! What can go wrong with Node.js, for the caller.

use atoll_node::NodeError;
use atoll_operation::{Error, Kind};

use crate::programs::spawn_failure;

/// Why code could not be run.
pub(super) fn failure(error: NodeError) -> Error {
    let message = error.to_string();
    match error {
        NodeError::Spawn(error) => spawn_failure(error, "nodejs.directory"),
        NodeError::File { .. } => Error::new(Kind::InvalidArgument, "nodejs.file", message),
        NodeError::NotReady { .. } => Error::new(
            Kind::Unavailable,
            "nodejs.start_failed",
            format!("{message}; check that this Node.js works, or ask for another version"),
        ),
        NodeError::Gone => Error::new(
            Kind::Unavailable,
            "nodejs.start_failed",
            "the session's process ended again and again before it took the code; create another session",
        ),
        NodeError::Prepare { .. } => {
            Error::internal("what Node.js needs could not be prepared", error)
        }
    }
}

/// There is no Node.js.
pub(super) fn unavailable() -> Error {
    Error::new(Kind::Unavailable, "nodejs.unavailable", UNAVAILABLE)
}

pub(super) const UNAVAILABLE: &str = "no Node.js from version 18 on is installed in this sandbox; install one \
     (`apt-get install nodejs`, `nvm install 22` or `npm install node@22`) and try again, no restart is needed";
