//! How looking at the system fails, and what a caller is told.

use atoll_operation::{Error, Kind};

use super::probe::ProbeError;

const PYTHON_CURE: &str = "Install Python 3.8 or newer so that `python3` is on the PATH (Debian and Ubuntu: \
    `apt-get install python3`), then call again.";

/// A look at the system that found nothing to tell. Clonable: callers that waited share it.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum SystemError {
    /// There is no Python.
    #[error("no `python3` or `python` on the PATH of commands")]
    PythonMissing,
    /// There is one, but it does not answer.
    #[error(transparent)]
    PythonBroken(ProbeError),
    /// Our own task died.
    #[error("a look at the system did not finish")]
    Unfinished,
}

impl From<SystemError> for Error {
    fn from(error: SystemError) -> Self {
        match &error {
            SystemError::PythonMissing | SystemError::PythonBroken(_) => Error::new(
                Kind::Unavailable,
                "system.python_missing",
                format!("Python packages cannot be listed: {error}. {PYTHON_CURE}"),
            ),
            SystemError::Unfinished => Error::internal("The system could not be read", error),
        }
    }
}

/// Runs `look` where it may block.
pub(crate) async fn blocking<T: Send + 'static>(
    look: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SystemError> {
    let finished = tokio::task::spawn_blocking(look).await;
    finished.map_err(|_| SystemError::Unfinished)
}
