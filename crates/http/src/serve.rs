//! Accepts connections until told to stop, then ends in bounded time.
//!
//! Stopping takes three steps: nothing new is accepted and streams end at once; requests under way get the grace period
//! of the limits; what is left is dropped. Every connection and WebSocket is a tracked task, so that the return of
//! [`serve`] means that nothing of it runs any more.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use atoll_auth::Policy;
use atoll_operation::Registry;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONNECTION, HeaderValue};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::Resource;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::face::{Face, Shared};
use crate::guard::Guard;
use crate::listen::{Accepted, Listener};
use crate::metrics::Metrics;
use crate::passage::Peer;
use crate::settings::Settings;
use crate::transfer::sendfile::take_up;
use crate::transfer::siphon::Tap;
use crate::transfer::wire::{Outgoing, Socket, Wire};

/// How long a client may take over the head of a request, the wait for the next one included.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;
/// Open files that are left for everything but connections.
const SPARE_FILES: u64 = 512;
/// Told to whoever finds no room.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n\
    Content-Length: 28\r\nContent-Type: text/plain\r\n\r\ntoo many connections are open";
/// Pause after a failed accept: out of file descriptors, which only time cures.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long dropped tasks may take to notice.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Serves these operations until `stop` is cancelled.
pub async fn serve(
    registry: Registry,
    settings: Settings,
    stop: CancellationToken,
) -> io::Result<()> {
    let listener = Listener::bind(&settings.listen).await?;
    let address = listener.address()?;
    let locked = settings.authenticator.policy() == Policy::Required;
    let guard = Guard::new(&address, &settings.allowed_hosts, &settings.allowed_origins, locked);
    let metrics = Metrics::new(settings.version, settings.gauges);
    let room = Arc::new(Semaphore::new(most_connections(settings.limits.connections)));
    let shared = Shared::new(settings.limits, metrics, stop)
        .guarded_by(settings.authenticator, settings.audit)
        .shown_by(&settings.allowed_origins);
    let shared = Arc::new(shared);
    let face = Face::new(registry, guard, settings.version, settings.mounts, Arc::clone(&shared));
    tracing::info!(%address, "listening");
    if let Some(ready) = settings.ready {
        // Whoever asked may have lost interest.
        drop(ready.send(address));
    }
    accept(listener, &room, &Arc::new(face), &shared).await;
    finish(&shared).await;
    Ok(())
}

/// How many connections fit: as many as configured, but so that files and programs can still be opened.
fn most_connections(configured: u64) -> usize {
    let files = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = configured.min(files.saturating_sub(SPARE_FILES).max(files / 2)).max(1);
    usize::try_from(most).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)
}

async fn accept(listener: Listener, room: &Arc<Semaphore>, face: &Arc<Face>, shared: &Arc<Shared>) {
    let mut crowded = false;
    loop {
        let accepted = tokio::select! {
            () = shared.stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let (face, shared) = (Arc::clone(face), Arc::clone(shared));
        let tracker = shared.tracker.clone();
        let place = Arc::clone(room).try_acquire_owned().ok();
        if place.is_none() != crowded {
            crowded = place.is_none();
            let most = shared.limits.connections;
            tracing::warn!(crowded, most, "the number of connections reached or left its limit");
        }
        match (accepted, place) {
            (Ok(Accepted::Tcp(io, peer)), Some(place)) => {
                tracker.spawn(connection(io, Some(peer), place, face, shared));
            }
            (Ok(Accepted::Unix(io)), Some(place)) => {
                tracker.spawn(connection(io, None, place, face, shared));
            }
            // What fits into the socket's buffer arrives; nobody waits for it.
            (Ok(Accepted::Tcp(io, _)), None) => drop(io.try_write(FULL)),
            (Ok(Accepted::Unix(io)), None) => drop(io.try_write(FULL)),
            (Err(error), _) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn finish(shared: &Shared) {
    shared.tracker.close();
    let grace = Duration::from_secs(shared.limits.stop_grace_seconds);
    if timeout(grace, shared.tracker.wait()).await.is_ok() {
        return;
    }
    tracing::warn!(left = shared.tracker.len(), "dropping what did not end in time");
    shared.kill.cancel();
    if timeout(LAST_WAIT, shared.tracker.wait()).await.is_err() {
        tracing::error!(left = shared.tracker.len(), "some connections would not end");
    }
}

/// Waits for the first byte: a client that never says anything costs no buffers.
async fn speaks(socket: &impl Socket, shared: &Shared) -> bool {
    let readable = poll_fn(|cx| socket.poll_readable(cx));
    tokio::select! {
        biased;
        ready = timeout(HEAD_PATIENCE, readable) => matches!(ready, Ok(Ok(()))),
        () = shared.stop.cancelled() => false,
    }
}

async fn connection(
    socket: impl Socket,
    peer: Option<IpAddr>,
    place: OwnedSemaphorePermit,
    face: Arc<Face>,
    shared: Arc<Shared>,
) {
    if speaks(&socket, &shared).await {
        // Apart, so that a client that has said nothing yet does not cost what this needs.
        Box::pin(converse(socket, peer, place, face, shared)).await;
    }
}

async fn converse(
    socket: impl Socket,
    peer: Option<IpAddr>,
    place: OwnedSemaphorePermit,
    face: Arc<Face>,
    shared: Arc<Shared>,
) {
    let (outgoing, tap) = (Outgoing::default(), Tap::default());
    let wire = Wire::new(socket, outgoing.clone()).tapped(tap.clone()).holding(place);
    let service = service_fn(move |request: Request<Incoming>| {
        let (face, outgoing, tap) = (Arc::clone(&face), outgoing.clone(), tap.clone());
        async move {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(Peer(peer));
            request.extensions_mut().insert(tap.clone());
            let mut response = face.answer(request).await;
            if tap.is_open() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(take_up(response, &outgoing))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_header_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(wire), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shared.stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection => ended,
                () = shared.kill.cancelled() => Ok(()),
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}
