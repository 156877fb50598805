//! A stream of events as `text/event-stream`.
//!
//! Events that are ready together go out in one write. A silent stream is kept alive with comments, and every stream
//! ends when the server stops: a client resumes elsewhere with the last id it saw.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use atoll_operation::{Context, Event, Stream};
use axum::body::Body;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use futures::FutureExt;
use futures::stream::{self, BoxStream, StreamExt};
use serde_json::json;
use tokio::time::timeout;

use crate::face::Shared;

pub(crate) const EVENT_STREAM: &str = "text/event-stream";
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Events written together at most.
const BATCH: usize = 64;

/// Whether the caller wants a stream.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter();
    accepted.any(|value| value.to_str().is_ok_and(|value| value.contains(EVENT_STREAM)))
}

/// How an event is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Its name and id in lines of their own.
    Named,
    /// Its name within its data, for clients that read nothing else.
    Enclosed,
}

/// Answers with a stream.
pub(crate) fn respond(
    events: Stream,
    framing: Framing,
    cx: &Context,
    shared: &Arc<Shared>,
) -> Response {
    let frames = Frames {
        framing,
        events: events.ready_chunks(BATCH).boxed(),
        cx: cx.clone(),
        shared: Arc::clone(shared),
    };
    let body = stream::unfold(Some(frames), async |frames| frames?.next().await);
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, EVENT_STREAM),
        (header::CACHE_CONTROL, "no-cache"),
        // Tells nginx not to hold events back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

struct Frames {
    framing: Framing,
    events: BoxStream<'static, Vec<Event>>,
    cx: Context,
    shared: Arc<Shared>,
}

type Frame = (Result<Bytes, Infallible>, Option<Frames>);

impl Frames {
    async fn next(mut self) -> Option<Frame> {
        let stop = self.shared.stop.clone();
        let next = AssertUnwindSafe(timeout(KEEP_ALIVE, self.events.next())).catch_unwind();
        let next = tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            next = next => next,
        };
        match next {
            Ok(Ok(None)) => None,
            Ok(Ok(Some(events))) => Some((Ok(encode(&events, self.framing)), Some(self))),
            Ok(Err(_)) => Some((Ok(Bytes::from_static(b": keep-alive\n\n")), Some(self))),
            Err(panic) => {
                self.shared.panicked(panic.as_ref(), self.cx.request_id());
                let data = json!({"message": "the server failed in this stream"});
                let last = Event { name: "error", id: None, data };
                Some((Ok(encode(&[last], self.framing)), None))
            }
        }
    }
}

fn encode(events: &[Event], framing: Framing) -> Bytes {
    let mut frame = Vec::new();
    for event in events {
        if framing == Framing::Enclosed {
            let enclosed = json!({"event": event.name, "data": event.data});
            frame.extend_from_slice(format!("data: {enclosed}\n\n").as_bytes());
            continue;
        }
        frame.extend_from_slice(b"event: ");
        frame.extend_from_slice(event.name.as_bytes());
        if let Some(id) = &event.id {
            frame.extend_from_slice(b"\nid: ");
            frame.extend(id.bytes().filter(|byte| !b"\r\n\0".contains(byte)));
        }
        frame.extend_from_slice(b"\ndata: ");
        // JSON text holds no line break, so one data line is enough. A JSON value always serialises.
        serde_json::to_writer(&mut frame, &event.data).unwrap_or_default();
        frame.extend_from_slice(b"\n\n");
    }
    Bytes::from(frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use tokio_util::sync::CancellationToken;

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_is_kept_alive_until_the_server_stops() {
        let metrics = Metrics::new("1", Vec::new());
        let shared = Arc::new(Shared::new(Arc::default(), metrics, CancellationToken::new()));
        let response =
            respond(stream::pending().boxed(), Framing::Named, &Context::default(), &shared);
        let mut body = response.into_body().into_data_stream();
        for _ in 0..3 {
            assert_eq!(body.next().await.unwrap().unwrap(), ": keep-alive\n\n");
        }
        shared.stop.cancel();
        assert!(body.next().await.is_none());
    }

    #[test]
    fn an_event_is_one_block_and_an_id_cannot_break_out_of_it() {
        let events = [
            Event { name: "output", id: Some("1\n2".to_owned()), data: json!({"data": "a\nb"}) },
            Event { name: "completed", id: None, data: json!(null) },
        ];
        assert_eq!(
            encode(&events, Framing::Named),
            "event: output\nid: 12\ndata: {\"data\":\"a\\nb\"}\n\nevent: completed\ndata: null\n\n"
        );
        assert_eq!(
            encode(&events[..1], Framing::Enclosed),
            "data: {\"event\":\"output\",\"data\":{\"data\":\"a\\nb\"}}\n\n"
        );
    }
}
