//! Looking at a session and waiting for it.

use std::time::Duration;

use atoll_api::shell::{ShellViewResult, ShellWaitResult, ViewShell, WaitShell};
use atoll_operation::{Context, Error, Handle};

use super::exec::TRUNCATED;
use super::service::Shells;
use super::session::{Session, exit_code};
use crate::programs::starvation;
use crate::session::{Entry, excerpt};

/// Seconds to wait when the caller does not say.
const WAIT_SECONDS: u64 = 30;

impl Handle<ViewShell> for Shells {
    async fn handle(&self, cx: &Context, input: ViewShell) -> Result<ShellViewResult, Error> {
        let entry = self.find(&input.id)?;
        Ok(self.view(cx, &entry, input.offset))
    }
}

impl Shells {
    pub(super) fn view(
        &self,
        cx: &Context,
        entry: &Entry<Session>,
        offset: Option<u64>,
    ) -> ShellViewResult {
        let session = &entry.session;
        let terminal = session.terminal();
        let latest = session.latest();
        let max_bytes = self.programs.foundation().limits.response_output_bytes;
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let end = terminal.log().progress().end;
        let (output, next) = match (offset, &latest) {
            (Some(offset), _) => {
                let chunk = terminal.log().read_text(offset, max_bytes);
                if chunk.skipped > 0 {
                    cx.hint(format!("{} bytes before these are no longer kept", chunk.skipped));
                }
                (terminal.clean(chunk.text.as_bytes()), chunk.next)
            }
            (None, Some(job)) => {
                let screen = terminal.screen();
                (
                    screen.unwrap_or_else(|| session.output(job, Some(TRUNCATED), max_bytes).text),
                    end,
                )
            }
            (None, None) => {
                let all = excerpt(terminal.log(), 0..end, Some(TRUNCATED), max_bytes, |bytes| {
                    terminal.clean(bytes)
                });
                (terminal.screen().unwrap_or(all.text), end)
            }
        };
        if let Some(limit) = latest.as_ref().and_then(|job| job.starved()) {
            cx.hint(starvation(limit));
        }
        if let Some(reason) = terminal.end_reason() {
            cx.hint(reason);
        }
        ShellViewResult {
            output,
            session_id: entry.id.clone(),
            console: Some(session.console()),
            status: session.status(),
            command: latest.as_ref().map(|job| job.command().to_owned()),
            exit_code: latest.and_then(|job| exit_code(job.state())),
            offset: next,
        }
    }
}

impl Handle<WaitShell> for Shells {
    async fn handle(&self, _cx: &Context, input: WaitShell) -> Result<ShellWaitResult, Error> {
        let entry = self.find(&input.id)?;
        let seconds = input.seconds.max(input.max_wait_seconds).unwrap_or(WAIT_SECONDS);
        let idle =
            tokio::time::timeout(Duration::from_secs(seconds), entry.session.terminal().idle());
        // Whatever ended the wait, the answer is the status now.
        let _idle_or_not = self.programs.foundation().stop.run_until_cancelled(idle).await;
        entry.touch();
        Ok(ShellWaitResult { status: entry.session.status() })
    }
}
