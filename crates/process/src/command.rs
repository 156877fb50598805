//! What to run, and why it could not be run.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::confinement::Confinement;
use crate::spawner::{Request, Step};

/// A program with everything it shall see.
#[derive(Debug, Clone)]
pub struct Command {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Arguments, without the program's name.
    pub arguments: Vec<String>,
    /// The whole environment: nothing is inherited.
    pub environment: BTreeMap<String, String>,
    /// Where to start it.
    pub directory: PathBuf,
}

/// Why a program could not be started.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// The helper that starts programs did not answer.
    #[error("the helper that starts programs is gone")]
    SpawnerGone(#[source] io::Error),
    /// Pipes or a terminal could not be made.
    #[error("no descriptors for the program's streams: {0}")]
    Streams(#[source] io::Error),
    /// The directory cannot be entered.
    #[error("cannot enter {directory}: {source}")]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program cannot be run.
    #[error("cannot run {program}: {source}")]
    Execute {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No process could be made.
    #[error("no process could be made: {0}")]
    Fork(#[source] io::Error),
    /// What it may use could not be bounded.
    #[error("the program's use of memory and processes could not be limited: {0}")]
    Confine(#[source] io::Error),
}

impl Command {
    /// The request that starts it.
    pub(crate) fn request(
        &self,
        terminal: bool,
        confinement: Confinement,
    ) -> Result<Vec<u8>, SpawnError> {
        let (program, directory) =
            (self.program.to_string_lossy(), self.directory.to_string_lossy());
        let mut argv = vec![&*program];
        argv.extend(self.arguments.iter().map(String::as_str));
        Request::encode(terminal, confinement, &directory, &argv, &self.environment)
            .map_err(|source| SpawnError::Execute { program: self.program.clone(), source })
    }

    pub(crate) fn failure(&self, step: Step, errno: i32) -> SpawnError {
        let source = io::Error::from_raw_os_error(errno);
        match step {
            Step::Fork => SpawnError::Fork(source),
            Step::Confine => SpawnError::Confine(source),
            Step::Streams => SpawnError::Streams(source),
            Step::Directory => SpawnError::Directory { directory: self.directory.clone(), source },
            Step::Execute => SpawnError::Execute { program: self.program.clone(), source },
        }
    }
}
