//! Running a command, and following it as it runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_api::bash::{BashCommandResult, ExecBash};
use atoll_operation::{Context, Error, Handle, Kind};
use atoll_process::{Command, Log, Piped};
use uuid::Uuid;

use super::command::BashCommand;
use super::service::Bashes;
use super::session::Session;
use crate::programs::{check_environment, spawn_failure};
use crate::session::{Entry, Excerpt, excerpt, loss, seconds};

/// Longest command handed over as an argument; the kernel refuses one of 128 KiB.
const LONGEST_ARGUMENT: usize = 100 << 10;

impl Handle<ExecBash> for Bashes {
    async fn handle(&self, cx: &Context, input: ExecBash) -> Result<BashCommandResult, Error> {
        let (entry, command) = self.start(&input).await?;
        let waited = patience(&input, &command);
        self.programs.foundation().stop.run_until_cancelled(waited).await;
        entry.touch();
        Ok(self.result(cx, &entry, &command, input.max_output_length))
    }
}

/// Waits for a command as long as its caller wants to.
pub(super) async fn patience(input: &ExecBash, command: &BashCommand) {
    match input.timeout {
        _ if input.async_mode => {}
        None => command.wait().await,
        // The command goes on when the time to wait for it is over.
        Some(timeout) => drop(tokio::time::timeout(seconds(timeout), command.wait()).await),
    }
}

impl Bashes {
    /// Starts a command in its session, with its watchdog.
    pub(super) async fn start(
        &self,
        input: &ExecBash,
    ) -> Result<(Arc<Entry<Session>>, Arc<BashCommand>), Error> {
        check_environment(input.env.as_ref())?;
        let directory = Self::directory(input.exec_dir.as_ref())?;
        let bash = self.programs.bash()?;
        let entry = self.find_or_make(input.session_id.as_ref(), directory.clone(), None)?;
        let starting = entry.session.starting();
        let limits = &self.programs.foundation().limits;
        entry.session.check_room(limits)?;
        let id = Uuid::new_v4().to_string();
        let run_in = directory.clone().unwrap_or_else(|| entry.session.directory());
        let printed = output_file(input.output_file.as_deref(), &run_in)?;
        let source = with_snapshot(&input.command, entry.session.snapshot());
        let source = match &printed {
            Some(path) => format!("exec >>{} 2>&1\n{source}", quote(path)),
            None => source,
        };
        let script = self.script_file(&id, &source)?;
        let argument = script.as_ref().map_or(source, |path| format!(". {}", quote(path)));
        let command = Command {
            program: bash,
            arguments: vec!["-c".to_owned(), argument],
            environment: self.programs.environment(input.env.as_ref()),
            directory: run_in,
        };
        let settings = self.programs.piped_settings();
        let piped = Piped::start(self.programs.confined_spawner(), &command, &settings)
            .await
            .map_err(|error| spawn_failure(error, "bash.directory"))?;
        let command = BashCommand::new(id, input.command.clone(), piped, script);
        let command = Arc::new(command.printing_to(printed));
        entry.session.keep(&command, limits)?;
        drop(starting);
        if let Some(directory) = directory {
            entry.session.set_directory(directory);
        }
        if let Some(limit) = input.hard_timeout {
            let (watched, limit) = (Arc::clone(&command), seconds(limit));
            self.programs.tasks().spawn(async move {
                if tokio::time::timeout(limit, watched.piped().wait()).await.is_err() {
                    watched.time_out().await;
                }
            });
        }
        Ok((entry, command))
    }

    /// Puts a command too long for an argument into a file of its own.
    fn script_file(&self, id: &str, source: &str) -> Result<Option<PathBuf>, Error> {
        if source.len() <= LONGEST_ARGUMENT {
            return Ok(None);
        }
        let path = self.programs.foundation().runtime_dir.join(format!("{id}.sh"));
        match std::fs::write(&path, source) {
            Ok(()) => Ok(Some(path)),
            Err(error) => {
                // Half a command must not stay.
                let _gone = std::fs::remove_file(&path);
                let message = format!(
                    "the command is too long for anything but a file, and none could be written: {error}"
                );
                Err(Error::new(Kind::Unavailable, "bash.runtime_dir", message).with_source(error))
            }
        }
    }

    pub(super) fn result(
        &self,
        cx: &Context,
        entry: &Entry<Session>,
        command: &BashCommand,
        max_output_length: u64,
    ) -> BashCommandResult {
        let max = usize::try_from(max_output_length).ok().filter(|max| *max > 0);
        let (stdout, stderr) = (command.piped().stdout(), command.piped().stderr());
        let read = |log: &Log| {
            let bytes = usize::try_from(self.programs.foundation().limits.response_output_bytes);
            let end = log.read_text(log.progress().end.saturating_sub(4), 4).next;
            (excerpt(log, 0..end, max, bytes.unwrap_or(usize::MAX), lossy), end)
        };
        let ((out, offset), (err, stderr_offset)) = (read(stdout), read(stderr));
        if out.lost + err.lost > 0 {
            cx.hint(loss(out.lost + err.lost));
        } else if out.cut || err.cut {
            cx.hint("the output was cut in the middle; read all of it from the files named, or by offset with /v1/bash/output");
        }
        if let Some(hint) = command.hint() {
            cx.hint(hint);
        }
        BashCommandResult {
            session_id: entry.id.clone(),
            command_id: command.id().to_owned(),
            command: command.text().to_owned(),
            status: command.status(),
            exit_code: command.exit_code(),
            offset,
            stderr_offset,
            stdout_full_output_file_path: whole_file(stdout, &out),
            stderr_full_output_file_path: whole_file(stderr, &err),
            stdout: Some(out.text),
            stderr: Some(err.text),
            pid: Some(command.piped().child().pid()),
            output_file: command.output_file().map(|path| path.display().to_string()),
        }
    }
}

/// The file that gets what a command prints, made now: whoever is told of it can read it at once.
fn output_file(named: Option<&str>, run_in: &Path) -> Result<Option<PathBuf>, Error> {
    let Some(named) = named.filter(|named| !named.is_empty()) else {
        return Ok(None);
    };
    let path = run_in.join(named);
    let make = || {
        std::fs::create_dir_all(path.parent().unwrap_or(run_in))?;
        // What a pipe or a device would do to whoever opens it is the command's own affair, not ours.
        let known = std::fs::metadata(&path).ok();
        if known.is_some_and(|known| !known.is_file()) {
            return Err(std::io::Error::other("it is not an ordinary file"));
        }
        std::fs::File::options().append(true).create(true).open(&path)
    };
    match make() {
        Ok(_made) => Ok(Some(path)),
        Err(error) => {
            let message = format!("output_file {} cannot be written: {error}", path.display());
            Err(Error::new(Kind::InvalidArgument, "bash.output_file", message))
        }
    }
}

/// The command, after the session's own script.
fn with_snapshot(command: &str, snapshot: Option<&Path>) -> String {
    snapshot.map_or_else(|| command.to_owned(), |path| format!(". {}\n{command}", quote(path)))
}

fn quote(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The file that holds all of a stream that was cut; a full disk leaves reading by offset.
fn whole_file(log: &Log, excerpt: &Excerpt) -> Option<String> {
    if !excerpt.cut {
        return None;
    }
    match log.materialise() {
        Ok(path) => Some(path.display().to_string()),
        Err(error) => {
            tracing::warn!(%error, "the whole output could not be put into a file");
            None
        }
    }
}
