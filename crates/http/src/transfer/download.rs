//! Answers with what a download opened: all of it, the part asked for, or word that it is not needed.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{io, ops::Range};

use atoll_operation::{ByteStream, Content, Context, Source, Spec, Version};
use axum::body::Body;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use futures::stream::StreamExt;

use super::condition::{Subject, Verdict};
use super::{date, disposition, sendfile};
use crate::dialect::{Failure, aio};
use crate::face::Shared;

/// What a browser may do with a file out of the sandbox: show it, but not run it as one of our pages.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'; sandbox";

/// The answer to a request for this content.
pub(crate) fn respond(
    content: Content,
    parts: &Parts,
    spec: &Spec,
    cx: &Context,
    shared: &Arc<Shared>,
) -> Response {
    let length = match &content.source {
        Source::File(file) => Some(file.length),
        Source::Bytes(bytes) => Some(bytes.len() as u64),
        Source::Stream(_) => None,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    // Ranges are defined for GET alone.
    let is_get = parts.method == Method::GET;
    let subject =
        Subject { version: content.version.as_ref(), length: length.filter(|_| is_get), now };
    let mut response = match subject.judge(&parts.headers) {
        Verdict::Whole => whole(content, length, is_get, cx, shared),
        Verdict::Part(range) => part(content, range, length.unwrap_or_default(), cx, shared),
        Verdict::NotModified => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            describe_version(response.headers_mut(), content.version.as_ref());
            response
        }
        Verdict::Failed => {
            let failure = Failure::new(
                StatusCode::PRECONDITION_FAILED,
                "request.precondition",
                "what is there is not the version asked for (If-Match or If-Unmodified-Since); fetch it anew",
            );
            let mut response = aio::failure(&failure, Some(spec));
            describe_version(response.headers_mut(), content.version.as_ref());
            response
        }
        Verdict::Unsatisfiable => {
            let length = length.unwrap_or_default();
            let failure = Failure::new(
                StatusCode::RANGE_NOT_SATISFIABLE,
                "request.range",
                format!(
                    "the range asked for lies outside of what is there, which has {length} bytes"
                ),
            );
            let mut response = aio::failure(&failure, Some(spec));
            insert(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{length}"));
            response
        }
    };
    insert(response.headers_mut(), header::CONTENT_SECURITY_POLICY, POLICY);
    response
}

fn whole(
    content: Content,
    length: Option<u64>,
    with_body: bool,
    cx: &Context,
    shared: &Arc<Shared>,
) -> Response {
    let mut response = described(&content);
    if let Some(length) = length {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    if with_body {
        fill(&mut response, content.source, 0..length.unwrap_or_default(), cx, shared);
    }
    response
}

fn part(
    content: Content,
    range: Range<u64>,
    length: u64,
    cx: &Context,
    shared: &Arc<Shared>,
) -> Response {
    let mut response = described(&content);
    *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
    let bounds = format!("bytes {}-{}/{length}", range.start, range.end - 1);
    insert(headers, header::CONTENT_RANGE, &bounds);
    fill(&mut response, content.source, range, cx, shared);
    response
}

/// An answer with every header but those of its length.
fn described(content: &Content) -> Response {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    insert(headers, header::CONTENT_TYPE, &content.media_type);
    let ranges = if matches!(content.source, Source::Stream(_)) { "none" } else { "bytes" };
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static(ranges));
    let disposition = disposition::header(content.filename.as_deref(), content.inline);
    headers.extend(disposition.map(|value| (header::CONTENT_DISPOSITION, value)));
    describe_version(headers, content.version.as_ref());
    for (name, value) in &content.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            headers.append(name, value);
        }
    }
    response
}

fn describe_version(headers: &mut HeaderMap, version: Option<&Version>) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let Some(version) = version else { return };
    insert(headers, header::ETAG, &format!("\"{}\"", version.tag));
    if let Some(date) = version.modified.and_then(date::format) {
        insert(headers, header::LAST_MODIFIED, &date);
    }
}

/// A service's text that cannot stand in a header is left out of it.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn fill(
    response: &mut Response,
    source: Source,
    range: Range<u64>,
    cx: &Context,
    shared: &Arc<Shared>,
) {
    match source {
        Source::File(file) => sendfile::put(response, file, range),
        Source::Bytes(bytes) => {
            let at = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
            *response.body_mut() = Body::from(bytes.slice(at(range.start)..at(range.end)));
        }
        Source::Stream(stream) => {
            *response.body_mut() = Body::from_stream(guarded(stream, cx.clone(), shared));
        }
    }
}

/// A stream whose panic is counted and breaks the answer off, as its errors do.
fn guarded(stream: ByteStream, cx: Context, shared: &Arc<Shared>) -> ByteStream {
    let shared = Arc::clone(shared);
    let guarded = AssertUnwindSafe(stream).catch_unwind().map(move |item| {
        item.unwrap_or_else(|panic| {
            shared.panicked(panic.as_ref(), cx.request_id());
            Err(io::Error::other("the server failed while it sent this"))
        })
    });
    guarded.boxed()
}
