//! One request on its way to an app and back.

use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use atoll_proxy::{Address, ProxyError};
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::uri::{PathAndQuery, Uri};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::time::timeout;

use super::absent::{Absence, Asker};
use super::named::PORT;
use super::rewrite::Mapping;
use crate::credential;
use crate::face::Shared;
use crate::origin::{host, prefix, protocol};
use crate::passage::Passage;
use crate::window::forward;

/// How long an app may take over an answer, counted from the last byte it was sent.
const ANSWER_PATIENCE: Duration = Duration::from_mins(5);

/// In the extensions of a request with which a browser opens a page, the credential in its address: the page must not
/// see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visiting;

/// The app a request is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct App<'a> {
    pub(crate) port: u16,
    /// The path above it.
    pub(crate) base: &'a str,
    /// Whether that is taken off.
    pub(crate) strip: bool,
}

/// Passes a request on to an app, and answers as it does. Credentials were taken off, but for the place in the address
/// where the browser shows one: such a request is sent round to the same address without.
pub(crate) async fn pass(app: App<'_>, request: Request, shared: &Arc<Shared>) -> Response {
    let (mut parts, body) = request.into_parts();
    if parts.extensions.remove::<Visiting>().is_some() {
        return lead_on(StatusCode::SEE_OTHER, &parts.uri, "");
    }
    let followed = matches!(parts.method, Method::GET | Method::HEAD);
    if app.strip && followed && parts.uri.path() == app.base {
        // Relative addresses in its page would miss the place otherwise.
        return lead_on(StatusCode::PERMANENT_REDIRECT, &parts.uri, "/");
    }
    let asker = Asker::of(&parts.method, &parts.headers);
    let asked = parts.uri.path().to_owned();
    let outside = host(&parts.headers).to_owned();
    let above = prefix(&parts.headers).to_owned();
    let strip = app.strip && !shared.knowing.contains(app.port);
    let outer = if strip { format!("{above}{}", app.base) } else { above };
    let told = introduce(&app, &mut parts, &outside, &outer);
    if strip {
        parts.uri = below(&parts.uri, app.base);
    }
    let mapping = Mapping { outer: &outer, names: [&outside, &told], port: app.port };
    match send(app.port, Request::from_parts(parts, body), shared).await {
        Ok(mut response) => {
            let status = response.status();
            if strip && followed && mapping.leads_to(response.headers(), &asked) {
                shared.knowing.insert(app.port);
            } else if app.strip
                && !strip
                && status == StatusCode::NOT_FOUND
                && is_first(&app, &asked)
            {
                shared.knowing.remove(app.port);
            }
            mapping.apply(response.headers_mut());
            response
        }
        Err(absence) => {
            shared.knowing.remove(app.port);
            absence.answer(app.port, asker)
        }
    }
}

/// Whether a path is that of an app's first page.
fn is_first(app: &App<'_>, path: &str) -> bool {
    path.strip_prefix(app.base) == Some("/")
}

async fn send(port: u16, request: Request, shared: &Arc<Shared>) -> Result<Response, Absence> {
    let address = Address::Port(port);
    let told = |error: ProxyError| {
        tracing::debug!(%error, cause = ?std::error::Error::source(&error), "an app stayed silent");
        Absence::from(&error)
    };
    if request.body().is_end_stream() {
        let answer = timeout(ANSWER_PATIENCE, forward(&address, request, shared)).await;
        return answer.map_err(|_| Absence::Slow)?.map_err(told);
    }
    let moved = Arc::new(AtomicBool::new(false));
    let request = request.map(|body| Body::new(Moving { body, moved: Arc::clone(&moved) }));
    let mut answer = std::pin::pin!(forward(&address, request, shared));
    loop {
        match timeout(ANSWER_PATIENCE, answer.as_mut()).await {
            Ok(answer) => return answer.map_err(told),
            Err(_) if moved.swap(false, Ordering::Relaxed) => {}
            Err(_) => return Err(Absence::Slow),
        }
    }
}

/// A body that says that it moves.
struct Moving {
    body: Body,
    moved: Arc<AtomicBool>,
}

