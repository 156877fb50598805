//! What a skill needs: installed by pip or uv for the sandbox's Python, by npm into the skill's directory.
//!
//! An installation goes on when whoever asked for it leaves: clients give up sooner than package indexes do. It has a
//! bound in time, and ends with the server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use atoll_api::skill::{DependencyCommandResult, InstallSkill, SkillMetadata};
use atoll_operation::{Context, Error, Event, Handle, Stream, Streaming};
use atoll_process::{Command, Exit, Log, Piped, cut_middle};
use futures::StreamExt;
use serde_json::json;
use tokio::sync::mpsc;

use super::service::Skills;
use crate::system::find_program;

/// Characters of each stream that an answer keeps.
const KEPT: usize = 16_000;
/// Bytes of output in one event.
const EVENT_BYTES: usize = 8 << 10;
/// Events that wait for a slow reader.
const WAITING: usize = 16;
/// How long what was printed last is told to a reader before it is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command that installs something, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    command: Vec<String>,
    missing: Option<&'static str>,
}

impl Handle<InstallSkill> for Skills {
    async fn handle(&self, _: &Context, input: InstallSkill) -> Result<SkillMetadata, Error> {
        self.find(&input.name)?;
        self.install_all(vec![input.name.clone()]).await;
        Ok(self.find(&input.name)?.show(&input.name))
    }
}

impl Streaming<InstallSkill> for Skills {
    async fn stream(&self, _: &Context, input: InstallSkill) -> Result<Stream, Error> {
        let name = input.name;
        self.find(&name)?;
        let (events, receiver) = mpsc::channel(WAITING);
        let skills = self.clone();
        self.programs.tasks().spawn(async move {
            skills.install(&name, Some(&events)).await;
            let event = match skills.find(&name) {
                Ok(entry) => Event { name: "completed", id: None, data: json!(entry.show(&name)) },
                Err(error) => {
                    let data = json!({ "message": error.message(), "error_code": error.code() });
                    Event { name: "error", id: None, data }
                }
            };
            let _reader_gone = events.send(event).await;
        });
        let stream = futures::stream::unfold(receiver, async |mut receiver| {
            Some((receiver.recv().await?, receiver))
        });
        Ok(stream.boxed())
    }
}

impl Skills {
    /// Installs what these skills need, one after the other. Returns when that is done; it is done in any case.
    pub(super) async fn install_all(&self, names: Vec<String>) {
        let skills = self.clone();
        let task = self.programs.tasks().spawn(async move {
            for name in names {
                skills.install(&name, None).await;
            }
        });
        if let Err(error) = task.await {
            tracing::error!(%error, "an installation broke off");
        }
    }

    async fn install(&self, name: &str, events: Option<&mpsc::Sender<Event>>) {
        // Deleted while it waited for its turn.
        let Ok(entry) = self.find(name) else { return };
        let directory = entry.directory;
        let steps = self.steps(&directory);
        if steps.is_empty() {
            return;
        }
        let mut results = Vec::new();
        for step in steps {
            let result = self.carry_out(step, &directory, events).await;
            tracing::info!(skill = name, command = ?result.command, success = result.success, "installed");
            results.push(result);
            self.note_installed(name, &directory, results.clone());
        }
    }

    /// What has to be done for a skill.
    fn steps(&self, directory: &Path) -> Vec<Step> {
        let environment = &self.programs.foundation().environment;
        let find = |name: &str| {
            find_program(environment, name).map(|path| path.to_string_lossy().into_owned())
        };
        let mut steps = Vec::new();
        let requirements = directory.join("requirements.txt");
        if requirements.is_file() {
            let file = requirements.to_string_lossy();
            steps.push(python_step(find("python3"), find("uv").as_deref(), &file));
        }
        if directory.join("package.json").is_file() {
            let npm = find("npm");
            let missing = npm.is_none().then_some("npm is not installed in this sandbox");
            let words = ["install", "--no-audit", "--no-fund", "--no-update-notifier"];
            let mut command = vec![npm.unwrap_or_else(|| "npm".to_owned())];
            command.extend(words.map(str::to_owned));
            steps.push(Step { command, missing });
        }
        steps
    }

    async fn carry_out(
        &self,
        step: Step,
        directory: &Path,
        events: Option<&mpsc::Sender<Event>>,
    ) -> DependencyCommandResult {
        let seconds = self.limits.skill_install_seconds;
        let stop = self.programs.foundation().stop.clone();
        let result = tokio::select! {
            result = self.run(&step, directory, seconds, events) => result,
            () = stop.cancelled() => failed(&step, "the server stops".to_owned()),
        };
        if let Some(events) = events {
            let event = Event { name: "ended", id: None, data: json!(result) };
            let _reader_gone = tokio::time::timeout(PATIENCE, events.send(event)).await;
        }
        result
    }

