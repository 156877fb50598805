//! HTTP for clients: tunnels, and requests in plain HTTP passed on.
//!
//! Both sides of a plain request are read and written by the same machinery, which frames each message anew: what a
//! client sends cannot be understood in two ways.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::activity::Watched;
use crate::error::{DialError, Way};
use crate::forward::{self, Origin};
use crate::host::Host;
use crate::listener::Guest;
use crate::mapping::Asked;

/// What is sent either way: somebody's body, or a text of ours.
pub(crate) type Body = Either<Incoming, Full<Bytes>>;

/// Least the machinery works with.
const LEAST_BUFFER: usize = 8 << 10;
/// Says that an answer is the proxy's own and what it is about.
const REASON: &str = "x-egress-error";

/// Serves a client until it goes, nothing moves, or the server stops.
pub(crate) async fn serve(guest: Guest, stream: TcpStream) {
    let limits = guest.egress.limits();
    let origin: Arc<Mutex<Option<Origin>>> = Arc::default();
    let stream = Watched::new(stream, Arc::clone(&guest.activity));
    let serving = guest.clone();
    let service = service_fn(move |request| {
        let (guest, origin) = (serving.clone(), Arc::clone(&origin));
        async move { Ok::<_, Infallible>(answer(&guest, &origin, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head_bytes.max(LEAST_BUFFER))
        .preserve_header_case(true)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::select! {
        // A client that breaks off has nobody left to tell.
        _ended = connection => {}
        () = guest.ended() => {}
    }
}

async fn answer(
    guest: &Guest,
    origin: &Mutex<Option<Origin>>,
    request: Request<Incoming>,
) -> Response<Body> {
    if request.method() == Method::CONNECT {
        return tunnel(guest, request).await;
    }
    let plain =
        request.uri().scheme_str().is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"));
    match request.uri().authority().cloned().filter(|_| plain) {
        Some(authority) => {
            // One request at a time comes over a connection; nobody else waits for this.
            let mut origin = origin.lock().await;
            forward::pass(guest, &mut origin, &authority, request).await
        }
        None => told(
            StatusCode::BAD_REQUEST,
            "request",
            "this is a proxy: ask for http://host/path, or open a tunnel with CONNECT",
        ),
    }
}

async fn tunnel(guest: &Guest, request: Request<Incoming>) -> Response<Body> {
    let Some((host, port)) = request.uri().authority().and_then(|authority| {
        Some((Host::parse(authority.host())?, authority.port_u16().filter(|port| *port > 0)?))
    }) else {
        return told(StatusCode::BAD_REQUEST, "request", "write CONNECT host:port");
    };
    let setup = guest.egress.setup();
    let asked = Asked { host: &host, port, path: None };
    let mut other = match guest.egress.reach(&setup, Way::Connect, asked).await {
        Ok(other) => other,
        Err(error) => return failed(&error),
    };
    guest.activity.touch();
    let guest = guest.clone();
    let tasks = guest.egress.means().tasks.clone();
    tasks.spawn(async move {
        let upgraded = tokio::select! {
            upgraded = hyper::upgrade::on(request) => upgraded,
            () = guest.ended() => return,
        };
        let Some(parts) = upgraded.ok().and_then(|it| it.downcast::<TokioIo<Watched>>().ok())
        else {
            return;
        };
        let client = parts.io.into_inner().stream;
        // A client need not wait for our answer before it begins.
        let begun = tokio::select! {
            begun = other.write_all(&parts.read_buf) => begun,
            () = guest.ended() => return,
        };
        if begun.is_ok() {
            guest.carry(client, other).await;
        }
    });
    Response::new(Either::Right(Full::default()))
}

/// The answer when there is no connection.
pub(crate) fn failed(error: &DialError) -> Response<Body> {
    tracing::debug!(%error, "a client could not be connected");
    let (status, reason) = match error {
        DialError::Host(_) => (StatusCode::BAD_REQUEST, "request"),
        DialError::Refused(_) => (StatusCode::FORBIDDEN, "refused"),
        DialError::Unresolved { .. } => (StatusCode::BAD_GATEWAY, "unresolved"),
        DialError::Unreachable { .. } => (StatusCode::BAD_GATEWAY, "unreachable"),
        DialError::Timeout { .. } => (StatusCode::GATEWAY_TIMEOUT, "timeout"),
        DialError::Upstream { .. } => (StatusCode::BAD_GATEWAY, "upstream"),
        DialError::Credentials { .. } | DialError::Command(_) => {
            (StatusCode::BAD_GATEWAY, "credentials")
        }
    };
    told(status, reason, &error.to_string())
}

/// An answer of our own.
pub(crate) fn told(status: StatusCode, reason: &'static str, text: &str) -> Response<Body> {
    let mut response = Response::new(Either::Right(Full::from(format!("{text}\n"))));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, text);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REASON, HeaderValue::from_static(reason));
    response
}

/// The host and port of a plain request.
pub(crate) fn place(authority: &Authority) -> Result<(Host, u16), DialError> {
    let host = Host::parse(authority.host());
    let host = host.ok_or_else(|| DialError::Host(authority.host().to_owned()))?;
    // `host:` means the usual port.
    Ok((host, authority.port_u16().unwrap_or(80)))
}
