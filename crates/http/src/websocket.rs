//! A conversation over a WebSocket: JSON text frames both ways.
//!
//! Reading and writing do not wait for each other: a client that stops reading can still send, which is how Ctrl-C gets
//! through a flood. Both ways are bounded: the socket's buffer one way, a short queue the other, and a full one makes
//! its sender wait. Messages that are ready together are flushed together, with a pause for the reader after each batch.

use std::error::Error as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use atoll_operation::Context;
use axum::Error;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use bytes::Bytes;
use futures::future::FutureExt;
use futures::sink::SinkExt;
use futures::stream::{self, BoxStream, Fuse, SplitSink, SplitStream, StreamExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::tungstenite;

use crate::face::Shared;

const PING_EVERY: Duration = Duration::from_secs(30);
/// How long a client may take to read our farewell.
const FAREWELL: Duration = Duration::from_secs(1);
/// Messages that may wait for the service.
const UP_QUEUE: usize = 8;
/// Bytes written before the reader gets its turn.
const BATCH_BYTES: usize = 256 << 10;
const BUFFER_BYTES: usize = 128 << 10;

/// The caller's messages as the service reads them, and the end that feeds them.
pub(crate) fn channel() -> (mpsc::Sender<String>, BoxStream<'static, String>) {
    let (sender, mut receiver) = mpsc::channel(UP_QUEUE);
    let messages = stream::poll_fn(move |cx| receiver.poll_recv(cx));
    (sender, messages.boxed())
}

/// Answers the handshake; the conversation starts when the connection has changed over.
pub(crate) fn respond(
    upgrade: WebSocketUpgrade,
    up: mpsc::Sender<String>,
    down: BoxStream<'static, String>,
    cx: Context,
    shared: &Arc<Shared>,
) -> Response {
    let limit = usize::try_from(shared.limits.websocket_message_bytes).unwrap_or(usize::MAX);
    let shared = Arc::clone(shared);
    // Held from now on, so that a stop waits for a socket whose connection is just changing over.
    let tracked = shared.tracker.token();
    upgrade
        .max_message_size(limit)
        .max_frame_size(limit)
        .write_buffer_size(BUFFER_BYTES)
        .on_upgrade(async move |socket| {
            let counted = shared.metrics.websocket();
            let conversation = AssertUnwindSafe(hold(socket, up, down, &shared)).catch_unwind();
            tokio::select! {
                held = conversation => if let Err(panic) = held {
                    shared.panicked(panic.as_ref(), cx.request_id());
                },
                () = shared.kill.cancelled() => {}
            }
            drop((counted, tracked));
        })
}

/// Why a conversation is over.
enum Ending {
    /// The client left, or its connection broke.
    Left,
    /// The client sent more in one message than allowed.
    TooBig,
    /// Everything was said.
    Done,
    /// The server stops.
    Stopping,
}

async fn hold(
    socket: WebSocket,
    up: mpsc::Sender<String>,
    down: BoxStream<'static, String>,
    shared: &Shared,
) {
    let (mut outgoing, incoming) = socket.split();
    let ending = tokio::select! {
        ending = read(incoming, up) => ending,
        ending = write(&mut outgoing, down) => ending,
        () = shared.stop.cancelled() => Ending::Stopping,
    };
    let farewell = match ending {
        Ending::Left => None,
        Ending::TooBig => Some((close_code::SIZE, "the message is over the limit")),
        Ending::Done => Some((close_code::NORMAL, "")),
        Ending::Stopping => Some((close_code::AWAY, "the server stops")),
    };
    let parting = async {
        if let Some((code, reason)) = farewell {
            let reason = reason.into();
            outgoing.send(Message::Close(Some(CloseFrame { code, reason }))).await?;
        }
        outgoing.close().await
    };
    // A client that is gone or does not read misses the farewell; the connection ends all the same.
    drop(timeout(FAREWELL, parting).await);
}

async fn read(mut incoming: SplitStream<WebSocket>, up: mpsc::Sender<String>) -> Ending {
    while let Some(message) = incoming.next().await {
        let text = match message {
            Ok(Message::Text(text)) => text.as_str().to_owned(),
            Ok(Message::Binary(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            Ok(Message::Ping(_) | Message::Pong(_)) => continue,
            Err(error) if is_too_big(&error) => return Ending::TooBig,
            Ok(Message::Close(_)) | Err(_) => return Ending::Left,
        };
        // A service that listens no more still writes: read on, to notice when the client leaves.
        drop(up.send(text).await);
    }
    Ending::Left
}

fn is_too_big(error: &Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref());
    matches!(cause, Some(tungstenite::Error::Capacity(_)))
}

async fn write(
    outgoing: &mut SplitSink<WebSocket, Message>,
    down: BoxStream<'static, String>,
) -> Ending {
    let mut down = down.fuse();
    let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let sent = tokio::select! {
            biased;
            text = down.next() => match text {
                Some(text) => write_batch(outgoing, &mut down, text).await,
                None => return Ending::Done,
            },
            _ = pings.tick() => outgoing.send(Message::Ping(Bytes::new())).await,
        };
        if sent.is_err() {
            return Ending::Left;
        }
    }
}

/// Writes a message and those ready behind it, then flushes.
async fn write_batch(
    outgoing: &mut SplitSink<WebSocket, Message>,
    down: &mut Fuse<BoxStream<'static, String>>,
    first: String,
) -> Result<(), Error> {
    let mut next = Some(first);
    let mut bytes = 0;
    while let Some(text) = next {
        bytes += text.len();
        outgoing.feed(Message::Text(text.into())).await?;
        next = if bytes < BATCH_BYTES { down.next().now_or_never().flatten() } else { None };
    }
    outgoing.flush().await?;
    if bytes >= BATCH_BYTES {
        tokio::task::yield_now().await;
    }
    Ok(())
}
