//! Reading a command's output by offset, now or when there is more.

use atoll_api::bash::{BashOutput, ReadBashOutput};
use atoll_operation::{Context, Error, Handle};
use atoll_process::{Log, TextChunk};

use super::command::BashCommand;
use super::service::Bashes;
use crate::session::seconds;

impl Handle<ReadBashOutput> for Bashes {
    async fn handle(&self, cx: &Context, input: ReadBashOutput) -> Result<BashOutput, Error> {
        let entry = self.find(&input.session_id)?;
        let Some(command) = entry.session.command(input.command_id.as_ref())? else {
            return Ok(BashOutput {
                session_id: entry.id.clone(),
                stdout: String::new(),
                stderr: String::new(),
                offset: input.offset,
                stderr_offset: input.stderr_offset,
                command: None,
            });
        };
        if input.wait {
            let more = more(&command, input.offset, input.stderr_offset);
            let bounded = tokio::time::timeout(seconds(input.wait_timeout), more);
            // Whatever ended the wait, the answer is what there is now.
            let _more_or_not = self.programs.foundation().stop.run_until_cancelled(bounded).await;
            entry.touch();
        }
        // The state is read first: what it says has ended cannot print less than is read after.
        let info = command.info();
        let (stdout, stderr) = (command.piped().stdout(), command.piped().stderr());
        let (out, err) = (self.read(stdout, input.offset), self.read(stderr, input.stderr_offset));
        let skipped = out.skipped + err.skipped;
        if skipped > 0 {
            cx.hint(format!("{skipped} bytes before these are no longer kept"));
        }
        if let Some(hint) = command.hint() {
            cx.hint(hint);
        }
        Ok(BashOutput {
            session_id: entry.id.clone(),
            offset: out.next,
            stderr_offset: err.next,
            stdout: out.text,
            stderr: err.text,
            command: Some(info),
        })
    }
}

impl Bashes {
    pub(super) fn read(&self, log: &Log, offset: u64) -> TextChunk {
        let max = self.programs.foundation().limits.response_output_bytes;
        log.read_text(offset, usize::try_from(max).unwrap_or(usize::MAX))
    }
}

/// Waits for output past the offsets, or the command's end.
pub(super) async fn more(command: &BashCommand, offset: u64, stderr_offset: u64) {
    let piped = command.piped();
    tokio::select! {
        () = readable(piped.stdout(), offset) => {}
        () = readable(piped.stderr(), stderr_offset) => {}
        _ = piped.wait() => {}
    }
}

/// Waits for any byte past the offsets, or the command's end.
pub(super) async fn any(command: &BashCommand, offset: u64, stderr_offset: u64) {
    let piped = command.piped();
    let arrived = async |log: &Log, offset| {
        log.wait_past(offset).await;
        if log.progress().end <= offset {
            // Nothing more will come here; the other stream or the end decides.
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = arrived(piped.stdout(), offset) => {}
        () = arrived(piped.stderr(), stderr_offset) => {}
        _ = piped.wait() => {}
    }
}

/// Waits until reading at `offset` gives text: a character that is not complete does not count.
async fn readable(log: &Log, offset: u64) {
    let mut from = offset;
    loop {
        log.wait_past(from).await;
        let chunk = log.read_text(offset, 8);
        if !chunk.text.is_empty() {
            return;
        }
        if chunk.progress.closed {
            // Nothing more will come here; the other stream or the end decides.
            return std::future::pending().await;
        }
        from = chunk.progress.end;
    }
}