    async fn run(
        &self,
        step: &Step,
        directory: &Path,
        seconds: u64,
        events: Option<&mpsc::Sender<Event>>,
    ) -> DependencyCommandResult {
        if let Some(missing) = step.missing {
            return failed(step, missing.to_owned());
        }
        let _turn = self.installing.lock().await;
        if let Some(events) = events {
            let data = json!({ "command": step.command });
            let event = Event { name: "command", id: None, data };
            let _reader_gone = tokio::time::timeout(PATIENCE, events.send(event)).await;
        }
        let command = self.command(step, directory);
        let spawner = self.programs.confined_spawner();
        let started = Piped::start(spawner, &command, &self.programs.piped_settings()).await;
        let piped = match started {
            Ok(piped) => Arc::new(piped),
            Err(error) => return failed(step, format!("it could not be started: {error}")),
        };
        // Nobody is there to answer questions.
        let _closed = piped.stdin().close();
        let followers = events.map(|events| {
            let (output, complaints) = (piped.stdout().clone(), piped.stderr().clone());
            [("stdout", output), ("stderr", complaints)].map(|(stream, log)| {
                self.programs.tasks().spawn(follow(stream, log, events.clone()))
            })
        });
        let ended = tokio::time::timeout(Duration::from_secs(seconds), piped.wait()).await;
        piped.child().kill_all().await;
        for follower in followers.into_iter().flatten() {
            let abort = follower.abort_handle();
            if tokio::time::timeout(PATIENCE, follower).await.is_err() {
                abort.abort();
            }
        }
        let mut stderr = printed(piped.stderr());
        let exit_code = match ended {
            Ok(Exit::Code(code)) => Some(code),
            Ok(exit) => {
                stderr.push_str(&format!("\nit {exit}"));
                None
            }
            Err(_) => {
                stderr.push_str(&format!(
                    "\nit was ended after {seconds} s (limit skill_install_seconds)"
                ));
                None
            }
        };
        DependencyCommandResult {
            command: step.command.clone(),
            success: exit_code == Some(0),
            stdout: Some(printed(piped.stdout())),
            stderr: Some(stderr),
            exit_code,
        }
    }

    fn command(&self, step: &Step, directory: &Path) -> Command {
        let mut words = step.command.clone().into_iter();
        let program = PathBuf::from(words.next().unwrap_or_default());
        // A sandbox's Python is there for the agent: the distribution's objections are meant for a person's machine.
        let extra = ["PIP_BREAK_SYSTEM_PACKAGES", "UV_BREAK_SYSTEM_PACKAGES", "CI"];
        let extra: BTreeMap<_, _> = extra.map(|name| (name.to_owned(), "1".to_owned())).into();
        Command {
            program,
            arguments: words.collect(),
            environment: self.programs.environment(Some(&extra)),
            directory: directory.to_owned(),
        }
    }
}

/// uv where it is installed, since it is many times faster; else the pip of the same Python.
fn python_step(python: Option<String>, uv: Option<&str>, file: &str) -> Step {
    let missing = python.is_none().then_some("python3 is not installed in this sandbox");
    let python = python.unwrap_or_else(|| "python3".to_owned());
    let words: Vec<&str> = if let Some(uv) = uv {
        vec![uv, "pip", "install", "--python", &python, "-r", file]
    } else {
        let pip = ["-m", "pip", "install", "--no-input", "--disable-pip-version-check"];
        [&[python.as_str()][..], &pip, &["-r", file]].concat()
    };
    Step { command: words.into_iter().map(str::to_owned).collect(), missing }
}

fn failed(step: &Step, reason: String) -> DependencyCommandResult {
    DependencyCommandResult {
        command: step.command.clone(),
        success: false,
        stdout: None,
        stderr: Some(reason),
        exit_code: None,
    }
}

/// What was printed, the middle left out when that is long.
fn printed(log: &Log) -> String {
    let end = log.progress().end;
    let bytes = 4 * KEPT;
    let head = log.read_text(0, bytes).text;
    let tail = log.read_text(end.saturating_sub(bytes as u64), bytes).text;
    cut_middle(&head, &tail, end, KEPT).unwrap_or(head)
}

/// Tells what is printed as it comes.
async fn follow(stream: &'static str, log: Log, events: mpsc::Sender<Event>) {
    let mut offset = 0;
    loop {
        let chunk = log.read_text(offset, EVENT_BYTES);
        if chunk.text.is_empty() {
            if chunk.progress.closed {
                return;
            }
            // Not past what was read: the beginning of a character may wait for its end.
            log.wait_past(chunk.progress.end).await;
            continue;
        }
        offset = chunk.next;
        let data = json!({ "stream": stream, "text": chunk.text });
        if events.send(Event { name: "output", id: None, data }).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uv_is_preferred_and_what_is_missing_is_said() {
        let some = |text: &str| Some(text.to_owned());
        let file = "/s/requirements.txt";
        let uv = python_step(some("/bin/python3"), Some("/bin/uv"), file);
        assert_eq!(uv.command[..3], ["/bin/uv", "pip", "install"]);
        assert!(uv.command.contains(&"/bin/python3".to_owned()) && uv.missing.is_none());
        let pip = python_step(some("/bin/python3"), None, file);
        assert_eq!(pip.command[..4], ["/bin/python3", "-m", "pip", "install"]);
        assert_eq!(pip.command.last().map(String::as_str), Some(file));
        let none = python_step(None, None, file);
        assert!(none.missing.unwrap().contains("python3"));
    }
}
