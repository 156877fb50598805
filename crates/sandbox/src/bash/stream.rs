//! A command as events: that it started, what it prints on either stream, and its result.

use atoll_api::bash::ExecBash;
use atoll_operation::{Context, Error, Event, Stream, Streaming};
use atoll_process::Log;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::command::BashCommand;
use super::exec::patience;
use super::output::more;
use super::service::Bashes;

/// Events that wait for a slow reader; the output itself waits in the logs.
const WAITING: usize = 4;
/// Bytes of output in one event.
const CHUNK: usize = 64 << 10;

impl Streaming<ExecBash> for Bashes {
    async fn stream(&self, cx: &Context, input: ExecBash) -> Result<Stream, Error> {
        let (entry, command) = self.start(&input).await?;
        let (sender, receiver) = mpsc::channel(WAITING);
        let (bashes, cx, stop) =
            (self.clone(), cx.clone(), self.programs.foundation().stop.clone());
        self.programs.tasks().spawn(async move {
            let reader = sender.clone();
            let telling = async {
                let started = json!({
                    "session_id": entry.id,
                    "command_id": command.id(),
                    "command": command.text(),
                    "pid": command.piped().child().pid(),
                });
                send(&sender, "started", started).await?;
                tell(&command, &sender, patience(&input, &command)).await?;
                entry.touch();
                let result = bashes.result(&cx, &entry, &command, input.max_output_length);
                let result = serde_json::to_value(result).unwrap_or(Value::Null);
                send(&sender, "result", result).await
            };
            tokio::select! {
                _ = telling => {}
                () = reader.closed() => {}
                () = stop.cancelled() => {}
            }
        });
        Ok(futures::stream::unfold(receiver, async |mut receiver| {
            Some((receiver.recv().await?, receiver))
        })
        .boxed())
    }
}

async fn send(events: &mpsc::Sender<Event>, name: &'static str, data: Value) -> Option<()> {
    events.send(Event { name, id: None, data }).await.ok()
}

/// Sends what the command prints while `waiting`, and what it has printed by then.
async fn tell(
    command: &BashCommand,
    events: &mpsc::Sender<Event>,
    waiting: impl Future<Output = ()>,
) -> Option<()> {
    let mut waiting = std::pin::pin!(waiting);
    let mut over = false;
    let mut offsets = [0, 0];
    loop {
        let [out, err] = &mut offsets;
        let told = pass(command.piped().stdout(), "stdout", out, events).await?
            | pass(command.piped().stderr(), "stderr", err, events).await?;
        if told {
            continue;
        }
        if over {
            return Some(());
        }
        tokio::select! {
            () = &mut waiting => over = true,
            () = more(command, offsets[0], offsets[1]), if command.running() => {}
        }
    }
}

/// Sends the next piece of one stream; whether there was one.
async fn pass(
    log: &Log,
    source: &'static str,
    offset: &mut u64,
    events: &mpsc::Sender<Event>,
) -> Option<bool> {
    let chunk = log.read_text(*offset, CHUNK);
    *offset = chunk.next;
    if chunk.text.is_empty() {
        return Some(false);
    }
    let data = json!({"data": chunk.text, "source": source, "offset": chunk.next});
    send(events, "output", data).await.map(|()| true)
}
