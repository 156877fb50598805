//! A session's stream as events: what it prints, then how its command ended.

use atoll_api::shell::{ExecShell, ViewShell};
use atoll_operation::{Context, Error, Event, Stream, Streaming};
use atoll_process::{JobState, Log};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::exec::Running;
use super::service::Shells;

/// Events that wait for a slow reader; the output itself waits in the log.
const WAITING: usize = 4;
/// Bytes of output in one event.
const CHUNK: usize = 64 << 10;

impl Streaming<ExecShell> for Shells {
    async fn stream(&self, cx: &Context, input: ExecShell) -> Result<Stream, Error> {
        let running = self.submit(cx, &input).await?;
        let (shells, cx) = (self.clone(), cx.clone());
        Ok(self.events(async move |events| {
            let started =
                json!({ "session_id": running.entry.id, "command": running.job.command() });
            events.send(Event { name: "started", id: None, data: started }).await.ok()?;
            let start = begun(&running).await;
            let waiting = shells.wait(&running, &input);
            let log = running.entry.session.terminal().log();
            let waited = follow(log, start, &events, waiting, || {
                running.entry.session.range(&running.job).1
            })
            .await?;
            let result = shells.result(&cx, &running, &input, waited);
            send_result(&events, result).await
        }))
    }
}

impl Streaming<ViewShell> for Shells {
    async fn stream(&self, cx: &Context, input: ViewShell) -> Result<Stream, Error> {
        let entry = self.find(&input.id)?;
        let resumed = cx.resume_after().and_then(|id| id.parse().ok());
        let latest = entry.session.latest().map(|job| entry.session.range(&job).0);
        let start = resumed.or(input.offset).or(latest).unwrap_or(0);
        let (shells, cx) = (self.clone(), cx.clone());
        Ok(self.events(async move |events| {
            let terminal = entry.session.terminal();
            let log = terminal.log();
            follow(log, start, &events, terminal.idle(), || log.progress().end).await?;
            let result = shells.view(&cx, &entry, Some(start));
            send_result(&events, result).await
        }))
    }
}

impl Shells {
    /// Runs `produce` until it is done, the reader leaves or the server stops.
    fn events<F>(&self, produce: impl FnOnce(mpsc::Sender<Event>) -> F + Send + 'static) -> Stream
    where
        F: Future<Output = Option<()>> + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(WAITING);
        let (stop, reader) = (self.programs.foundation().stop.clone(), sender.clone());
        self.programs.tasks().spawn(async move {
            tokio::select! {
                _ = produce(sender) => {}
                () = reader.closed() => {}
                () = stop.cancelled() => {}
            }
        });
        futures::stream::unfold(receiver, async |mut receiver| {
            Some((receiver.recv().await?, receiver))
        })
        .boxed()
    }
}

/// Waits until a command has begun: where its output lies is known then.
async fn begun(running: &Running) -> u64 {
    let mut state = running.job.watch();
    let begun = state.wait_for(|state| *state != JobState::Queued).await.map(|state| *state);
    match begun {
        Ok(JobState::Running { start } | JobState::Done { start, .. }) => start,
        Ok(JobState::Queued) | Err(_) => running.entry.session.range(&running.job).0,
    }
}

/// Sends what is printed from `offset` on while `waiting`, and then up to `end`.
async fn follow<T>(
    log: &Log,
    mut offset: u64,
    events: &mpsc::Sender<Event>,
    waiting: impl Future<Output = T>,
    end: impl Fn() -> u64,
) -> Option<T> {
    let mut waiting = std::pin::pin!(waiting);
    let mut over = None;
    loop {
        let chunk = log.read_text(offset, CHUNK);
        let last = over.as_ref().map(|_| end());
        if !chunk.text.is_empty() && last.is_none_or(|last| offset < last) {
            let next = last.map_or(chunk.next, |last| chunk.next.min(last));
            let text = if next < chunk.next {
                log.read_text(offset, usize::try_from(next - offset).unwrap_or(CHUNK)).text
            } else {
                chunk.text
            };
            offset = next;
            let data = json!({ "data": text, "offset": offset });
            events.send(Event { name: "output", id: Some(offset.to_string()), data }).await.ok()?;
            continue;
        }
        if let Some(over) = over {
            return Some(over);
        }
        tokio::select! {
            done = &mut waiting => over = Some(done),
            () = log.wait_past(chunk.progress.end.max(offset)) => {
                if log.progress().closed && log.progress().end <= offset {
                    over = Some(waiting.as_mut().await);
                }
            }
        }
    }
}

async fn send_result(events: &mpsc::Sender<Event>, result: impl serde::Serialize) -> Option<()> {
    let data = serde_json::to_value(result).unwrap_or(Value::Null);
    events.send(Event { name: "result", id: None, data }).await.ok()
}
