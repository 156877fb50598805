//! Typing into a session, and killing what runs in it.

use std::time::Duration;

use atoll_api::shell::{KillShell, ShellKillResult, ShellWriteResult, WriteShell};
use atoll_operation::{Context, Error, Handle};
use atoll_process::Outcome;

use super::service::{Shells, terminal_failure};
use super::session::exit_code;

/// How long keys wait for a command that was sent before them to begin.
const SETTLE: Duration = Duration::from_secs(10);

impl Handle<WriteShell> for Shells {
    async fn handle(&self, _cx: &Context, input: WriteShell) -> Result<ShellWriteResult, Error> {
        let entry = self.find(&input.id)?;
        let mut keys = input.input;
        if input.press_enter {
            keys.push('\r');
        }
        let terminal = entry.session.terminal();
        // A shell that never takes the command it was given must not swallow the keys meant for it for ever.
        let _settled_or_not = tokio::time::timeout(SETTLE, terminal.settled()).await;
        terminal.write(keys.as_bytes()).map_err(terminal_failure)?;
        Ok(ShellWriteResult { status: entry.session.status() })
    }
}

impl Handle<KillShell> for Shells {
    async fn handle(&self, cx: &Context, input: KillShell) -> Result<ShellKillResult, Error> {
        let entry = self.find(&input.id)?;
        let terminal = entry.session.terminal();
        if !terminal.busy() {
            cx.hint("nothing was running in this session");
        }
        // The job that runs, not one that waits behind it.
        let job = terminal.latest_job().filter(|job| !job.state().is_done());
        terminal.kill_current(Outcome::Killed).await;
        let ended = job.or_else(|| entry.session.latest());
        let exit_code = ended.as_ref().and_then(|job| exit_code(job.state()));
        let status =
            ended.map_or_else(|| entry.session.status(), |job| super::session::status(job.state()));
        Ok(ShellKillResult { status, exit_code, returncode: exit_code })
    }
}
