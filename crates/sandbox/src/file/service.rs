//! What the file operations share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use atoll_api::system::Limits;
use atoll_operation::{Error, Kind};
use tokio::sync::Semaphore;

use super::desk::length;
use super::editor::History;
use super::paths::Places;
use super::store::Turns;
use crate::convert::Converter;
use crate::programs::Programs;

/// The file capability.
#[derive(Debug)]
pub struct Files {
    pub(super) places: Places,
    pub(super) limits: Arc<Limits>,
    pub(super) programs: Programs,
    pub(super) turns: Arc<Turns>,
    pub(super) history: Arc<Mutex<History>>,
    /// For looking at documents that are no text.
    pub(super) converter: Converter,
    /// Places for searches that may run at once.
    pub(super) searches: Arc<Semaphore>,
}

impl Files {
    /// Touches nothing yet.
    pub fn new(programs: &Programs, converter: &Converter) -> Arc<Self> {
        let foundation = programs.foundation();
        Arc::new(Self {
            places: Places {
                home: foundation.home.clone(),
                workspace: foundation.workspace.clone(),
            },
            limits: Arc::clone(&foundation.limits),
            programs: programs.clone(),
            turns: Arc::default(),
            converter: converter.clone(),
            history: Arc::new(Mutex::new(History::new(&foundation.limits))),
            searches: Arc::new(Semaphore::new(
                length(foundation.limits.searches).min(Semaphore::MAX_PERMITS),
            )),
        })
    }

    /// The absolute path a caller means.
    pub(super) fn path(&self, operation: &'static str, path: &str) -> Result<PathBuf, Error> {
        self.places.resolve(operation, path)
    }

    /// Where temporary files belong, as programs in the sandbox see it.
    pub(super) fn temporary_directory(&self) -> PathBuf {
        let environment = &self.programs.foundation().environment;
        environment.get("TMPDIR").filter(|path| path.starts_with('/')).unwrap_or("/tmp").into()
    }
}

/// Runs work that waits for the disk, away from the threads that serve connections. It goes on when the caller leaves.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Error::new(Kind::Internal, "internal", "the work on a file broke off")
            .with_source(error)),
    }
}
