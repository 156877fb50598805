//! The bash socket: commands in, their output and ends out, resumable by offset.

use std::sync::Arc;
use std::time::Duration;

use atoll_api::bash::{AttachBash, BashEncoding, BashEvent, BashInput, ExecBash};
use atoll_operation::{Context, Converse, Error, Kind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::command::BashCommand;
use super::control::write;
use super::follow::follow;
use super::service::Bashes;
use super::session::Session;
use crate::session::Entry;

/// Messages that wait for a slow client; its commands' output waits in their logs.
const WAITING: usize = 16;
/// Pieces of input, and bytes in all of them, that wait for a command that does not read. Clients are told to stop at
/// half of these bytes.
const PIECES_WAITING: usize = 1024;
const INPUT_WAITING: usize = 2 << 20;
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
        let (feed, pieces) = mpsc::channel(PIECES_WAITING);
        let gone = CancellationToken::new();
        let (bashes, encoding) = (self.clone(), input.encoding);
        let room = Arc::new(Semaphore::new(INPUT_WAITING));
        let socket = Socket { bashes, entry, encoding, feed, room, sender, gone };
        let stop = self.programs.foundation().stop.clone();
        if encoding == BashEncoding::Base64 {
            let (sender, gone) = (socket.sender.clone(), socket.gone.clone());
            self.programs.tasks().spawn(async move {
                gone.run_until_cancelled(take_input(pieces, sender)).await;
            });
        }
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
    encoding: BashEncoding,
    /// Input that is taken when there is room for it.
    feed: mpsc::Sender<Piece>,
    /// A permit for each byte of it that may wait.
    room: Arc<Semaphore>,
    sender: mpsc::Sender<BashEvent>,
    /// Ends the followers with the socket.
    gone: CancellationToken,
}

/// A piece of a command's input with its room; none closes it.
type Piece = (Arc<BashCommand>, Option<(Vec<u8>, OwnedSemaphorePermit)>);

/// Gives commands their input as they read it, and tells how far it has come. What a command does not want any more is
/// dropped, as by a pipe without a reader.
async fn take_input(mut pieces: mpsc::Receiver<Piece>, sender: mpsc::Sender<BashEvent>) {
    let mut taken = 0;
    while let Some((command, bytes)) = pieces.recv().await {
        let stdin = command.piped().stdin();
        let Some((bytes, _room)) = bytes else {
            let _closed_already = stdin.close();
            continue;
        };
        tokio::select! {
            _closed = stdin.write_when_room(&bytes) => {}
            _ = command.piped().wait() => {}
        }
        taken += bytes.len() as u64;
        if sender.send(BashEvent::InputTaken { bytes: taken }).await.is_err() {
            return;
        }
    }
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
            BashInput::Exec { data, exec_dir, env, hard_timeout } => {
                let input = ExecBash {
                    session_id: Some(self.entry.id.clone()),
                    command: data,
                    exec_dir,
                    env,
                    hard_timeout,
                    ..ExecBash::default()
                };
                let (_, command) = self.bashes.start(&input).await?;
                let started = BashEvent::CommandStarted { command_id: command.id().to_owned() };
                self.follow(command, Some(started), 0, 0);
            }
            BashInput::Input { data } if self.encoding == BashEncoding::Base64 => {
                self.feed(Some(decoded(&data)?))?;
            }
            BashInput::CloseStdin {} if self.encoding == BashEncoding::Base64 => self.feed(None)?,
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

    fn feed(&self, bytes: Option<Vec<u8>>) -> Result<(), Error> {
        let full = || {
            let message =
                "the command is not reading its input: wait for `input_taken` before sending more";
            Error::new(Kind::ResourceExhausted, "bash.input_full", message)
        };
        let command = self.latest()?;
        let piece = match bytes {
            Some(bytes) => {
                let count = u32::try_from(bytes.len()).map_err(|_| full())?;
                let room = Arc::clone(&self.room).try_acquire_many_owned(count);
                Some((bytes, room.map_err(|_| full())?))
            }
            None => None,
        };
        self.feed.try_send((command, piece)).map_err(|_| full())
    }

    /// Sends a first event, then a command's output from these offsets on, and its end.
    fn follow(
        &self,
        command: Arc<BashCommand>,
        first: Option<BashEvent>,
        offset: u64,
        stderr_offset: u64,
    ) {
        let (sender, gone, encoding) = (self.sender.clone(), self.gone.clone(), self.encoding);
        self.bashes.programs.tasks().spawn(async move {
            let following = async {
                if let Some(first) = first {
                    sender.send(first).await.ok()?;
                }
                follow(&command, encoding, &sender, offset, stderr_offset).await
            };
            gone.run_until_cancelled(following).await;
        });
    }
}

fn none() -> Error {
    Error::new(Kind::FailedPrecondition, "bash.not_running", "this session has run no command yet")
}

fn decoded(data: &str) -> Result<Vec<u8>, Error> {
    BASE64.decode(data).map_err(|error| {
        let message = format!("`data` is no base64, which this socket was opened for: {error}");
        Error::new(Kind::InvalidArgument, "input.invalid", message)
    })
}
