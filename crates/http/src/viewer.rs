//! A viewer of the desktop: RFB, which the desktop speaks on a unix socket, carried by binary WebSocket messages.
//!
//! Any number of viewers may watch; each has its own connection. One that only watches is kept from everything else here,
//! whatever its program would send. Both ways wait for their reader, so nothing piles up.

mod filter;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{FromRequestParts, Request};
use axum::http::StatusCode;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures::sink::SinkExt;
use futures::stream::{SplitSink, SplitStream, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use self::filter::Watching;
use crate::dialect::Failure;
use crate::face::Shared;
use crate::passage::Passage;

const PING_EVERY: Duration = Duration::from_secs(30);
/// How long a viewer may take to read our farewell.
const FAREWELL: Duration = Duration::from_secs(1);
/// Bytes of one message to a viewer.
const CHUNK: usize = 256 << 10;
/// What viewers call messages of bytes.
const PROTOCOL: &str = "binary";
/// What a viewer needs to do more than watch.
const CONTROL: &str = "desktop:write";

/// Answers a viewer's handshake.
pub(crate) async fn welcome(
    socket: PathBuf,
    request: Request,
    shared: &Arc<Shared>,
) -> Result<Response, Failure> {
    let (mut parts, _) = request.into_parts();
    let passage = Passage::of(&parts.extensions);
    let watches =
        only_watches(parts.uri.query().unwrap_or_default()) || passage.permit(CONTROL).is_err();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await;
    let upgrade = upgrade.map_err(|rejection| {
        let message =
            format!("connect here with a WebSocket, or open /vnc/index.html: {rejection}");
        Failure::new(StatusCode::UPGRADE_REQUIRED, "request.upgrade", message)
    })?;
    let desktop = connect(&socket).await?;
    let limit = usize::try_from(shared.limits.websocket_message_bytes).unwrap_or(usize::MAX);
    let shared = Arc::clone(shared);
    let tracked = shared.tracker.token();
    let upgrade = upgrade.max_message_size(limit).max_frame_size(limit).protocols([PROTOCOL]);
    Ok(upgrade.on_upgrade(async move |socket| {
        let counted = shared.metrics.websocket();
        tokio::select! {
            () = carry(socket, desktop, watches, &shared) => {}
            () = shared.kill.cancelled() => {}
        }
        drop((counted, tracked));
    }))
}

async fn connect(socket: &Path) -> Result<UnixStream, Failure> {
    UnixStream::connect(socket).await.map_err(|error| {
        tracing::warn!(%error, "the desktop does not take a viewer");
        let message = "the desktop does not answer; connect again";
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "window.unreachable", message)
    })
}

/// Whether the address asks for watching only.
fn only_watches(query: &str) -> bool {
    form_urlencoded::parse(query.as_bytes()).any(|(name, value)| {
        matches!(&*name, "view_only" | "viewOnly") && matches!(&*value, "" | "1" | "true" | "yes")
    })
}

async fn carry(socket: WebSocket, desktop: UnixStream, watches: bool, shared: &Shared) {
    let (mut outgoing, incoming) = socket.split();
    let (from, to) = desktop.into_split();
    let (code, reason) = tokio::select! {
        () = up(incoming, to, watches) => (close_code::NORMAL, ""),
        () = down(&mut outgoing, from) => (close_code::NORMAL, "the desktop ended"),
        () = shared.stop.cancelled() => (close_code::AWAY, "the server stops"),
    };
    let parting = async {
        let reason = reason.into();
        outgoing.send(Message::Close(Some(CloseFrame { code, reason }))).await?;
        outgoing.close().await
    };
    // A viewer that is gone misses the farewell; the connection ends all the same.
    drop(timeout(FAREWELL, parting).await);
}

async fn up(mut incoming: SplitStream<WebSocket>, mut to: OwnedWriteHalf, watches: bool) {
    let mut watching = watches.then(Watching::default);
    while let Some(Ok(message)) = incoming.next().await {
        let bytes = match message {
            Message::Binary(bytes) => bytes,
            Message::Ping(_) | Message::Pong(_) => continue,
            // Viewers that know no binary messages are long gone.
            Message::Text(_) | Message::Close(_) => return,
        };
        let written = match &mut watching {
            None => to.write_all(&bytes).await,
            Some(watching) => match watching.admit(&bytes) {
                Some(admitted) => to.write_all(&admitted).await,
                None => return,
            },
        };
        if written.is_err() {
            return;
        }
    }
}

async fn down(outgoing: &mut SplitSink<WebSocket, Message>, mut from: OwnedReadHalf) {
    let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(CHUNK);
        let sent = tokio::select! {
            biased;
            read = from.read_buf(&mut buffer) => match read {
                Ok(0) | Err(_) => return,
                Ok(_) => outgoing.send(Message::Binary(buffer.split().freeze())).await,
            },
            _ = pings.tick() => outgoing.send(Message::Ping(Bytes::new())).await,
        };
        if sent.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_says_who_only_watches() {
        for (query, watches) in [
            ("", false),
            ("view_only=true", true),
            ("token=x&view_only=1", true),
            ("view_only=false", false),
            ("view_only=0", false),
            ("viewOnly=true", true),
        ] {
            assert_eq!(only_watches(query), watches, "{query}");
        }
    }
}
