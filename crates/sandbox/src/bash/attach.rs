//! The bash socket: commands in, their output and ends out, resumable by offset.

use std::sync::Arc;
use std::time::Duration;

use atoll_api::bash::{AttachBash, BashEvent, BashInput, ExecBash};
use atoll_operation::{Context, Converse, Error};
use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::command::BashCommand;
use super::control::write;
use super::output::more;
use super::service::Bashes;
use super::session::Session;
use crate::session::Entry;

/// Messages that wait for a slow client; its commands' output waits in their logs.
const WAITING: usize = 16;
/// Bytes of output in one message.
const MESSAGE: usize = 64 << 10;
const PING: Duration = Duration::from_secs(30);

impl Converse<AttachBash> for Bashes {
    async fn converse(
        &self,
        _cx: &Context,
        input: AttachBash,
        up: BoxStream<'static, Result<BashInput, String>>,
    ) -> Result<BoxStream<'static, BashEvent>, Error> {
        let made_up = input.session_id.as_ref().is_none_or(String::is_empty);
        let entry = self.find_or_make(input.session_id.as_ref(), None, None)?;
        let (sender, receiver) = mpsc::channel(WAITING);
        let socket = Socket { bashes: self.clone(), entry, sender, gone: CancellationToken::new() };
        let stop = self.programs.foundation().stop.clone();
        self.programs.tasks().spawn(async move {
            stop.run_until_cancelled(socket.serve(up)).await;
            socket.gone.cancel();
            // A session made up for this socket has nobody else who knows of it.
            if made_up
                && let Some(entry) =
                    socket.bashes.table.remove(&socket.entry.id, "ended with its socket")
            {
                entry.session.forget().await;
            }
        });
        Ok(futures::stream::unfold(receiver, async |mut receiver| {
            let event = receiver.recv().await?;
            Some((event, receiver))
        })
        .boxed())
    }
}

struct Socket {
    bashes: Bashes,
    entry: Arc<Entry<Session>>,
    sender: mpsc::Sender<BashEvent>,
    /// Ends the followers with the socket.
    gone: CancellationToken,
}

impl Socket {
    async fn serve(&self, mut up: BoxStream<'static, Result<BashInput, String>>) {
        let id = self.entry.id.clone();
        if self.sender.send(BashEvent::SessionId { data: id }).await.is_err() {
            return;
        }
        let mut ping = tokio::time::interval_at(tokio::time::Instant::now() + PING, PING);
        loop {
            tokio::select! {
                message = up.next() => match message {
                    Some(Ok(message)) => {
                        self.entry.touch();
                        if let Err(error) = self.obey(message).await {
                            self.tell(BashEvent::Error { data: error.message().to_owned() });
                        }
                    }
                    Some(Err(error)) => self.tell(BashEvent::Error { data: error }),
                    None => return,
                },
                _ = ping.tick() => {
                    let now = crate::clock::milliseconds();
                    self.tell(BashEvent::Ping { timestamp: now, data: now });
                }
                () = self.sender.closed() => return,
            }
        }
    }

    /// Tells the client something in passing. One that does not read misses it: its own messages must be served.
    fn tell(&self, event: BashEvent) {
        let _not_reading = self.sender.try_send(event);
    }

    async fn obey(&self, message: BashInput) -> Result<(), Error> {
        match message {
            BashInput::Exec { data } => {
                let input = ExecBash {
                    session_id: Some(self.entry.id.clone()),
                    command: data,
                    ..ExecBash::default()
                };
                let (_, command) = self.bashes.start(&input).await?;
                let started = BashEvent::CommandStarted { command_id: command.id().to_owned() };
                self.follow(command, Some(started), 0, 0);
            }
            BashInput::Input { data } => write(&*self.latest()?, &data, false)?,
            BashInput::CloseStdin {} => write(&*self.latest()?, "", true)?,
            BashInput::Kill { signal } => self.latest()?.signal(signal).await,
            BashInput::Resume { command_id, offset, stderr_offset } => {
                let command = self.entry.session.command(command_id.as_ref())?.ok_or_else(none)?;
                self.follow(command, None, offset, stderr_offset);
            }
            BashInput::Ping { timestamp } => self.tell(BashEvent::Pong { timestamp }),
            BashInput::Pong {} => {}
        }
        Ok(())
    }

    fn latest(&self) -> Result<Arc<BashCommand>, Error> {
        self.entry.session.command(None)?.ok_or_else(none)
    }

    /// Sends a first event, then a command's output from these offsets on, and its end.
    fn follow(
        &self,
        command: Arc<BashCommand>,
        first: Option<BashEvent>,
        offset: u64,
        stderr_offset: u64,
    ) {
        let (sender, gone) = (self.sender.clone(), self.gone.clone());
        self.bashes.programs.tasks().spawn(async move {
            let following = async {
                if let Some(first) = first {
                    sender.send(first).await.ok()?;
                }
                follow(&command, &sender, offset, stderr_offset).await
            };
            gone.run_until_cancelled(following).await;
        });
    }
}

fn none() -> Error {
    Error::new(
        atoll_operation::Kind::FailedPrecondition,
        "bash.not_running",
        "this session has run no command yet",
    )
}

async fn follow(
    command: &BashCommand,
    sender: &mpsc::Sender<BashEvent>,
    mut offset: u64,
    mut stderr_offset: u64,
) -> Option<()> {
    loop {
        more(command, offset, stderr_offset).await;
        // Read before the logs: what had ended then has printed what is read below.
        let ended = !command.running();
        let out = command.piped().stdout().read_text(offset, MESSAGE);
        let err = command.piped().stderr().read_text(stderr_offset, MESSAGE);
        let command_id = command.id().to_owned();
        let nothing = out.text.is_empty() && err.text.is_empty();
        if !out.text.is_empty() {
            let event = BashEvent::Output {
                data: out.text,
                command_id: command_id.clone(),
                offset: out.next,
            };
            sender.send(event).await.ok()?;
        }
        if !err.text.is_empty() {
            let event = BashEvent::Stderr {
                data: err.text,
                command_id: command_id.clone(),
                stderr_offset: err.next,
            };
            sender.send(event).await.ok()?;
        }
        (offset, stderr_offset) = (out.next, err.next);
        if ended && nothing {
            let (status, exit_code) = (command.status(), command.exit_code());
            return sender
                .send(BashEvent::CommandDone { command_id, status, exit_code })
                .await
                .ok();
        }
    }
}
