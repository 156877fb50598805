//! Killing what runs without losing the shell, if it lets us.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Driver, Mode};
use crate::terminal::job::{Job, Outcome};

/// Pause between two attempts to kill a job while its shell lives.
const KILL_PAUSE: Duration = Duration::from_millis(250);
/// Attempts before the shell itself is killed.
const KILL_ATTEMPTS: u32 = 4;

/// A kill under way.
pub(super) struct Killing {
    pub(super) job: Option<Arc<Job>>,
    pub(super) attempts: u32,
    pub(super) next: Instant,
    pub(super) done: Vec<oneshot::Sender<()>>,
}

impl Driver {
    pub(super) async fn kill(
        &mut self,
        number: Option<u64>,
        outcome: Outcome,
        done: oneshot::Sender<()>,
    ) {
        if let Some(number) = number
            && let Some(position) = self.queue.iter().position(|(job, _)| job.number() == number)
        {
            if let Some((job, _)) = self.queue.remove(position) {
                job.doom(outcome);
                job.finish(self.log.progress().end, None);
            }
            self.publish();
            let _nobody_waits = done.send(());
            return;
        }
        let job = match &self.mode {
            Mode::Typed { job, .. } | Mode::Running(job) => Some(Arc::clone(job)),
            Mode::ByHand if number.is_none() => None,
            Mode::Starting | Mode::Idle | Mode::Ending { .. } | Mode::ByHand => {
                let _nobody_waits = done.send(());
                return;
            }
        };
        if number.is_some_and(|number| job.as_ref().is_none_or(|job| job.number() != number)) {
            let _nobody_waits = done.send(());
            return;
        }
        if let Some(job) = &job
            && !job.is_doomed()
        {
            job.doom(outcome);
        }
        match &mut self.killing {
            Some(killing) => killing.done.push(done),
            None => {
                self.killing =
                    Some(Killing { job, attempts: 0, next: Instant::now(), done: vec![done] });
            }
        }
        self.kill_again().await;
    }

    /// One attempt: interrupt the shell so that it drops the rest of the line, and kill what the job has started.
    pub(super) async fn kill_again(&mut self) {
        let Some(killing) = &mut self.killing else {
            return;
        };
        killing.attempts += 1;
        killing.next = Instant::now() + KILL_PAUSE;
        if killing.attempts > KILL_ATTEMPTS {
            // It ignores interrupts. Its end is found by the main loop, which starts another.
            self.shell.child.kill_all().await;
            return;
        }
        self.shell.interrupt();
        let spare = if killing.job.is_some() { self.before_job.clone() } else { Vec::new() };
        self.shell.child.kill_started_since(spare).await;
    }

    pub(super) fn killed(&mut self, job: Option<&Arc<Job>>) {
        let is_this = |killing: &Killing| match (&killing.job, job) {
            (Some(killing), Some(job)) => killing.number() == job.number(),
            (None, None) => true,
            _ => false,
        };
        if self.killing.as_ref().is_some_and(is_this)
            && let Some(killing) = self.killing.take()
        {
            for done in killing.done {
                let _nobody_waits = done.send(());
            }
        }
    }
}
