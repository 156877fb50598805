//! A terminal attached to a session: keys in, the session's stream out, from any offset.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use atoll_api::shell::{AttachShell, CreateShell, TerminalInput, TerminalOutput};
use atoll_operation::{Context, Converse, Error};
use atoll_process::{Viewer, WindowSize};
use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::service::{Shells, terminal_failure};
use super::session::Session;
use crate::session::Entry;

/// Bytes of scrollback replayed to a terminal that does not say where it left off.
const SCROLLBACK: u64 = 256 << 10;
/// Bytes of output in one message.
const MESSAGE: usize = 64 << 10;
/// Answers that wait for a slow reader.
const WAITING: usize = 16;
const PING: Duration = Duration::from_secs(30);

impl Converse<AttachShell> for Shells {
    async fn converse(
        &self,
        _cx: &Context,
        input: AttachShell,
        up: BoxStream<'static, Result<TerminalInput, String>>,
    ) -> Result<BoxStream<'static, TerminalOutput>, Error> {
        let entry = match input.session_id.as_ref().filter(|id| !id.is_empty()) {
            Some(id) => self.find(id)?,
            None => self.make(&CreateShell::default()).await?,
        };
        let (answers, receiver) = mpsc::channel(WAITING);
        let stop = self.programs.foundation().stop.clone();
        let (typing, until) = (Arc::clone(&entry), stop.clone());
        self.programs.tasks().spawn(async move {
            until.run_until_cancelled(serve(&typing, up, &answers)).await;
        });
        let terminal = entry.session.terminal();
        let offset = input
            .offset
            .unwrap_or_else(|| terminal.log().progress().end.saturating_sub(SCROLLBACK));
        entry.session.watch();
        let down = Down {
            first: VecDeque::from([
                TerminalOutput::SessionId { data: entry.id.clone() },
                TerminalOutput::Ready { data: "Terminal ready".to_owned() },
            ]),
            _viewer: terminal.attach(),
            entry,
            offset,
            answers: receiver,
            next_ping: Instant::now() + PING,
            stop,
            over: false,
        };
        Ok(futures::stream::unfold(down, async |mut down| Some((down.next().await?, down))).boxed())
    }
}

/// Carries out what the terminal sends.
async fn serve(
    entry: &Entry<Session>,
    mut up: BoxStream<'static, Result<TerminalInput, String>>,
    answers: &mpsc::Sender<TerminalOutput>,
) {
    let terminal = entry.session.terminal();
    while let Some(message) = up.next().await {
        entry.touch();
        let answer = match message {
            Ok(TerminalInput::Input { data }) => terminal.write(data.as_bytes()).err().map(refusal),
            Ok(TerminalInput::Resize { data }) => {
                let size = WindowSize { columns: data.cols.max(1), rows: data.rows.max(1) };
                terminal.resize(size).await.err().map(refusal)
            }
            Ok(TerminalInput::Ping { timestamp }) => Some(TerminalOutput::Pong { timestamp }),
            Ok(TerminalInput::Pong {}) => None,
            Err(data) => Some(TerminalOutput::Error { data }),
        };
        if let Some(answer) = answer {
            // A terminal that does not read misses answers; its keys must be served all the same.
            let _not_reading = answers.try_send(answer);
        }
    }
}

fn refusal(error: atoll_process::TerminalError) -> TerminalOutput {
    TerminalOutput::Error { data: terminal_failure(error).message().to_owned() }
}

/// What the terminal is sent.
struct Down {
    first: VecDeque<TerminalOutput>,
    entry: Arc<Entry<Session>>,
    _viewer: Viewer,
    offset: u64,
    answers: mpsc::Receiver<TerminalOutput>,
    next_ping: Instant,
    stop: CancellationToken,
    over: bool,
}

impl Down {
    async fn next(&mut self) -> Option<TerminalOutput> {
        if let Some(first) = self.first.pop_front() {
            return Some(first);
        }
        if self.over {
            return None;
        }
        let terminal = self.entry.session.terminal();
        loop {
            let chunk = terminal.log().read_text(self.offset, MESSAGE);
            self.offset = chunk.next;
            if !chunk.text.is_empty() {
                return Some(TerminalOutput::Output { data: chunk.text, offset: self.offset });
            }
            if chunk.progress.closed {
                self.over = true;
                let reason =
                    terminal.end_reason().unwrap_or_else(|| "the session has ended".to_owned());
                return Some(TerminalOutput::Error { data: reason });
            }
            tokio::select! {
                () = terminal.log().wait_past(chunk.progress.end) => {}
                Some(answer) = self.answers.recv() => return Some(answer),
                () = sleep_until(self.next_ping) => {
                    self.next_ping = Instant::now() + PING;
                    let now = crate::clock::milliseconds();
                    return Some(TerminalOutput::Ping { timestamp: now, data: now });
                }
                () = self.stop.cancelled() => return None,
            }
        }
    }
}

impl Drop for Down {
    fn drop(&mut self) {
        self.entry.session.unwatch();
        self.entry.touch();
    }
}
