//! The body of a request as it arrives: who waits for it, for how long, and what becomes of the part nobody wants.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use bytes::Bytes;
use futures::FutureExt;
use http_body_util::BodyExt;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use crate::dialect::Failure;
use crate::transfer::siphon::{Siphon, Tap};

/// How long a client may stay silent in the middle of a body.
const BODY_PATIENCE: Duration = Duration::from_secs(30);
/// How long a body may take as a whole, and how many bytes buy it another second: a sender that dribbles is given up.
const WHOLE_PATIENCE: Duration = Duration::from_mins(2);
const BYTES_PER_SECOND: u64 = 1024;
/// How much of a refused body is read on, and for how long.
const DRAIN_BYTES: usize = 64 << 20;
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);
/// Bodies from this size on are worth a way of their own.
const SIPHON_FROM: u64 = 4 << 20;
/// Bytes drawn off at once, and bytes dropped at once.
const DRAW_BYTES: usize = 1 << 20;
const DROP_BYTES: usize = 64 << 10;

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
    /// Where it can be drawn off its connection.
    tap: Option<Tap>,
    /// What draws it off, and how many bytes of it are to come.
    drawn: Option<(Siphon, u64)>,
}

impl Arrival {
    pub(crate) fn new(headers: &HeaderMap, body: Body) -> Self {
        let over = body.is_end_stream();
        let asleep = headers.contains_key(header::EXPECT);
        let (tap, drawn) = (None, None);
        Self { body, asleep, over, started: None, received: 0, tap, drawn }
    }

    /// The same, on a connection that it can be drawn off.
    pub(crate) fn tapped(self, tap: Option<Tap>) -> Self {
        Self { tap, ..self }
    }

    /// Whether it can be drawn off its connection, and is worth it.
    pub(crate) fn can_be_siphoned(&self) -> bool {
        self.tap.is_some() && self.body.size_hint().exact().is_some_and(|size| size >= SIPHON_FROM)
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
                return Err(slow());
            };
            let Some(frame) = frame else {
                self.over = true;
                break;
            };
            let frame = frame.map_err(|error| {
                self.over = true;
                unreadable(&error)
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

    /// Puts all of it into a file, past HTTP's machinery. The inner error is the file's.
    pub(crate) async fn siphon(&mut self, into: File) -> Result<io::Result<u64>, Failure> {
        let into = Arc::new(into);
        let Some(mut asked) = self.tap.take().map(|tap| tap.ask()) else {
            return Ok(Err(io::ErrorKind::Unsupported.into()));
        };
        let mut given = None;
        let mut ahead = Ok(());
        // What HTTP's machinery has read already comes first; once the socket is given there is no more of that than
        // is at hand. The socket is waited for also when the file takes nothing: what is sent must be read by somebody.
        loop {
            let piece = if given.is_some() {
                self.next().now_or_never()
            } else {
                tokio::select! {
                    biased;
                    socket = &mut asked => {
                        given = Some(socket.map_err(io::Error::other).flatten());
                        continue;
                    }
                    piece = self.next() => Some(piece),
                }
            };
            let Some(piece) = piece.transpose()? else { break };
            let Some(piece) = piece else { return Ok(ahead.map(|()| self.received)) };
            if ahead.is_ok() {
                ahead = append(&into, piece).await;
            }
        }
        let given = given.unwrap_or_else(|| Err(io::ErrorKind::NotConnected.into()));
        match given.and_then(|socket| Siphon::new(socket, into)) {
            Ok(siphon) => self.drawn = Some((siphon, self.body.size_hint().lower())),
            Err(error) => return Ok(Err(error)),
        }
        match ahead {
            Ok(()) => self.draw().await,
            Err(error) => Ok(Err(error)),
        }
    }

    async fn draw(&mut self) -> Result<io::Result<u64>, Failure> {
        loop {
            let patience = self.patience();
            let Some((siphon, left)) = &mut self.drawn else { return Ok(Ok(self.received)) };
            let most = usize::try_from(*left).map_or(DRAW_BYTES, |left| left.min(DRAW_BYTES));
            if most == 0 {
                self.over = true;
                let finished = siphon.settle().await;
                return Ok(finished.map(|()| self.received));
            }
            let drawn = match timeout(patience, siphon.draw(most)).await {
                Err(_) => Err(slow()),
                Ok(Err(error)) => Err(unreadable(&error)),
                Ok(Ok(0)) => Err(unreadable(&"the client has gone")),
                Ok(Ok(count)) => Ok(count),
            };
            let drawn = drawn.inspect_err(|_| self.over = true)?;
            let spilled = siphon.settle().await.and_then(|()| siphon.spill(drawn, most));
            let count = match spilled {
                Ok(count) => count as u64,
                Err(error) => return Ok(Err(error)),
            };
            *left -= count;
            self.received += count;
        }
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
            if let Some((siphon, rest)) = &self.drawn {
                left = usize::try_from(*rest).map_or(left, |rest| rest.min(left));
                let mut buffer = vec![0; DROP_BYTES];
                while left > 0 {
                    let most = left.min(buffer.len());
                    match siphon.discard(&mut buffer[..most]).await {
                        Ok(0) | Err(_) => break,
                        Ok(count) => left -= count,
                    }
                }
                return;
            }
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

/// Writes where waiting for a disk holds nobody up.
async fn append(file: &Arc<File>, piece: Bytes) -> io::Result<()> {
    let file = Arc::clone(file);
    let writing = spawn_blocking(move || (&*file).write_all(&piece));
    writing.await.map_err(io::Error::other).flatten()
}

fn slow() -> Failure {
    let message = "the body stopped arriving; send it without pauses";
    Failure::new(StatusCode::REQUEST_TIMEOUT, "request.slow", message)
}

fn unreadable(error: &dyn fmt::Display) -> Failure {
    let message = format!("the body could not be read: {error}");
    Failure::new(StatusCode::BAD_REQUEST, "request.body", message)
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
