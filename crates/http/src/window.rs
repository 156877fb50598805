//! A window on another server: requests below a path pass through to it, WebSockets included.
//!
//! The other server knows the path as its own, but not what a proxy in front of us took off: where `X-Forwarded-Prefix`
//! names that, it is put back into redirects, cookies and pages, so that a browser's next request finds the way.

use std::path::PathBuf;
use std::sync::Arc;

use atoll_auth::Policy;
use atoll_operation::Upstream;
use atoll_proxy::{Address, Forwarded, ProxyError};
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use http_body_util::{BodyExt, Limited};

use crate::credential;
use crate::devtools;
use crate::dialect::Failure;
use crate::face::Shared;
use crate::origin::{host, prefix, protocol};
use crate::preview::{self, App};
use crate::viewer;

/// Bytes of a page that is changed on its way; a larger one passes as it is.
const PAGE_BYTES: usize = 4 << 20;

/// Passes a request on and answers as the other server does. `base` is the path it knows as its own.
pub(crate) async fn pass(
    upstream: Upstream,
    base: &str,
    mut request: Request,
    shared: &Arc<Shared>,
) -> Result<Response, Failure> {
    if shared.authenticator.policy() != Policy::Open {
        let (mut parts, body) = request.into_parts();
        // A browser's sockets are told with the credential in the address; it is taken off there.
        let mut kept = parts.uri.clone();
        let uri = match upstream {
            Upstream::DevTools(_) => &mut kept,
            _ => &mut parts.uri,
        };
        credential::take_off(&mut parts.headers, uri);
        request = Request::from_parts(parts, body);
    }
    let address = match upstream {
        Upstream::Unix(path) => Address::Unix(path),
        Upstream::Tcp(address) => Address::Tcp(address),
        Upstream::DevTools(browser) => return devtools::pass(browser, request, shared).await,
        Upstream::Rfb(socket) => return viewer::welcome(socket, request, shared).await,
        Upstream::App { port, strip } => {
            return Ok(preview::pass(App { port, base, strip }, request, shared).await);
        }
        Upstream::Below(socket) => return below(socket, base, request, shared).await,
    };
    let prefix = prefix(request.headers()).to_owned();
    introduce(request.headers_mut(), !prefix.is_empty());
    let mut response = send(&address, request, shared).await?;
    if !prefix.is_empty() {
        put_back(response.headers_mut(), &prefix, base);
        response = put_back_in_page(response, &prefix, base).await?;
    }
    Ok(response)
}

/// Passes a request on to a server that knows nothing of the path above it, and whose addresses are all relative.
async fn below(
    socket: PathBuf,
    base: &str,
    mut request: Request,
    shared: &Arc<Shared>,
) -> Result<Response, Failure> {
    let followed = matches!(*request.method(), Method::GET | Method::HEAD);
    if followed && request.uri().path() == base {
        return Ok(preview::lead_on(StatusCode::TEMPORARY_REDIRECT, request.uri(), "/"));
    }
    let outer = format!("{}{base}", prefix(request.headers()));
    introduce(request.headers_mut(), false);
    if let Ok(outer) = HeaderValue::from_str(&outer) {
        request.headers_mut().insert("x-forwarded-prefix", outer);
    }
    *request.uri_mut() = preview::below(request.uri(), base);
    send(&Address::Unix(socket), request, shared).await
}

/// Passes a request on as it is, and words the failure.
pub(crate) async fn send(
    address: &Address,
    request: Request,
    shared: &Arc<Shared>,
) -> Result<Response, Failure> {
    forward(address, request, shared).await.map_err(|error| unanswered(&error))
}

/// Passes a request on as it is. Sockets it opens live until one side, or the server, ends.
pub(crate) async fn forward(
    address: &Address,
    request: Request,
    shared: &Arc<Shared>,
) -> Result<Response, ProxyError> {
    let Forwarded { response, switch } = shared.proxy.forward(address, request).await?;
    if let Some(switch) = switch {
        let (stop, counted) = (shared.stop.clone(), shared.metrics.websocket());
        shared.tracker.spawn(async move {
            tokio::select! {
                () = switch.run() => {}
                () = stop.cancelled() => {}
            }
            drop(counted);
        });
    }
    Ok(response.map(Body::new))
}

