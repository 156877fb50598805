//! Handing jobs to the shell, one at a time, and ending them.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use super::{Driver, Mode, token};
use crate::terminal::job::Job;
use crate::terminal::{Submission, TerminalError, script};

impl Driver {
    pub(super) fn submit(&mut self, submission: Submission) -> Result<Arc<Job>, TerminalError> {
        if self.queue.len() >= self.settings.queue {
            return Err(TerminalError::QueueFull { waiting: self.queue.len() });
        }
        self.jobs += 1;
        let job = Arc::new(Job::new(self.jobs, submission.command.clone()));
        self.queue.push_back((Arc::clone(&job), submission));
        self.publish();
        Ok(job)
    }

    /// Types the next job's line if the shell prompts.
    pub(super) fn next_job(&mut self) {
        if !matches!(self.mode, Mode::Idle) {
            return;
        }
        let Some((job, submission)) = self.queue.pop_front() else {
            self.publish();
            return;
        };
        if let Err(error) = self.prepare(&job, &submission) {
            tracing::error!(%error, "a command could not be handed to its shell");
            self.log.append(
                format!("\r\natoll: the command could not be handed over: {error}\r\n").as_bytes(),
            );
            job.finish(self.log.progress().end, Some(126));
            return self.next_job();
        }
        self.before_job = self.shell.child.descendants();
        self.type_line(&job);
        self.mode = Mode::Typed { job, undecided: None, attempts: 1 };
        self.publish();
    }

    pub(super) fn prepare(&mut self, job: &Job, submission: &Submission) -> std::io::Result<()> {
        self.job_token = token();
        let (line, source) = self.job_files(job);
        std::fs::write(&source, format!("{}\n", submission.command))?;
        let directory = submission.directory.as_ref().map(|(path, keep)| (path.as_str(), *keep));
        std::fs::write(
            line,
            script::wrapper(&self.job_token, &source, directory, &submission.environment),
        )
    }

    pub(super) fn job_files(&self, job: &Job) -> (PathBuf, PathBuf) {
        let number = job.number();
        (self.private.join(number.to_string()), self.private.join(format!("{number}.sh")))
    }

    /// Ctrl-E and Ctrl-U clear what a person may have begun to type; the leading space keeps it out of the history.
    pub(super) fn type_line(&self, job: &Job) {
        let (line, _) = self.job_files(job);
        let keys = format!("\x05\x15 . {}\r", script::quote(&line.to_string_lossy()));
        let typed =
            self.input.lock().unwrap_or_else(PoisonError::into_inner).write(keys.as_bytes());
        if let Err(error) = typed {
            tracing::warn!(%error, "a command waits for its shell");
        }
    }

    /// Ends a job; of one that was killed nothing may be left first.
    pub(super) async fn finish(&mut self, job: Arc<Job>, code: Option<i32>) {
        let end = self.log.progress().end;
        if job.is_doomed() && self.shell.child.exit().is_none() {
            self.shell.child.kill_started_since(std::mem::take(&mut self.before_job)).await;
            self.shell.look_after_children();
        }
        if code != Some(0) {
            self.note_starvation(&job).await;
        }
        // The files of this job stay until the next has ended: its line may have been typed twice.
        if let Some((line, source)) = self.old_files.replace(self.job_files(&job)) {
            let _gone = std::fs::remove_file(line);
            let _gone = std::fs::remove_file(source);
        }
        job.finish(end, code);
        self.killed(Some(&job));
        self.publish();
    }

    /// Notes whether something of a job was killed because memory ran out.
    async fn note_starvation(&mut self, job: &Job) {
        let child = &self.shell.child;
        let Some(limit) = child.memory() else { return };
        let victims = child.count_victims().await;
        if victims > std::mem::replace(&mut self.victims, victims) {
            job.starve(limit);
        }
    }
}
