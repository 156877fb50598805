//! One open connection, and the answer that comes over it.
//!
//! hyper wants a connection to be driven by a task of its own. Here whoever waits for an answer drives it: a request then
//! costs no change of tasks, and whoever goes away takes the connection along.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};

use crate::connect::{Address, Socket};
use crate::pool::Pool;

/// What a request's body must be.
pub trait Payload:
    Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Default + Send + 'static
{
}

impl<B> Payload for B where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Default
        + Send
        + 'static
{
}

/// What moves a connection's bytes while it is polled.
type Wire = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// An open connection.
pub(crate) struct Line<B> {
    sender: SendRequest<B>,
    /// None once it is over.
    wire: Option<Wire>,
}

impl<B: Payload> Line<B> {
    pub(crate) async fn open(address: &Address) -> io::Result<Self> {
        let socket: Socket = address.connect().await?;
        let (sender, wire) = http1::handshake(socket).await.map_err(io::Error::other)?;
        Ok(Self { sender, wire: Some(Box::pin(wire.with_upgrades())) })
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn exchange(
        &mut self,
        request: Request<B>,
    ) -> Result<Response<Incoming>, TrySendError<Request<B>>> {
        let mut answer = pin!(self.sender.try_send_request(request));
        let wire = &mut self.wire;
        poll_fn(|cx| {
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            drive(wire, cx);
            answer.as_mut().poll(cx)
        })
        .await
    }

    /// Whether another request can be sent on it.
    pub(crate) fn is_idle(&mut self, cx: &mut Context<'_>) -> bool {
        drive(&mut self.wire, cx);
        self.wire.is_some() && self.sender.is_ready()
    }

    /// Moves bytes until both sides have changed over to another protocol, or it is over otherwise.
    pub(crate) async fn finish(mut self) {
        if let Some(wire) = self.wire.take() {
            // Whoever waits for the change hears of its failure.
            drop(wire.await);
        }
    }
}

fn drive(wire: &mut Option<Wire>, cx: &mut Context<'_>) {
    if let Some(moving) = wire
        && moving.as_mut().poll(cx).is_ready()
    {
        *wire = None;
    }
}

/// The body of an answer: it drives the connection it comes over, and hands that back to its pool at its end.
pub struct Carried<B: Payload> {
    body: Incoming,
    line: Option<Line<B>>,
    pool: Arc<Pool<B>>,
    address: Address,
}

impl<B: Payload> Carried<B> {
    pub(crate) fn new(
        body: Incoming,
        line: Option<Line<B>>,
        pool: &Arc<Pool<B>>,
        address: &Address,
    ) -> Self {
        Self { body, line, pool: Arc::clone(pool), address: address.clone() }
    }

    /// Hands the connection back once nothing more comes.
    pub(crate) fn settle(&mut self, cx: &mut Context<'_>) {
        if self.body.is_end_stream()
            && let Some(mut line) = self.line.take()
            && line.is_idle(cx)
        {
            self.pool.put(&self.address, line);
        }
    }
}

impl<B: Payload> Body for Carried<B> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let mut frame = Pin::new(&mut this.body).poll_frame(cx);
        if frame.is_pending()
            && let Some(line) = &mut this.line
        {
            drive(&mut line.wire, cx);
            frame = Pin::new(&mut this.body).poll_frame(cx);
        }
        if frame.is_ready() {
            this.settle(cx);
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

// Nothing of it is pinned in place: a connection is boxed.
impl<B: Payload> Unpin for Carried<B> {}

impl<B: Payload> fmt::Debug for Carried<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carried").field("address", &self.address).finish_non_exhaustive()
    }
}
