//! A viewer of the desktop: RFB, which the desktop speaks on a unix socket, carried by binary WebSocket messages.
//!
//! Any number of viewers may watch; each has its own connection. One that only watches is kept from everything else here,
//! whatever its program would send. Both ways wait for their reader, so nothing piles up. Whole screens pass here many
//! times a second, so bytes are not copied: each is read once, behind room for the head of the frame it is sent in.

mod filter;
mod frame;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use self::filter::Watching;
use self::frame::{Control, Frames, HEAD, Piece, head_before};
use crate::dialect::Failure;
use crate::face::Shared;
use crate::passage::Passage;

const PING_EVERY: Duration = Duration::from_secs(30);
/// How long a viewer may take to read our farewell.
const FAREWELL: Duration = Duration::from_secs(1);
/// Bytes of one message to a viewer.
const CHUNK: usize = 256 << 10;
/// Bytes read at once of what a viewer says.
const UP_CHUNK: usize = 16 << 10;
/// Answers to a viewer's pings that may wait; those of one that floods us are left out.
const PONGS: usize = 4;
/// What viewers call messages of bytes.
const PROTOCOL: &str = "binary";
/// What a viewer needs to do more than watch.
const CONTROL: &str = "desktop:write";
/// Why a connection ended, in the words of WebSockets.
const NORMAL: u16 = 1000;
const AWAY: u16 = 1001;

/// Answers a viewer's handshake.
pub(crate) async fn welcome(
    socket: PathBuf,
    mut request: Request,
    shared: &Arc<Shared>,
) -> Result<Response, Failure> {
    let passage = Passage::of(request.extensions());
    let query = request.uri().query().unwrap_or_default();
    let watches = only_watches(query) || passage.permit(CONTROL).is_err();
    let answer = handshake(&request)?;
    let desktop = connect(&socket).await?;
    let upgrade = hyper::upgrade::on(&mut request);
    let shared = Arc::clone(shared);
    let tracked = shared.tracker.token();
    tokio::spawn(async move {
        // A viewer that left before the connection changed over is nobody's loss.
        if let Ok(upgraded) = upgrade.await {
            let counted = shared.metrics.websocket();
            tokio::select! {
                () = carry(TokioIo::new(upgraded), desktop, watches, &shared) => {}
                () = shared.kill.cancelled() => {}
            }
            drop(counted);
        }
        drop(tracked);
    });
    Ok(answer)
}

/// The answer to a request that asks for a WebSocket.
fn handshake(request: &Request) -> Result<Response, Failure> {
    let headers = request.headers();
    let key = headers.get(header::SEC_WEBSOCKET_KEY);
    let asked = request.method() == Method::GET
        && mentions(headers, &header::CONNECTION, "upgrade")
        && mentions(headers, &header::UPGRADE, "websocket")
        && mentions(headers, &header::SEC_WEBSOCKET_VERSION, "13");
    let accept = key.filter(|_| asked).map(|key| derive_accept_key(key.as_bytes()));
    let Some(accept) = accept.and_then(|accept| HeaderValue::from_str(&accept).ok()) else {
        let message = "connect here with a WebSocket, or open /vnc/index.html";
        return Err(Failure::new(StatusCode::UPGRADE_REQUIRED, "request.upgrade", message));
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let answer = response.headers_mut();
    answer.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    answer.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    answer.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    if mentions(headers, &header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL) {
        answer.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    }
    Ok(response)
}

/// Whether a header that lists words has this one.
fn mentions(headers: &HeaderMap, name: &header::HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|each| each.trim().eq_ignore_ascii_case(word))
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

async fn carry(
    viewer: impl AsyncRead + AsyncWrite,
    desktop: UnixStream,
    watches: bool,
    shared: &Shared,
) {
    let (incoming, mut outgoing) = tokio::io::split(viewer);
    let (from, to) = desktop.into_split();
    let (pongs, answers) = mpsc::channel(PONGS);
    let (code, reason) = tokio::select! {
        _ended = up(incoming, to, watches, &pongs) => (NORMAL, ""),
        _ended = down(&mut outgoing, from, answers) => (NORMAL, "the desktop ended"),
        () = shared.stop.cancelled() => (AWAY, "the server stops"),
    };
    let parting = async {
        outgoing.write_all(&Control::Close(code, reason).bytes()).await?;
        outgoing.shutdown().await
    };
    // A viewer that is gone misses the farewell; the connection ends all the same.
    drop(timeout(FAREWELL, parting).await);
}

/// Passes on what the viewer says, until it ends.
async fn up(
    mut incoming: impl AsyncRead + Unpin,
    mut to: OwnedWriteHalf,
    watches: bool,
    pongs: &mpsc::Sender<Control>,
) -> io::Result<()> {
    let mut watching = watches.then(Watching::default);
    let mut frames = Frames::default();
    let mut buffer = vec![0; UP_CHUNK];
    loop {
        let count = incoming.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        let mut rest = &mut buffer[..count];
        while !rest.is_empty() {
            let (taken, piece) = frames.take(rest);
            match (piece, &mut watching) {
                (Piece::Content(bytes), None) => to.write_all(bytes).await?,
                (Piece::Content(bytes), Some(watching)) => match watching.admit(bytes) {
                    Some(admitted) => to.write_all(&admitted).await?,
                    None => return Ok(()),
                },
                (Piece::Ping(content), _) => drop(pongs.try_send(Control::Pong(content))),
                (Piece::Nothing, _) => {}
                (Piece::End, _) => return Ok(()),
            }
            rest = &mut rest[taken..];
        }
    }
}

/// Passes on what the desktop says, until it ends.
async fn down(
    outgoing: &mut (impl AsyncWrite + Unpin),
    mut from: OwnedReadHalf,
    mut answers: mpsc::Receiver<Control>,
) -> io::Result<()> {
    let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut buffer = vec![0; HEAD + CHUNK];
    loop {
        let control = tokio::select! {
            biased;
            read = from.read(&mut buffer[HEAD..]) => {
                let count = read?;
                if count == 0 {
                    return Ok(());
                }
                let begin = head_before(&mut buffer, count);
                outgoing.write_all(&buffer[begin..HEAD + count]).await?;
                continue;
            }
            Some(answer) = answers.recv() => answer,
            _ = pings.tick() => Control::Ping(Vec::new()),
        };
        outgoing.write_all(&control.bytes()).await?;
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
