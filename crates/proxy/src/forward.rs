//! One request there, one answer back.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body as HttpBody, Incoming};
use hyper::header::HeaderValue;
use hyper::http::uri::{PathAndQuery, Scheme};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode, Uri, Version};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use thiserror::Error;
use tokio::io::copy_bidirectional_with_sizes;

use crate::connect::{Address, Connector};
use crate::headers::{pass_on, upgrade_of};

/// A request's body, types erased.
pub type Body = UnsyncBoxBody<Bytes, Box<dyn StdError + Send + Sync>>;

/// How long an idle connection to another server is kept.
const IDLE: Duration = Duration::from_secs(30);
/// Idle connections kept per server.
const IDLE_CONNECTIONS: usize = 32;
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
    /// The other server broke off before it had answered.
    #[error("the server at {address:?} broke off")]
    Broken {
        /// Where it is.
        address: Address,
        /// What happened.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The request cannot be passed on.
    #[error("the request cannot be passed on: {0}")]
    Request(String),
}

/// The other server's answer.
#[derive(Debug)]
pub struct Forwarded {
    /// What to answer.
    pub response: Response<Incoming>,
    /// What to do once it is sent, when both sides change over to another protocol.
    pub switch: Option<Switch>,
}

/// A connection about to change over.
pub struct Switch {
    ours: OnUpgrade,
    theirs: OnUpgrade,
}

impl Switch {
    /// Carries bytes both ways until one side ends. Must run, and be dropped to end it early.
    pub async fn run(self) {
        let (Ok(ours), Ok(theirs)) = tokio::join!(self.ours, self.theirs) else {
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

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Switch")
    }
}

/// Passes requests on. Cheap to clone; connections are shared.
#[derive(Debug, Clone)]
pub struct Proxy {
    client: Client<Connector, Body>,
}

impl Default for Proxy {
    fn default() -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .set_host(false)
            .build(Connector);
        Self { client }
    }
}

impl Proxy {
    /// Passes a request on and waits for the head of the answer. Its path, query and headers go as they are.
    pub async fn forward<B>(
        &self,
        address: &Address,
        mut request: Request<B>,
    ) -> Result<Forwarded, ProxyError>
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let upgrade = upgrade_of(request.headers());
        let ours = upgrade.is_some().then(|| hyper::upgrade::on(&mut request));
        let request = outgoing(address, request, upgrade.as_ref())?;
        let mut response = self.client.request(request).await.map_err(|error| {
            let address = address.clone();
            if error.is_connect() {
                ProxyError::Unreachable { address, source: error.into() }
            } else {
                ProxyError::Broken { address, source: error.into() }
            }
        })?;
        let changed = upgrade_of(response.headers());
        pass_on(response.headers_mut(), changed.as_ref());
        let switch = match (response.status(), ours) {
            (StatusCode::SWITCHING_PROTOCOLS, Some(ours)) => {
                Some(Switch { ours, theirs: hyper::upgrade::on(&mut response) })
            }
            (StatusCode::SWITCHING_PROTOCOLS, None) => {
                return Err(ProxyError::Broken {
                    address: address.clone(),
                    source: "it changed over to another protocol unasked".into(),
                });
            }
            _ => None,
        };
        *response.version_mut() = Version::HTTP_11;
        Ok(Forwarded { response, switch })
    }
}

fn outgoing<B>(
    address: &Address,
    request: Request<B>,
    upgrade: Option<&HeaderValue>,
) -> Result<Request<Body>, ProxyError>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let unusable = |error: &dyn fmt::Display| ProxyError::Request(error.to_string());
    let (mut parts, body) = request.into_parts();
    pass_on(&mut parts.headers, upgrade);
    let mut uri = std::mem::take(&mut parts.uri).into_parts();
    uri.scheme = Some(Scheme::HTTP);
    uri.authority = Some(address.authority().parse().map_err(|error| unusable(&error))?);
    uri.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
    parts.uri = Uri::from_parts(uri).map_err(|error| unusable(&error))?;
    parts.version = Version::HTTP_11;
    // What the face kept beside the request is nothing of the other server's.
    parts.extensions.clear();
    Ok(Request::from_parts(parts, body.map_err(Into::into).boxed_unsync()))
}
