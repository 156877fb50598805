//! One request there, one answer back.

use std::error::Error as StdError;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::io::copy_bidirectional_with_sizes;

use crate::connect::Address;
use crate::headers::{pass_on, upgrade_of};
use crate::line::{Carried, Line, Payload};
use crate::pool::Pool;

/// Bytes on their way in each direction of a changed-over connection.
const SWITCH_BUFFER: usize = 64 << 10;

/// Why there is no answer to pass back.
#[derive(Debug, Error)]
pub enum ProxyError {
    /// Nobody answers at the address.
    #[error("the server at {address:?} cannot be reached")]
    Unreachable {
        /// Where it should be.
        address: Address,
        /// What the attempt met.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The other server broke off before it had answered, or what it answered is no HTTP.
    #[error("the server at {address:?} broke off")]
    Broken {
        /// Where it is.
        address: Address,
        /// What happened.
        source: Box<dyn StdError + Send + Sync>,
    },
}

/// The other server's answer.
#[derive(Debug)]
pub struct Forwarded<B: Payload> {
    /// What to answer.
    pub response: Response<Carried<B>>,
    /// What to do once it is sent, when both sides change over to another protocol.
    pub switch: Option<Switch<B>>,
}

/// A connection about to change over.
pub struct Switch<B> {
    ours: OnUpgrade,
    theirs: OnUpgrade,
    line: Line<B>,
}

impl<B: Payload> Switch<B> {
    /// Carries bytes both ways until one side ends. Must run, and be dropped to end it early.
    pub async fn run(self) {
        let theirs = async {
            self.line.finish().await;
            self.theirs.await
        };
        let (Ok(ours), Ok(theirs)) = tokio::join!(self.ours, theirs) else {
            return;
        };
        let (mut ours, mut theirs) = (TokioIo::new(ours), TokioIo::new(theirs));
        // A side that breaks off ends the other: nothing is left to tell either of them.
        drop(
            copy_bidirectional_with_sizes(&mut ours, &mut theirs, SWITCH_BUFFER, SWITCH_BUFFER)
                .await,
        );
    }
}

impl<B> fmt::Debug for Switch<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Switch")
    }
}

/// Passes requests on. Cheap to clone; connections are shared.
#[derive(Debug)]
pub struct Proxy<B> {
    pool: Arc<Pool<B>>,
}

impl<B: Payload> Default for Proxy<B> {
    fn default() -> Self {
        Self { pool: Pool::new() }
    }
}

impl<B> Clone for Proxy<B> {
    fn clone(&self) -> Self {
        Self { pool: Arc::clone(&self.pool) }
    }
}

impl<B: Payload> Proxy<B> {
    /// Passes a request on and waits for the head of the answer. Its path, query and headers go as they are.
    pub async fn forward(
        &self,
        address: &Address,
        mut request: Request<B>,
    ) -> Result<Forwarded<B>, ProxyError> {
        let upgrade = upgrade_of(request.headers());
        let ours = upgrade.is_some().then(|| hyper::upgrade::on(&mut request));
        let request = outgoing(request, upgrade.as_ref());
        let (mut response, line) = self.exchange(address, request).await?;
        let changed = upgrade_of(response.headers());
        pass_on(response.headers_mut(), changed.as_ref());
        *response.version_mut() = Version::HTTP_11;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let Some(ours) = ours else {
                let source = "it changed over to another protocol unasked".into();
                return Err(ProxyError::Broken { address: address.clone(), source });
            };
            let theirs = hyper::upgrade::on(&mut response);
            let switch = Some(Switch { ours, theirs, line });
            let response = response.map(|body| Carried::new(body, None, &self.pool, address));
            return Ok(Forwarded { response, switch });
        }
        let mut response = response.map(|body| Carried::new(body, Some(line), &self.pool, address));
        poll_fn(|cx| {
            response.body_mut().settle(cx);
            Poll::Ready(())
        })
        .await;
        Ok(Forwarded { response, switch: None })
    }

    async fn exchange(
        &self,
        address: &Address,
        mut request: Request<B>,
    ) -> Result<(Response<hyper::body::Incoming>, Line<B>), ProxyError> {
        if let Some(mut line) = self.pool.take(address).await {
            // The other side may be closing what has waited. What it has not got, or may get twice, is sent again.
            let copy = is_repeatable(&request).then(|| copy_of(&request));
            let mut refused = match line.exchange(request).await {
                Ok(response) => return Ok((response, line)),
                Err(refused) => refused,
            };
            request = match refused.take_message().or(copy) {
                Some(request) => request,
                None => return Err(broken(address, refused.into_error())),
            };
        }
        let mut line = Line::open(address).await.map_err(|error| ProxyError::Unreachable {
            address: address.clone(),
            source: error.into(),
        })?;
        match line.exchange(request).await {
            Ok(response) => Ok((response, line)),
            Err(refused) => Err(broken(address, refused.into_error())),
        }
    }
}

fn broken(address: &Address, error: hyper::Error) -> ProxyError {
    ProxyError::Broken { address: address.clone(), source: error.into() }
}

/// Whether a request changes nothing and has no body, so that it may be sent twice.
fn is_repeatable<B: Payload>(request: &Request<B>) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS)
        && request.body().is_end_stream()
}

fn copy_of<B: Payload>(request: &Request<B>) -> Request<B> {
    let mut copy = Request::new(B::default());
    copy.method_mut().clone_from(request.method());
    copy.uri_mut().clone_from(request.uri());
    copy.headers_mut().clone_from(request.headers());
    copy
}

fn outgoing<B: Payload>(request: Request<B>, upgrade: Option<&HeaderValue>) -> Request<B> {
    let (mut parts, body): (Parts, B) = request.into_parts();
    pass_on(&mut parts.headers, upgrade);
    // Nobody here waits for leave to send a body: it follows at once.
    parts.headers.remove(header::EXPECT);
    let target = std::mem::take(&mut parts.uri).into_parts().path_and_query;
    parts.uri = Uri::from(target.unwrap_or(PathAndQuery::from_static("/")));
    parts.headers.entry(header::HOST).or_insert(HeaderValue::from_static("localhost"));
    parts.version = Version::HTTP_11;
    // What the face kept beside the request is nothing of the other server's.
    parts.extensions.clear();
    Request::from_parts(parts, body)
}
