//! One command: the process, and what we did to it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use atoll_api::bash::{BashCommandInfo, BashSignal, BashStatus};
use atoll_process::{Exit, Piped};

use crate::programs::starvation;

/// How long a command asked to end may take before it is killed.
const GRACE: Duration = Duration::from_secs(2);
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

#[derive(Debug)]
pub(crate) struct BashCommand {
    id: String,
    text: String,
    piped: Piped,
    /// The file it was read from, if it was too long for an argument.
    script: Option<PathBuf>,
    /// The file that gets what it prints, if its caller wants that.
    output_file: Option<PathBuf>,
    /// Why we ended it, if we did.
    verdict: Mutex<Option<BashStatus>>,
    interrupted: AtomicBool,
}

impl BashCommand {
    pub(super) fn new(id: String, text: String, piped: Piped, script: Option<PathBuf>) -> Self {
        Self {
            id,
            text,
            piped,
            script,
            output_file: None,
            verdict: Mutex::new(None),
            interrupted: AtomicBool::new(false),
        }
    }

    /// The same, printing into this file.
    pub(super) fn printing_to(mut self, output_file: Option<PathBuf>) -> Self {
        self.output_file = output_file;
        self
    }

    pub(super) fn output_file(&self) -> Option<&Path> {
        self.output_file.as_deref()
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn piped(&self) -> &Piped {
        &self.piped
    }

    /// Whether the command itself runs.
    pub(super) fn running(&self) -> bool {
        self.piped.ended().is_none()
    }

    /// Whether it, or anything it started, runs.
    pub(super) fn alive(&self) -> bool {
        self.running() || !self.piped.child().is_gone()
    }

    pub(super) fn status(&self) -> BashStatus {
        let verdict = *self.verdict.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.piped.ended(), verdict) {
            (None, _) => BashStatus::Running,
            (Some(_), Some(verdict)) => verdict,
            (Some(Exit::OutOfMemory { .. } | Exit::Lost), None) => BashStatus::Killed,
            (Some(Exit::Signal(SIGINT)), None) if self.interrupted.load(Ordering::Relaxed) => {
                BashStatus::Killed
            }
            (Some(Exit::Code(_) | Exit::Signal(_)), None) => BashStatus::Completed,
        }
    }

    pub(super) fn info(&self) -> BashCommandInfo {
        BashCommandInfo {
            command_id: self.id.clone(),
            command: self.text.clone(),
            status: self.status(),
            exit_code: self.exit_code(),
        }
    }

    pub(super) fn exit_code(&self) -> Option<i32> {
        self.piped.ended().map(Exit::signed)
    }

    /// What the caller should know of how it ended.
    pub(super) fn hint(&self) -> Option<String> {
        self.piped.child().starved().map(starvation)
    }

    /// Waits until it has ended; if we ended it, until nothing of it is left.
    pub(super) async fn wait(&self) {
        self.piped.wait().await;
        if self.verdict.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            self.piped.child().gone().await;
        }
    }

    /// Ends it because its time is up.
    pub(super) async fn time_out(&self) {
        self.judge(BashStatus::TimedOut);
        self.piped.child().kill_all().await;
    }

    /// Ends it with everything it started.
    pub(super) async fn kill(&self) {
        self.judge(BashStatus::Killed);
        self.piped.child().kill_all().await;
    }

    /// Sends a signal; all but an interrupt end the command for certain.
    pub(super) async fn signal(&self, signal: BashSignal) {
        let child = self.piped.child();
        match signal {
            BashSignal::Int => {
                self.interrupted.store(true, Ordering::Relaxed);
                child.signal_group(SIGINT).await;
            }
            BashSignal::Kill => self.kill().await,
            BashSignal::Term => {
                self.judge(BashStatus::Killed);
                child.signal_all(SIGTERM).await;
                if tokio::time::timeout(GRACE, child.gone()).await.is_err() {
                    child.kill_all().await;
                }
            }
        }
        if !matches!(signal, BashSignal::Int) {
            self.piped.wait().await;
        }
    }

    /// Notes why it is ended. A command that has ended already has ended by itself.
    fn judge(&self, verdict: BashStatus) {
        if self.running() {
            self.verdict.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(verdict);
        }
    }
}

impl Drop for BashCommand {
    fn drop(&mut self) {
        if let Some(path) = &self.script {
            let _already_gone = std::fs::remove_file(path);
        }
    }
}
