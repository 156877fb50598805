//! The body of a request as it arrives: who waits for it, for how long, and what becomes of the part nobody wants.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout};

use crate::dialect::Failure;

/// How long a client may stay silent in the middle of a body.
const BODY_PATIENCE: Duration = Duration::from_secs(30);
/// How long a body may take as a whole, and how many bytes buy it another second: a sender that dribbles is given up.
const WHOLE_PATIENCE: Duration = Duration::from_mins(2);
const BYTES_PER_SECOND: u64 = 1024;
/// How much of a refused body is read on, and for how long.
const DRAIN_BYTES: usize = 64 << 20;
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

/// A body that is being sent.
pub(crate) struct Arrival {
    body: Body,
    /// The client sends nothing until somebody asks for it.
    asleep: bool,
    /// Nothing more will come.
    over: bool,
    /// When the first bytes were asked for.
    started: Option<Instant>,
    received: u64,
}

impl Arrival {
    pub(crate) fn new(headers: &HeaderMap, body: Body) -> Self {
        let over = body.is_end_stream();
        let asleep = headers.contains_key(header::EXPECT);
        Self { body, asleep, over, started: None, received: 0 }
    }

    /// Its length, where the client has said so; at least none.
    pub(crate) fn announced(&self) -> u64 {
        self.body.size_hint().lower()
    }

    /// Whether there is no body at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.over || self.body.size_hint().exact() == Some(0)
    }

    /// The next bytes; none at its end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        self.asleep = false;
        while !self.over {
            let Ok(frame) = timeout(self.patience(), self.body.frame()).await else {
                self.over = true;
                return Err(Failure::new(
                    StatusCode::REQUEST_TIMEOUT,
                    "request.slow",
                    "the body stopped arriving; send it without pauses",
                ));
            };
            let Some(frame) = frame else {
                self.over = true;
                break;
            };
            let frame = frame.map_err(|error| {
                self.over = true;
                Failure::new(
                    StatusCode::BAD_REQUEST,
                    "request.body",
                    format!("the body could not be read: {error}"),
                )
            })?;
            if let Ok(data) = frame.into_data()
                && !data.is_empty()
            {
                self.received += data.len() as u64;
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// How long the next bytes may take. Only the client's time counts: it cannot send faster than we read.
    fn patience(&mut self) -> Duration {
        let spent = self.started.get_or_insert_with(Instant::now).elapsed();
        let earned = Duration::from_secs(self.received / BYTES_PER_SECOND);
        BODY_PATIENCE.min((WHOLE_PATIENCE + earned).saturating_sub(spent))
    }

    /// Reads on and drops what comes, for a while, so that an answer reaches a client that is still sending.
    pub(crate) async fn drain(mut self) {
        if self.asleep || self.over {
            return;
        }
        let reading = async {
            let mut left = DRAIN_BYTES;
            while let Some(Ok(frame)) = self.body.frame().await {
                let size = frame.data_ref().map_or(0, Bytes::len);
                match left.checked_sub(size) {
                    Some(rest) => left = rest,
                    None => break,
                }
            }
        };
        // Either way the answer follows; a client that still sends after it has been told twice.
        drop(timeout(DRAIN_PATIENCE, reading).await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream::{self, StreamExt};
    use std::io;

    fn arrival(body: Body) -> Arrival {
        Arrival::new(&HeaderMap::new(), body)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_arriving_is_given_up() {
        let first = stream::iter([Ok::<_, io::Error>("{")]);
        let mut arrival = arrival(Body::from_stream(first.chain(stream::pending())));
        assert_eq!(arrival.next().await.unwrap().unwrap(), "{");
        assert_eq!(arrival.next().await.unwrap_err().status, StatusCode::REQUEST_TIMEOUT);
        assert!(arrival.next().await.unwrap().is_none(), "for good");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_dribbles_is_given_up_and_a_slow_one_is_not() {
        let sent = |bytes: usize| {
            let pieces = stream::unfold((), move |()| async move {
                tokio::time::sleep(Duration::from_secs(20)).await;
                Some((Ok::<_, io::Error>(Bytes::from(vec![b'x'; bytes])), ()))
            });
            arrival(Body::from_stream(pieces.take(100)))
        };
        let mut dribbling = sent(1);
        let mut pieces = 0;
        let failure = loop {
            match dribbling.next().await {
                Ok(piece) => pieces += usize::from(piece.is_some()),
                Err(failure) => break failure,
            }
        };
        assert_eq!(failure.status, StatusCode::REQUEST_TIMEOUT);
        assert!(pieces < 10, "{pieces}");
        let mut slow = sent(64 << 10);
        while slow.next().await.unwrap().is_some() {}
        assert_eq!(slow.received, 100 * (64 << 10));
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_a_bad_request() {
        let broken = stream::iter([Ok("{"), Err(io::Error::other("gone"))]);
        let mut arrival = arrival(Body::from_stream(broken));
        arrival.next().await.unwrap();
        assert_eq!(arrival.next().await.unwrap_err().status, StatusCode::BAD_REQUEST);
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_wants_is_not_waited_for_for_ever() {
        arrival(Body::from_stream(stream::pending::<io::Result<Bytes>>())).drain().await;
        let flood = stream::repeat(Bytes::from(vec![b'x'; 1 << 20])).map(Ok::<_, io::Error>);
        arrival(Body::from_stream(flood)).drain().await;
    }

    #[tokio::test]
    async fn a_client_that_waits_for_permission_is_not_given_it_to_be_drained() {
        let mut headers = HeaderMap::new();
        headers.insert(header::EXPECT, "100-continue".parse().unwrap());
        let touched = stream::poll_fn(|_| -> std::task::Poll<Option<io::Result<Bytes>>> {
            panic!("asked for");
        });
        Arrival::new(&headers, Body::from_stream(touched)).drain().await;
    }
}
