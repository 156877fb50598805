//! Running a command in a session and waiting for it as the caller wishes.

use std::sync::Arc;
use std::time::Duration;

use atoll_api::shell::{ConsoleRecord, CreateShell, ExecShell, ShellCommandResult, ShellStatus};
use atoll_operation::{Context, Error, Handle, Kind};
use atoll_process::{Job, JobState, Log, Outcome, Submission};

use super::service::{Shells, terminal_failure};
use super::session::{Session, exit_code, status};
use crate::programs::{DirectoryFault, check_directory, check_environment, starvation};
use crate::session::{Entry, loss, seconds};

/// Characters of output an answer carries, unless all are asked for.
pub(super) const TRUNCATED: usize = 30_000;

/// A command handed to its session.
pub(super) struct Running {
    pub(super) entry: Arc<Entry<Session>>,
    pub(super) job: Arc<Job>,
    prompt: String,
}

impl Handle<ExecShell> for Shells {
    async fn handle(&self, cx: &Context, input: ExecShell) -> Result<ShellCommandResult, Error> {
        let running = self.submit(cx, &input).await?;
        let waited = self.wait(&running, &input).await;
        running.entry.touch();
        Ok(self.result(cx, &running, &input, waited))
    }
}

impl Shells {
    /// Hands a command to its session, with its watchdog.
    pub(super) async fn submit(&self, cx: &Context, input: &ExecShell) -> Result<Running, Error> {
        check_environment(input.env.as_ref())?;
        let directory = directory(cx, input)?;
        let entry = match input.id.as_ref().filter(|id| !id.is_empty()) {
            Some(id) => self.find(id)?,
            None => self.make(&CreateShell::default()).await?,
        };
        let terminal = entry.session.terminal();
        let prompt = self.prompt(&entry);
        let submission = Submission {
            command: input.command.clone(),
            directory: directory.map(|path| (path, input.preserve_symlinks == Some(true))),
            environment: input.env.clone().unwrap_or_default(),
        };
        let job = terminal.submit(submission).await.map_err(terminal_failure)?;
        entry.session.remember(prompt.clone(), &job);
        if let Some(limit) = input.hard_timeout {
            self.limit(&entry, &job, seconds(limit));
        }
        Ok(Running { entry, job, prompt })
    }

    /// Kills a command that runs longer than this. Time spent waiting for others does not count.
    fn limit(&self, entry: &Entry<Session>, job: &Arc<Job>, limit: Duration) {
        let (terminal, job) = (entry.session.terminal().clone(), Arc::clone(job));
        self.programs.tasks().spawn(async move {
            let mut state = job.watch();
            if state.wait_for(|state| *state != JobState::Queued).await.is_err() {
                return;
            }
            if tokio::time::timeout(limit, job.done()).await.is_err() {
                terminal.kill(&job, Outcome::TimedOut).await;
            }
        });
    }

    /// Waits for a command, as long as the caller wishes; the answer is its status then.
    pub(super) async fn wait(&self, running: &Running, input: &ExecShell) -> ShellStatus {
        if input.async_mode {
            return ShellStatus::Running;
        }
        let quiet =
            input.no_change_timeout.unwrap_or_else(|| running.entry.session.no_change_seconds());
        let log = running.entry.session.terminal().log();
        tokio::select! {
            biased;
            state = running.job.done() => status(state),
            () = after(input.timeout.map(seconds)) => ShellStatus::Running,
            () = no_change(log, Duration::from_secs(quiet)) => ShellStatus::NoChangeTimeout,
            () = self.programs.foundation().stop.cancelled() => ShellStatus::Running,
        }
    }

    pub(super) fn result(
        &self,
        cx: &Context,
        running: &Running,
        input: &ExecShell,
        waited: ShellStatus,
    ) -> ShellCommandResult {
        let Running { entry, job, prompt } = running;
        let state = job.state();
        if state == JobState::Queued {
            cx.hint("the command waits for others in this session; wait for it with /v1/shell/wait, or use another session");
        }
        let max_bytes = self.programs.foundation().limits.response_output_bytes;
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let output = entry.session.output(job, input.truncate.then_some(TRUNCATED), max_bytes);
        let (offset, end_offset) = entry.session.range(job);
        if output.lost > 0 {
            cx.hint(loss(output.lost));
        } else if output.cut {
            cx.hint(format!(
                "the output was cut in the middle; read all of it with /v1/shell/view from offset {offset} on"
            ));
        }
        if let Some(limit) = job.starved() {
            cx.hint(starvation(limit));
        }
        ShellCommandResult {
            session_id: entry.id.clone(),
            command: job.command().to_owned(),
            status: waited,
            console: Some(vec![ConsoleRecord {
                ps1: prompt.clone(),
                command: job.command().to_owned(),
                output: output.text.clone(),
            }]),
            output: Some(output.text),
            exit_code: exit_code(state),
            offset,
            end_offset,
        }
    }

    /// What a prompt looks like.
    fn prompt(&self, entry: &Entry<Session>) -> String {
        let foundation = self.programs.foundation();
        let user = foundation.environment.get("USER").unwrap_or("user");
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let directory = entry.session.terminal().directory();
        let directory = match directory.strip_prefix(&foundation.home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => directory.display().to_string(),
        };
        format!("{user}@{host}:{directory} $")
    }
}

/// The directory to change to first. One that is not there is an error only if the caller says so.
fn directory(cx: &Context, input: &ExecShell) -> Result<Option<String>, Error> {
    let Some(directory) = input.exec_dir.as_ref() else {
        return Ok(None);
    };
    match check_directory(directory) {
        Ok(_) => Ok(Some(directory.clone())),
        Err(DirectoryFault::Relative(error)) => Err(error),
        Err(DirectoryFault::Unusable(message)) if input.strict == Some(true) => {
            Err(Error::new(Kind::InvalidArgument, "shell.directory", message))
        }
        Err(DirectoryFault::Unusable(message)) => {
            cx.hint(format!("{message}; the command ran in the session's directory"));
            Ok(None)
        }
    }
}

async fn after(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// Waits until nothing was printed for this long; zero means never.
async fn no_change(log: &Log, quiet: Duration) {
    if quiet.is_zero() {
        return std::future::pending().await;
    }
    let mut progress = log.watch();
    loop {
        progress.mark_unchanged();
        match tokio::time::timeout(quiet, progress.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}