impl HttpBody for Moving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let frame = Pin::new(&mut this.body).poll_frame(cx);
        if frame.is_ready() {
            this.moved.store(true, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Tells the app how the caller reached it; the `Host` it is told.
fn introduce(app: &App<'_>, parts: &mut Parts, outside: &str, outer: &str) -> String {
    static FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
    let peer = Passage::of(&parts.extensions).peer();
    let headers = &mut parts.headers;
    headers.remove(&PORT);
    hide_credentials_in_referer(headers);
    // Servers for development refuse names they do not know: they are told one that all of them do.
    let told =
        if is_local(outside) { outside.to_owned() } else { format!("localhost:{}", app.port) };
    let before = headers.get(&FORWARDED_FOR).and_then(|value| value.to_str().ok());
    let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let addresses = before.map_or(peer.to_string(), |before| format!("{before}, {peer}"));
    let proto = protocol(headers);
    let facts = [
        (header::HOST, told.as_str()),
        (FORWARDED_FOR.clone(), &addresses),
        (HeaderName::from_static("x-forwarded-host"), outside),
        (HeaderName::from_static("x-forwarded-proto"), proto),
        (HeaderName::from_static("x-forwarded-prefix"), outer),
    ];
    for (name, value) in facts {
        match HeaderValue::from_str(value) {
            Ok(value) if !value.is_empty() => headers.insert(name, value),
            _ => headers.remove(name),
        };
    }
    told
}

/// Whether servers for development accept a host by themselves: this machine's names, and addresses.
fn is_local(host: &str) -> bool {
    let name = host.strip_prefix('[').and_then(|rest| rest.split(']').next());
    let name = name.unwrap_or_else(|| host.split(':').next().unwrap_or_default());
    let lower = name.to_ascii_lowercase();
    lower == "localhost" || lower.ends_with(".localhost") || lower.parse::<IpAddr>().is_ok()
}

/// A page that was opened with a credential in its address names that address when it loads its files.
fn hide_credentials_in_referer(headers: &mut HeaderMap) {
    let Some(referer) = headers.get(header::REFERER) else { return };
    let Some((page, query)) = referer.to_str().ok().and_then(|text| text.split_once('?')) else {
        return;
    };
    if query.split('&').any(credential::is_credential) {
        match HeaderValue::from_str(page) {
            Ok(page) => headers.insert(header::REFERER, page),
            Err(_) => headers.remove(header::REFERER),
        };
    }
}

/// The target without the path above the app.
pub(crate) fn below(uri: &Uri, base: &str) -> Uri {
    let target = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let rest = target.strip_prefix(base).unwrap_or(target);
    let rest = match rest {
        rest if rest.starts_with('/') => rest.to_owned(),
        rest => format!("/{rest}"),
    };
    // The end of a target that was one is one again.
    rest.parse::<PathAndQuery>().map_or_else(|_| uri.clone(), Uri::from)
}

/// Leads to the same address with something behind its path, in a form that holds below any prefix.
pub(crate) fn lead_on(status: StatusCode, uri: &Uri, behind: &str) -> Response {
    let last = uri.path().rsplit('/').next().unwrap_or_default();
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if let Ok(to) = HeaderValue::from_str(&format!("./{last}{behind}{query}")) {
        headers.insert(header::LOCATION, to);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_above_an_app_is_taken_off() {
        for (target, left) in [
            ("/proxy/80", "/"),
            ("/proxy/80/", "/"),
            ("/proxy/80?a=1", "/?a=1"),
            ("/proxy/80/a%20b//c?d=/proxy/80/", "/a%20b//c?d=/proxy/80/"),
            ("/proxy/80//elsewhere/", "//elsewhere/"),
        ] {
            let left_over = below(&target.parse().unwrap(), "/proxy/80");
            assert_eq!(left_over.path_and_query().unwrap().as_str(), left);
        }
    }

    #[test]
    fn a_redirect_holds_below_any_prefix() {
        for (target, behind, to) in [
            ("/proxy/80", "/", "./80/"),
            ("/proxy/80?a=b", "/", "./80/?a=b"),
            ("/proxy/80/", "", "./"),
            ("/proxy/80/a:b?c", "", "./a:b?c"),
        ] {
            let response = lead_on(StatusCode::SEE_OTHER, &target.parse().unwrap(), behind);
            assert_eq!(response.headers()[header::LOCATION], to);
        }
    }

    #[test]
    fn names_that_servers_for_development_know_are_told_as_they_are() {
        for host in
            ["localhost", "localhost:8080", "a.localhost:1", "127.0.0.1:80", "[::1]:80", "10.0.0.1"]
        {
            assert!(is_local(host), "{host}");
        }
        for host in ["5173-localhost:8080", "box.example", "localhost.example", "5173-127.0.0.1"] {
            assert!(!is_local(host), "{host}");
        }
    }

    #[test]
    fn a_page_does_not_tell_the_credential_it_was_opened_with() {
        for (referer, left) in [
            ("http://h/proxy/1/?ticket=s3cret", "http://h/proxy/1/"),
            ("http://h/?a=1&api%5Fkey=s3cret", "http://h/"),
            ("http://h/?a=1", "http://h/?a=1"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::REFERER, HeaderValue::from_static(referer));
            hide_credentials_in_referer(&mut headers);
            assert_eq!(headers[header::REFERER], left);
        }
    }
}
