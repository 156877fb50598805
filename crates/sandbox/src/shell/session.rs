//! One shell session: its terminal, its setting, its recent commands.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use atoll_api::shell::{ConsoleRecord, ShellStatus};
use atoll_process::{Job, JobState, Outcome, Terminal};

use crate::session::{Excerpt, excerpt};

/// Commands shown as the console of a session.
const CONSOLE: usize = 16;
/// Characters of output shown for each of them.
const CONSOLE_OUTPUT: usize = 4000;

#[derive(Debug)]
pub(crate) struct Session {
    terminal: Terminal,
    no_change_seconds: AtomicU64,
    /// Terminals attached: a session somebody looks at is in use.
    watched: AtomicUsize,
    recent: Mutex<VecDeque<(String, Arc<Job>)>>,
}

impl Session {
    pub(super) fn new(terminal: Terminal, no_change_seconds: u64) -> Self {
        Self {
            terminal,
            no_change_seconds: AtomicU64::new(no_change_seconds),
            watched: AtomicUsize::new(0),
            recent: Mutex::default(),
        }
    }

    pub(super) fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    pub(super) fn no_change_seconds(&self) -> u64 {
        self.no_change_seconds.load(Ordering::Relaxed)
    }

    pub(super) fn set_no_change_seconds(&self, seconds: u64) {
        self.no_change_seconds.store(seconds, Ordering::Relaxed);
    }

    pub(super) fn watch(&self) {
        self.watched.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn unwatch(&self) {
        self.watched.fetch_sub(1, Ordering::Relaxed);
    }

    /// Remembers a command and the prompt it was entered at.
    pub(super) fn remember(&self, prompt: String, job: &Arc<Job>) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == CONSOLE {
            recent.pop_front();
        }
        recent.push_back((prompt, Arc::clone(job)));
    }

    /// The command that runs, or else the one that was entered last.
    pub(super) fn latest(&self) -> Option<Arc<Job>> {
        if let Some(running) = self.terminal.latest_job().filter(|job| !job.state().is_done()) {
            return Some(running);
        }
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.back().map(|(_, job)| Arc::clone(job))
    }

    /// Status of the latest command; a session that has run none is done.
    pub(super) fn status(&self) -> ShellStatus {
        match self.latest() {
            _ if self.terminal.busy() => ShellStatus::Running,
            Some(job) => status(job.state()),
            None => ShellStatus::Completed,
        }
    }

    /// The status in a word; `ready` before the first command.
    pub(super) fn summary(&self) -> String {
        if self.latest().is_none() && !self.terminal.busy() {
            return "ready".to_owned();
        }
        match self.status() {
            ShellStatus::Running | ShellStatus::NoChangeTimeout => "running",
            ShellStatus::Completed => "completed",
            ShellStatus::HardTimeout => "hard_timeout",
            ShellStatus::Terminated => "terminated",
        }
        .to_owned()
    }

    /// The recent commands as a person would have seen them.
    pub(super) fn console(&self) -> Vec<ConsoleRecord> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner).clone();
        recent
            .iter()
            .map(|(prompt, job)| ConsoleRecord {
                ps1: prompt.clone(),
                command: job.command().to_owned(),
                output: self.output(job, Some(CONSOLE_OUTPUT), usize::MAX).text,
            })
            .collect()
    }

    /// What a command has printed so far.
    pub(super) fn output(&self, job: &Job, max_chars: Option<usize>, max_bytes: usize) -> Excerpt {
        let (start, end) = self.range(job);
        excerpt(self.terminal.log(), start..end, max_chars, max_bytes, |bytes| {
            self.terminal.clean(bytes)
        })
    }

    /// Where a command's output lies in the session's stream.
    pub(super) fn range(&self, job: &Job) -> (u64, u64) {
        let now = self.terminal.log().progress().end;
        match job.state() {
            JobState::Queued => (now, now),
            JobState::Running { start } => (start, now),
            JobState::Done { start, end, .. } => (start, end),
        }
    }
}

impl crate::session::Session for Session {
    fn busy(&self) -> bool {
        self.terminal.busy()
            || self.watched.load(Ordering::Relaxed) > 0
            || self.terminal.has_processes()
    }

    async fn close(&self) {
        self.terminal.close().await;
    }
}

pub(super) fn status(state: JobState) -> ShellStatus {
    match state {
        JobState::Queued | JobState::Running { .. } => ShellStatus::Running,
        JobState::Done { outcome: Outcome::Finished, .. } => ShellStatus::Completed,
        JobState::Done { outcome: Outcome::TimedOut, .. } => ShellStatus::HardTimeout,
        JobState::Done { outcome: Outcome::Killed, .. } => ShellStatus::Terminated,
    }
}

pub(super) fn exit_code(state: JobState) -> Option<i32> {
    match state {
        JobState::Done { code, .. } => code,
        JobState::Queued | JobState::Running { .. } => None,
    }
}
