//! One session: the process that holds its state, whose turn it is, and where it is.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atoll_api::nodejs::{NodeSession, NodeSessionState};
use atoll_node::{Installation, Worker};

use crate::session::Entry;

#[derive(Debug)]
pub(crate) struct Session {
    installation: Arc<Installation>,
    /// Held by whoever runs code: one after the other.
    pub(super) turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    worker: Option<Arc<Worker>>,
    directory: PathBuf,
    /// Whether the process has yet to be told where it is.
    moved: bool,
    max_idle: Duration,
    /// Executions that run or wait for their turn.
    pending: usize,
    executing: bool,
    count: u64,
    closed: bool,
}

/// An execution that runs or waits for its turn, until this is dropped.
pub(super) struct Pending(Arc<Session>);

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.state().pending -= 1;
    }
}

impl Session {
    pub(super) fn new(
        installation: Arc<Installation>,
        directory: PathBuf,
        max_idle: Duration,
    ) -> Self {
        let state = State {
            worker: None,
            directory,
            moved: false,
            max_idle,
            pending: 0,
            executing: false,
            count: 0,
            closed: false,
        };
        Self { installation, turn: tokio::sync::Mutex::default(), state: Mutex::new(state) }
    }

    pub(super) fn installation(&self) -> &Arc<Installation> {
        &self.installation
    }

    /// Says that an execution is on its way, so that the session is not ended meanwhile.
    pub(super) fn pending(self: &Arc<Self>) -> Pending {
        self.state().pending += 1;
        Pending(Arc::clone(self))
    }

    /// The process, if it lives.
    pub(super) fn worker(&self) -> Option<Arc<Worker>> {
        let worker = self.state().worker.clone();
        worker.filter(|worker| worker.is_alive())
    }

    /// Keeps a process that was started; false when the session was closed meanwhile.
    pub(super) fn keep(&self, worker: &Arc<Worker>) -> bool {
        let mut state = self.state();
        if state.closed {
            return false;
        }
        state.worker = Some(Arc::clone(worker));
        state.moved = false;
        true
    }

    pub(super) fn directory(&self) -> PathBuf {
        self.state().directory.clone()
    }

    /// Moves it; the process learns of it with its next execution.
    pub(super) fn enter(&self, directory: &Path) {
        let mut state = self.state();
        directory.clone_into(&mut state.directory);
        state.moved = true;
    }

    pub(super) fn max_idle(&self) -> Duration {
        self.state().max_idle
    }

    pub(super) fn set_max_idle(&self, max_idle: Duration) {
        self.state().max_idle = max_idle;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// The number of the next execution.
    pub(super) fn next_number(&self) -> u64 {
        let mut state = self.state();
        state.count += 1;
        state.count
    }

    /// Notes that code runs now; the directory it must enter first.
    pub(super) fn begin(&self) -> Option<PathBuf> {
        let mut state = self.state();
        state.executing = true;
        let moved = std::mem::take(&mut state.moved);
        moved.then(|| state.directory.clone())
    }

    /// Notes that it has run, and where it left the session.
    pub(super) fn end(&self, directory: Option<PathBuf>) {
        let mut state = self.state();
        state.executing = false;
        if let Some(directory) = directory
            && !state.moved
        {
            state.directory = directory;
        }
    }

    pub(super) fn describe(&self, entry: &Entry<Self>) -> NodeSession {
        let state = self.state();
        let milliseconds = |time: jiff::Timestamp| {
            #[expect(
                clippy::cast_precision_loss,
                reason = "exact for hundreds of thousands of years"
            )]
            let milliseconds = time.as_millisecond() as f64;
            milliseconds
        };
        NodeSession {
            session_id: entry.id.clone(),
            cwd: state.directory.display().to_string(),
            created_at: milliseconds(entry.created),
            last_used: milliseconds(entry.last_used()),
            max_idle_time: u64::try_from(state.max_idle.as_millis()).unwrap_or(u64::MAX),
            age_seconds: entry.unused().as_secs(),
            state: if state.executing {
                NodeSessionState::Executing
            } else {
                NodeSessionState::Idle
            },
            version: self.installation.version.name(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl crate::session::Session for Session {
    fn busy(&self) -> bool {
        self.state().pending > 0
    }

    async fn close(&self) {
        let worker = {
            let mut state = self.state();
            state.closed = true;
            state.worker.take()
        };
        if let Some(worker) = worker {
            worker.close().await;
        }
    }
}
