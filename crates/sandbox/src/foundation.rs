//! What every capability stands on: where it may write, what its children see, how much it may use, when to stop.

use std::path::PathBuf;
use std::sync::Arc;

use atoll_api::system::Limits;
use tokio_util::sync::CancellationToken;

use crate::environment::Environment;

/// Shared by all capabilities. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Foundation {
    /// Home directory of the user commands run as.
    pub home: PathBuf,
    /// Default working directory.
    pub workspace: PathBuf,
    /// Private (0700) directory of this server process: sockets, scripts, spilled output.
    pub runtime_dir: PathBuf,
    /// Environment of every child.
    pub environment: Arc<Environment>,
    /// Every bound.
    pub limits: Arc<Limits>,
    /// Version of this program.
    pub version: &'static str,
    /// Cancelled when the server stops: streams and waits end then.
    pub stop: CancellationToken,
}