/// Tells the other server how the caller reached us, and asks for plain pages where they must be changed.
fn introduce(headers: &mut HeaderMap, plain: bool) {
    // The server behind compares `Origin` with `Host`, so it must be told the one the browser knows.
    let reached = [
        ("host", host(headers)),
        ("x-forwarded-host", host(headers)),
        ("x-forwarded-proto", protocol(headers)),
    ];
    let reached = reached.map(|(name, value)| (name, HeaderValue::from_str(value)));
    for (name, value) in reached {
        if let Ok(value) = value {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    if plain {
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
}

fn unanswered(error: &ProxyError) -> Failure {
    tracing::warn!(%error, cause = ?std::error::Error::source(error), "a window stayed dark");
    let (status, code) = match error {
        ProxyError::Unreachable { .. } => (StatusCode::SERVICE_UNAVAILABLE, "window.unreachable"),
        ProxyError::Broken { .. } => (StatusCode::BAD_GATEWAY, "window.broken"),
    };
    Failure::new(status, code, "the program behind this page does not answer; load it again")
}

fn put_back(headers: &mut HeaderMap, prefix: &str, base: &str) {
    let location = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
    if let Some(location) = location.filter(|location| location.starts_with(base))
        && let Ok(location) = HeaderValue::from_str(&format!("{prefix}{location}"))
    {
        headers.insert(header::LOCATION, location);
    }
    let wrong = format!("path={base}");
    let cookies: Vec<_> = headers.get_all(header::SET_COOKIE).iter().cloned().collect();
    headers.remove(header::SET_COOKIE);
    for cookie in cookies {
        let text = cookie.to_str().unwrap_or_default();
        let changed = text.to_ascii_lowercase().find(&wrong).and_then(|at| {
            let at = at + "path=".len();
            HeaderValue::from_str(&format!("{}{prefix}{}", text.get(..at)?, text.get(at..)?)).ok()
        });
        headers.append(header::SET_COOKIE, changed.unwrap_or(cookie));
    }
}

async fn put_back_in_page(
    response: Response,
    prefix: &str,
    base: &str,
) -> Result<Response, Failure> {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let is_page = content_type.is_some_and(|value| value.as_bytes().starts_with(b"text/html"));
    if !is_page || response.headers().contains_key(header::CONTENT_ENCODING) {
        return Ok(response);
    }
    let (mut parts, body) = response.into_parts();
    let page = Limited::new(body, PAGE_BYTES).collect().await.map_err(|error| {
        Failure::new(
            StatusCode::BAD_GATEWAY,
            "window.broken",
            format!("the page could not be read: {error}"),
        )
    })?;
    let page = String::from_utf8_lossy(&page.to_bytes()).into_owned();
    let page = ['"', '\''].into_iter().fold(page, |page, quote| {
        page.replace(&format!("{quote}{base}"), &format!("{quote}{prefix}{base}"))
    });
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(page.len()));
    // What it said of the bytes is no longer true of them.
    parts.headers.remove(header::ETAG);
    Ok(Response::from_parts(parts, Body::from(page)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_and_cookies_find_the_way_back() {
        let mut headers = HeaderMap::new();
        headers.insert(header::LOCATION, HeaderValue::from_static("/lab/tree"));
        for cookie in ["a=1; Path=/lab/; HttpOnly", "b=2; Path=/", "c=3"] {
            headers.append(header::SET_COOKIE, HeaderValue::from_static(cookie));
        }
        put_back(&mut headers, "/box", "/lab");
        assert_eq!(headers[header::LOCATION], "/box/lab/tree");
        let cookies: Vec<_> = headers.get_all(header::SET_COOKIE).iter().collect();
        assert_eq!(cookies, ["a=1; Path=/box/lab/; HttpOnly", "b=2; Path=/", "c=3"]);
        headers.insert(header::LOCATION, HeaderValue::from_static("https://elsewhere/lab"));
        put_back(&mut headers, "/box", "/lab");
        assert_eq!(headers[header::LOCATION], "https://elsewhere/lab");
    }

    #[tokio::test]
    async fn pages_ask_for_their_files_below_the_prefix() {
        let page = |content_type: &'static str| {
            let body = r#"<a href="/lab/x">"/lab"</a> '/lab/y' "/other" /lab"#;
            let mut response = Response::new(Body::from(body));
            let content_type = HeaderValue::from_static(content_type);
            response.headers_mut().insert(header::CONTENT_TYPE, content_type);
            response
        };
        let changed = put_back_in_page(page("text/html; charset=UTF-8"), "/box", "/lab").await;
        let changed = changed.unwrap().into_body().collect().await.unwrap().to_bytes();
        let expected = r#"<a href="/box/lab/x">"/box/lab"</a> '/box/lab/y' "/other" /lab"#;
        assert_eq!(changed, expected);
        let kept = put_back_in_page(page("text/css"), "/box", "/lab").await.unwrap();
        let kept = kept.into_body().collect().await.unwrap().to_bytes();
        assert!(kept.starts_with(br#"<a href="/lab/x">"#));
    }
}
