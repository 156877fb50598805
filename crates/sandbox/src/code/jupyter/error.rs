//! What can go wrong with kernels, for the caller.

use atoll_kernel::{ExecuteError, KernelSpec, StartError};
use atoll_operation::{Error, Kind};

use crate::programs::spawn_failure;

/// What to do when there is no kernel.
pub(super) const CURE: &str = "no Python in this sandbox can import ipykernel; install it with \
     `python3 -m pip install ipykernel` and try again, no restart is needed";

pub(super) const DIRECTORY: &str = "jupyter.directory";

/// There is no kernel.
pub(super) fn unavailable() -> Error {
    Error::new(Kind::Unavailable, "jupyter.unavailable", CURE)
}

/// There is no kernel of this name, but others.
pub(super) fn unknown_kernel(name: &str, kernels: &[KernelSpec]) -> Error {
    if kernels.is_empty() {
        return unavailable();
    }
    let names: Vec<_> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let message = format!("there is no kernel {name:?} in this sandbox, but {}", names.join(", "));
    Error::new(Kind::InvalidArgument, "jupyter.unknown_kernel", message)
}

/// A session runs another kernel than the one asked for.
pub(super) fn other_kernel(id: &str, runs: &str, asked: &str) -> Error {
    let message = format!("session {id} runs the kernel {runs}, not {asked}");
    Error::new(Kind::Conflict, "jupyter.other_kernel", message)
        .with_hint("omit kernel_name to use this session, or use another session_id")
}

/// Why code could not be run in a session.
pub(super) fn failure(id: &str, error: ExecuteError) -> Error {
    match error {
        ExecuteError::Busy(waited) => Error::new(
            Kind::DeadlineExceeded,
            "jupyter.busy",
            format!(
                "session {id} was busy with other code for all of the {} s this could wait, and this did not run; \
                 wait longer with a larger timeout, or use another session",
                waited.as_secs()
            ),
        ),
        ExecuteError::Closed => Error::new(
            Kind::NotFound,
            "jupyter.session_not_found",
            format!("Session {id} was closed before the code ran"),
        ),
        ExecuteError::Directory(reason) => {
            Error::new(Kind::InvalidArgument, DIRECTORY, format!("cwd cannot be used: {reason}"))
        }
        ExecuteError::Start(error) => start_failure(error),
    }
}

fn start_failure(error: StartError) -> Error {
    let message = error.to_string();
    match error {
        StartError::Spawn(error) => spawn_failure(error, DIRECTORY),
        StartError::Place(_) => Error::internal("a kernel's sockets could not be prepared", error),
        StartError::Died { .. } | StartError::Silent { .. } | StartError::Sockets { .. } => {
            Error::new(
                Kind::Unavailable,
                "jupyter.start_failed",
                format!("{message}; check that this kernel works, or ask for another"),
            )
            .with_source(error)
        }
    }
}

/// The server stops.
pub(super) fn stopping() -> Error {
    let message = "the code was interrupted because the server stops";
    Error::new(Kind::Cancelled, "jupyter.stopped", message)
}
