//! Files that are part of the program: pages, scripts and styles, embedded by this crate's build script.
//!
//! What the web build has left in `web/dist` is embedded as it is, with the compressed form beside it where there is
//! one. A file whose name holds a hash of its content never changes and is kept by browsers for good; the others are
//! asked for again, and answered with 304 while they are the same.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use bytes::Bytes;

pub(crate) const HTML: &str = "text/html; charset=utf-8";
pub(crate) const SCRIPT: &str = "text/javascript; charset=utf-8";
pub(crate) const STYLE: &str = "text/css; charset=utf-8";

/// Where files lie whose names hold their hash.
const HASHED: &str = "/ui/";

/// A file and where it is served.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) content: &'static [u8],
    /// The same, compressed.
    pub(crate) gzip: Option<&'static [u8]>,
}

impl File {
    pub(crate) const fn new(
        path: &'static str,
        content_type: &'static str,
        content: &'static [u8],
    ) -> Self {
        Self { path, content_type, content, gzip: None }
    }
}

// Defines the lists of files that were there at build time: `SWAGGER`, `NOVNC`, `APP` and `XTERM`.
include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Scripts of old terminals that pages of others load from here. They are published code, so anybody may have them.
pub(crate) fn is_public(method: &Method, path: &str) -> bool {
    let asked = matches!(*method, Method::GET | Method::HEAD);
    asked && XTERM.iter().any(|file| file.path == path)
}

/// What the answer to such a request says to the browser of another page.
pub(crate) fn for_anybody() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
    headers
}

/// Answers with a file.
pub(crate) fn serve(file: &'static File) -> impl Fn(&Request) -> Response + Clone + Send + Sync {
    let form = |bytes| cached(file.content_type, move || Bytes::from_static(bytes));
    let (plain, small) = (form(file.content), file.gzip.map(form));
    let hashed = file.path.starts_with(HASHED);
    move |request| {
        let small = small.as_ref().filter(|_| takes_gzip(request.headers()));
        let mut response = small.unwrap_or(&plain)(request);
        let headers = response.headers_mut();
        if small.is_some() {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if file.gzip.is_some() {
            headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        }
        if hashed {
            let forever = HeaderValue::from_static("private, max-age=31536000, immutable");
            headers.insert(header::CACHE_CONTROL, forever);
        }
        response
    }
}

/// A page that never changes while the server runs: a client that has it is told so. It is made, and looked at, when
/// somebody asks for it first: a server that nobody visits starts sooner and stays smaller.
pub(crate) fn cached(
    content_type: &'static str,
    content: impl FnOnce() -> Bytes + Send + 'static,
) -> impl Fn(&Request) -> Response + Clone + Send + Sync + 'static {
    let made = Arc::new(LazyLock::new(|| {
        let content = content();
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        (format!("\"{:016x}\"", hasher.finish()), content)
    }));
    move |request| {
        let (tag, content) = &**made;
        let known = request.headers().get_all(header::IF_NONE_MATCH).iter();
        let mut known = known.filter_map(|tags| tags.to_str().ok());
        let mut response = if known.any(|known| known.contains(tag)) {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            page(content_type, content.clone())
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if let Ok(tag) = HeaderValue::from_str(tag) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}

/// An answer of this type.
pub(crate) fn page(content_type: &'static str, content: impl Into<Body>) -> Response {
    let mut response = Response::new(content.into());
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

/// Whether the client reads gzip: named, and not with a weight of nothing.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT_ENCODING).iter();
    lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let refused = parts.any(|part| {
            part.strip_prefix("q=").is_some_and(|weight| weight.parse() == Ok(0.0_f32))
        });
        named && !refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: &'static str, value: &str) -> Request {
        Request::builder().header(name, value).body(Body::empty()).unwrap()
    }

    static FILE: File =
        File { path: "/ui/x-1.js", content_type: SCRIPT, content: b"plain", gzip: Some(b"small") };

    #[test]
    fn a_compressed_form_goes_to_those_who_read_it() {
        for (accepted, small) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("br", false),
            ("xgzip", false),
        ] {
            let response = serve(&FILE)(&request("accept-encoding", accepted));
            let encoded = response.headers().get(header::CONTENT_ENCODING);
            assert_eq!(encoded.is_some(), small, "{accepted}");
            assert_eq!(response.headers()[header::VARY], "accept-encoding");
        }
    }

    #[test]
    fn a_hashed_file_is_kept_for_good_and_known_ones_are_not_sent_again() {
        let first = serve(&FILE)(&request("accept", "*/*"));
        assert!(first.headers()[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
        let tag = first.headers()[header::ETAG].to_str().unwrap().to_owned();
        let again = serve(&FILE)(&request("if-none-match", &tag));
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    }
}
