//! A window on a browser's DevTools.
//!
//! Chromium answers there only to requests that name it as an address of this machine and come from no page, and tells
//! its sockets by its own address. Both are put right on the way, so that any automation client can be given our address
//! in place of the browser's.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::uri::{PathAndQuery, Uri};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use http_body_util::{BodyExt, Limited};
use serde_json::Value;

use crate::credential::is_credential;
use crate::dialect::Failure;
use crate::face::Shared;
use crate::origin::{host, prefix, protocol};
use crate::window::send;

/// The path that stands for the whole of DevTools.
const ROOT: &str = "/cdp";
/// Bytes a list of pages may take; the description of the whole protocol takes 2 MB.
const LIST_BYTES: usize = 32 << 20;

/// Passes a request on to the browser's DevTools.
pub(crate) async fn pass(
    browser: SocketAddr,
    mut request: Request,
    shared: &Arc<Shared>,
) -> Result<Response, Failure> {
    let outside = Outside::of(&request);
    *request.uri_mut() = inner(request.uri());
    let name = HeaderValue::from_str(&browser.to_string());
    let headers = request.headers_mut();
    headers.insert(header::HOST, name.unwrap_or(HeaderValue::from_static("127.0.0.1")));
    headers.remove(header::ORIGIN);
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let asked = request.method().clone();
    let response = send(&atoll_proxy::Address::Tcp(browser), request, shared).await?;
    if asked == Method::HEAD || response.status() != StatusCode::OK {
        return Ok(response);
    }
    tell_our_address(response, browser, &outside).await
}

/// How the caller reaches us.
struct Outside {
    /// Behind `ws` or `wss`: `://host/prefix/cdp`.
    address: String,
    secure: bool,
    /// With the question mark, or empty.
    query: String,
}

impl Outside {
    fn of(request: &Request) -> Self {
        let headers: &HeaderMap = request.headers();
        // What says who is asking: the sockets want to hear it too.
        let pairs = request.uri().query().unwrap_or_default().split('&');
        let query = pairs.filter(|pair| is_credential(pair)).collect::<Vec<_>>().join("&");
        Self {
            address: format!("{}{}{ROOT}", host(headers), prefix(headers)),
            secure: protocol(headers) == "https",
            query: if query.is_empty() { query } else { format!("?{query}") },
        }
    }

    /// A socket's address as the caller can use it, from the browser's own.
    fn socket(&self, own: &str, browser: &str) -> Option<String> {
        let path = own.strip_prefix("ws://")?.strip_prefix(browser)?;
        let scheme = if self.secure { "wss" } else { "ws" };
        Some(format!("{scheme}://{}{path}{}", self.address, self.query))
    }
}

/// The path as the browser knows it.
fn inner(uri: &Uri) -> Uri {
    let path = uri.path();
    let path = match path.strip_prefix(ROOT) {
        Some("") => "/json/version",
        Some(below) if below.starts_with('/') => below,
        _ => path,
    };
    let query = uri.query().unwrap_or_default();
    let kept: Vec<_> =
        query.split('&').filter(|pair| !pair.is_empty() && !is_credential(pair)).collect();
    let mut target = path.to_owned();
    if !kept.is_empty() {
        target.push('?');
        target.push_str(&kept.join("&"));
    }
    PathAndQuery::try_from(target).map_or_else(|_| uri.clone(), Uri::from)
}

async fn tell_our_address(
    response: Response,
    browser: SocketAddr,
    outside: &Outside,
) -> Result<Response, Failure> {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    if !content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/json")) {
        return Ok(response);
    }
    let (mut parts, body) = response.into_parts();
    let broken = |error: String| {
        let message = format!("the browser's answer could not be read: {error}");
        Failure::new(StatusCode::BAD_GATEWAY, "window.broken", message)
    };
    let body = Limited::new(body, LIST_BYTES).collect().await;
    let body = body.map_err(|error| broken(error.to_string()))?.to_bytes();
    let mut value: Value =
        serde_json::from_slice(&body).map_err(|error| broken(error.to_string()))?;
    let changed = rewrite(&mut value, &browser.to_string(), outside);
    let body = if changed { serde_json::to_vec(&value).unwrap_or_default().into() } else { body };
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    Ok(Response::from_parts(parts, Body::from(body)))
}

/// Changes the addresses in a description of a page, or of several.
fn rewrite(value: &mut Value, browser: &str, outside: &Outside) -> bool {
    match value {
        Value::Array(pages) => {
            pages.iter_mut().fold(false, |changed, page| rewrite(page, browser, outside) | changed)
        }
        Value::Object(page) => {
            let mut changed = false;
            if let Some(Value::String(socket)) = page.get_mut("webSocketDebuggerUrl")
                && let Some(ours) = outside.socket(socket, browser)
            {
                *socket = ours;
                changed = true;
            }
            if let Some(Value::String(tools)) = page.get_mut("devtoolsFrontendUrl") {
                let scheme = if outside.secure { "wss" } else { "ws" };
                let ours = format!("{scheme}={}/", outside.address);
                *tools = tools.replace(&format!("ws={browser}/"), &ours);
                changed = true;
            }
            changed
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outside(headers: &[(&str, &str)], uri: &str) -> Outside {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Outside::of(&request.body(Body::empty()).unwrap())
    }

    #[test]
    fn sockets_are_told_as_the_caller_reaches_us() {
        let own = "127.0.0.1:9222";
        for (headers, uri, expected) in [
            (&[("host", "box:8080")][..], "/json/version", "ws://box:8080/cdp/devtools/browser/1"),
            (
                &[
                    ("host", "inner"),
                    ("x-forwarded-host", "box.example"),
                    ("x-forwarded-proto", "https"),
                ],
                "/cdp/json/version",
                "wss://box.example/cdp/devtools/browser/1",
            ),
            (
                &[("host", "box"), ("x-forwarded-prefix", "/sandbox/one/")],
                "/cdp/json/version?ticket=t&other=1&api_key=k",
                "ws://box/sandbox/one/cdp/devtools/browser/1?ticket=t&api_key=k",
            ),
        ] {
            let outside = outside(headers, uri);
            let mut value = json!([{
                "webSocketDebuggerUrl": format!("ws://{own}/devtools/browser/1"),
                "url": "ws://127.0.0.1:9222/of/a/page",
            }]);
            assert!(rewrite(&mut value, own, &outside));
            assert_eq!(value[0]["webSocketDebuggerUrl"], expected);
            assert_eq!(value[0]["url"], "ws://127.0.0.1:9222/of/a/page");
        }
    }

    #[test]
    fn the_browser_is_asked_for_its_own_paths_without_credentials() {
        for (asked, expected) in [
            ("/cdp", "/json/version"),
            ("/cdp/json/version/", "/json/version/"),
            ("/cdp/devtools/page/1?ticket=t", "/devtools/page/1"),
            ("/json/new?about:blank&api_key=k", "/json/new?about:blank"),
            ("/json/new?about:blank&%61pi_key=k&%74icket=t", "/json/new?about:blank"),
            ("/json", "/json"),
            ("/cdpx", "/cdpx"),
        ] {
            assert_eq!(inner(&Uri::from_static(asked)).to_string(), expected);
        }
    }
}
