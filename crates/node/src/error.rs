//! Why Node.js code could not be run.

use std::io;
use std::path::PathBuf;

use atoll_process::SpawnError;
use thiserror::Error;

/// Why Node.js code could not be run. Code that ran and failed is no error.
#[derive(Debug, Error)]
pub enum NodeError {
    /// The process could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// Something on disk could not be prepared.
    #[error("{} could not be made: {source}", .path.display())]
    Prepare {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that was to go with the program could not be written.
    #[error("the file {name:?} could not be written: {source}")]
    File {
        /// Its name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The process did not come up.
    #[error("{} did not start: {reason}", .program.display())]
    NotReady {
        /// The Node.js it was.
        program: PathBuf,
        /// What it said, or how it ended.
        reason: String,
    },
    /// The session's process ended before this code reached it.
    #[error("the session's process has ended")]
    Gone,
}
