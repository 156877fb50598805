//! A command's output as messages of a socket, from byte offsets on to its end.

use atoll_api::bash::{BashEncoding, BashEvent};
use atoll_process::Log;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::sync::mpsc;

use super::command::BashCommand;
use super::output::{any, more};

/// Bytes of output in one message.
const MESSAGE: usize = 64 << 10;

/// Sends what a command prints from these offsets on, and its end.
pub(super) async fn follow(
    command: &BashCommand,
    encoding: BashEncoding,
    sender: &mpsc::Sender<BashEvent>,
    mut offset: u64,
    mut stderr_offset: u64,
) -> Option<()> {
    loop {
        match encoding {
            BashEncoding::Text => more(command, offset, stderr_offset).await,
            BashEncoding::Base64 => any(command, offset, stderr_offset).await,
        }
        // Read before the logs: what had ended then has printed what is read below.
        let ended = !command.running();
        let (out, out_next) = read(command.piped().stdout(), encoding, offset);
        let (err, err_next) = read(command.piped().stderr(), encoding, stderr_offset);
        let command_id = command.id().to_owned();
        let nothing = out.is_empty() && err.is_empty();
        if !out.is_empty() {
            let command_id = command_id.clone();
            let event = BashEvent::Output { data: out, command_id, offset: out_next };
            sender.send(event).await.ok()?;
        }
        if !err.is_empty() {
            let command_id = command_id.clone();
            let event = BashEvent::Stderr { data: err, command_id, stderr_offset: err_next };
            sender.send(event).await.ok()?;
        }
        (offset, stderr_offset) = (out_next, err_next);
        if ended && nothing {
            let (status, exit_code) = (command.status(), command.exit_code());
            let done = BashEvent::CommandDone { command_id, status, exit_code };
            return sender.send(done).await.ok();
        }
    }
}

/// The next piece of a stream as a message has it, and where to read on.
fn read(log: &Log, encoding: BashEncoding, offset: u64) -> (String, u64) {
    match encoding {
        BashEncoding::Text => {
            let chunk = log.read_text(offset, MESSAGE);
            (chunk.text, chunk.next)
        }
        BashEncoding::Base64 => {
            let chunk = log.read(offset, MESSAGE);
            let next = chunk.offset + chunk.bytes.len() as u64;
            (BASE64.encode(chunk.bytes), next)
        }
    }
}
