//! Writing to a command and ending it.

use atoll_api::bash::{KillBash, WriteBash};
use atoll_operation::{Context, Error, Handle, Kind};
use atoll_process::InputError;

use super::command::BashCommand;
use super::service::Bashes;

impl Handle<WriteBash> for Bashes {
    async fn handle(&self, _cx: &Context, input: WriteBash) -> Result<(), Error> {
        let entry = self.find(&input.session_id)?;
        let command = entry.session.command(input.command_id.as_ref())?;
        let command = command.filter(|command| command.running()).ok_or_else(|| {
            Error::new(
                Kind::FailedPrecondition,
                "bash.not_running",
                "no command of this session is running",
            )
        })?;
        write(&command, &input.input, input.close_stdin)
    }
}

/// Writes to a command's standard input, and closes it if asked to.
pub(super) fn write(command: &BashCommand, text: &str, close: bool) -> Result<(), Error> {
    let stdin = command.piped().stdin();
    if !text.is_empty() {
        stdin.write(text.as_bytes()).map_err(input_failure)?;
    }
    if close { stdin.close().map_err(input_failure) } else { Ok(()) }
}

fn input_failure(error: InputError) -> Error {
    match error {
        InputError::Full { .. } => Error::new(
            Kind::ResourceExhausted,
            "bash.input_full",
            format!("{error}; wait until it reads, or end it"),
        ),
        InputError::Closed => Error::new(
            Kind::FailedPrecondition,
            "bash.stdin_closed",
            "the command's standard input is closed",
        ),
    }
}

impl Handle<KillBash> for Bashes {
    async fn handle(&self, cx: &Context, input: KillBash) -> Result<(), Error> {
        let entry = self.find(&input.session_id)?;
        let alive = entry.session.alive();
        if alive.is_empty() {
            cx.hint("nothing of this session was running");
        }
        futures::future::join_all(
            alive.iter().map(async |command| command.signal(input.signal).await),
        )
        .await;
        Ok(())
    }
}
