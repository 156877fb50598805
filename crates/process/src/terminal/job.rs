//! A job: one command of a session, from the queue to its end.

use std::sync::{Mutex, OnceLock};

use tokio::sync::watch;

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// By itself.
    Finished,
    /// Killed because its time was up.
    TimedOut,
    /// Killed on request, or with its session.
    Killed,
}

/// Where a job is in its life. Offsets are those of the session's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// Waits for the jobs before it.
    Queued,
    /// Runs; its output begins at this offset.
    Running {
        /// Where its output begins.
        start: u64,
    },
    /// Has ended.
    Done {
        /// Where its output begins.
        start: u64,
        /// Where its output ends.
        end: u64,
        /// How.
        outcome: Outcome,
        /// Exit code, if the shell lived to tell.
        code: Option<i32>,
    },
}

impl JobState {
    /// Whether it has ended.
    pub fn is_done(self) -> bool {
        matches!(self, JobState::Done { .. })
    }
}

/// One command of a session.
#[derive(Debug)]
pub struct Job {
    number: u64,
    command: String,
    state: watch::Sender<JobState>,
    /// Set when it is being killed: how it will have ended.
    doom: Mutex<Option<Outcome>>,
    /// Bytes of memory the session could have, if something was killed for want of more.
    starved: OnceLock<u64>,
}

impl Job {
    pub(super) fn new(number: u64, command: String) -> Self {
        Self {
            number,
            command,
            state: watch::channel(JobState::Queued).0,
            doom: Mutex::new(None),
            starved: OnceLock::new(),
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The command.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Where it is in its life.
    pub fn state(&self) -> JobState {
        *self.state.borrow()
    }

    /// Follows its life.
    pub fn watch(&self) -> watch::Receiver<JobState> {
        self.state.subscribe()
    }

    /// Waits until it has ended.
    pub async fn done(&self) -> JobState {
        let mut state = self.watch();
        // The sender is part of this job.
        let done = state.wait_for(|state| state.is_done()).await.map(|state| *state);
        done.unwrap_or(JobState::Queued)
    }

    /// Bytes of memory its session could have, if something of it was killed for want of more.
    pub fn starved(&self) -> Option<u64> {
        self.starved.get().copied()
    }

    pub(super) fn starve(&self, limit: u64) {
        let _known_already = self.starved.set(limit);
    }

    pub(super) fn start(&self, offset: u64) {
        self.state.send_replace(JobState::Running { start: offset });
    }

    pub(super) fn doom(&self, outcome: Outcome) {
        *self.doom.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(outcome);
    }

    pub(super) fn is_doomed(&self) -> bool {
        self.doom.lock().unwrap_or_else(std::sync::PoisonError::into_inner).is_some()
    }

    pub(super) fn finish(&self, end: u64, code: Option<i32>) {
        let doom = *self.doom.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.state.send_modify(|state| {
            let start = match *state {
                JobState::Running { start } => start,
                JobState::Queued => end,
                JobState::Done { .. } => return,
            };
            *state =
                JobState::Done { start, end, outcome: doom.unwrap_or(Outcome::Finished), code };
        });
    }
}
