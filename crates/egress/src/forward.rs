//! One plain request passed on, and its answer back. A client's connection keeps one connection behind it, which is used
//! again for the same host as long as nothing was changed.

use std::sync::Arc;

use http_body_util::{Either, Full};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::{Authority, PathAndQuery};
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::egress::Egress;
use crate::error::{DialError, Way};
use crate::headers::pass_on;
use crate::host::Host;
use crate::http::{Body, failed, place, told};
use crate::listener::Guest;
use crate::mapping::Asked;
use crate::setup::{Route, Setup};
use crate::upstream::{Credentials, Protocol, Upstream};

const LEAST_BUFFER: usize = 8 << 10;

/// A connection that can be used again.
#[derive(Debug)]
pub(crate) struct Origin {
    /// What was chosen when it was opened: another choice, another connection.
    setup: Arc<Setup>,
    host: Host,
    port: u16,
    /// Whether another proxy reads the requests.
    proxied: bool,
    sender: SendRequest<Body>,
}

/// A request on its way.
struct Errand<'a> {
    guest: &'a Guest,
    setup: Arc<Setup>,
    host: Host,
    port: u16,
    authority: &'a Authority,
    path: String,
}

/// Why there is no answer to pass back.
enum Failure {
    Dial(DialError),
    /// The other side broke off. `again` when the request can be sent once more without harm.
    Broken {
        why: String,
        again: bool,
    },
}

impl From<DialError> for Failure {
    fn from(error: DialError) -> Self {
        Self::Dial(error)
    }
}

/// Passes a request on.
pub(crate) async fn pass(
    guest: &Guest,
    kept: &mut Option<Origin>,
    authority: &Authority,
    request: Request<Incoming>,
) -> Response<Body> {
    let (host, port) = match place(authority) {
        Ok(place) => place,
        Err(error) => return failed(&error),
    };
    let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str).to_owned();
    let setup = guest.egress.setup();
    let errand = Errand { guest, setup, host, port, authority, path };
    let (mut parts, body) = request.into_parts();
    pass_on(&mut parts.headers);
    // Only what has no body can be sent twice.
    let spare = (body.is_end_stream() && is_safe(&parts.method)).then(|| parts.clone());
    let reused = kept.is_some();
    let mut outcome = errand.run(kept, parts, Either::Left(body)).await;
    if let (Err(Failure::Broken { again, .. }), Some(parts)) = (&outcome, spare)
        && (*again || reused)
    {
        // Servers close connections that were long unused just when they are used again.
        *kept = None;
        outcome = errand.run(kept, parts, Either::Right(Full::default())).await;
    }
    match outcome {
        Ok(response) => response,
        Err(Failure::Dial(error)) => failed(&error),
        Err(Failure::Broken { why, .. }) => {
            *kept = None;
            let Errand { host, port, .. } = &errand;
            told(StatusCode::BAD_GATEWAY, "broken", &format!("{host}:{port} gave no answer: {why}"))
        }
    }
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

impl Errand<'_> {
    fn egress(&self) -> &Egress {
        &self.guest.egress
    }

    async fn run(
        &self,
        kept: &mut Option<Origin>,
        mut parts: Parts,
        body: Body,
    ) -> Result<Response<Body>, Failure> {
        let asked = Asked { host: &self.host, port: self.port, path: Some(&self.path) };
        let route = self.setup.route(asked);
        let (host, port, path) = match route {
            Route::Mapping(mapping) => {
                let to = mapping.to();
                (to.host.clone(), to.port, mapping.path(&self.path))
            }
            _ => (self.host.clone(), self.port, self.path.clone()),
        };
        let speaking = match route {
            Route::Upstream(upstream) if upstream.protocol == Protocol::Http => Some(upstream),
            _ => None,
        };
        let credentials = match speaking {
            Some(upstream) => {
                let told = upstream.credentials(&*self.egress().means().commands).await;
                told.map_err(DialError::from)?
            }
            None => None,
        };
        self.address(&mut parts, &path, speaking.is_some(), credentials.as_ref())?;
        let proxied = speaking.is_some();
        let usable = kept.take().filter(|origin| {
            let same = origin.host == host && origin.port == port && origin.proxied == proxied;
            same && Arc::ptr_eq(&origin.setup, &self.setup) && !origin.sender.is_closed()
        });
        let mut origin = if let Some(origin) = usable {
            origin
        } else {
            let stream = self.open(route, asked).await;
            let sender = self.shake_hands(self.egress().note(stream)?).await?;
            Origin { setup: Arc::clone(&self.setup), host, port, proxied, sender }
        };
        let response = send(&mut origin.sender, Request::from_parts(parts, body)).await?;
        *kept = Some(origin);
        self.judge(response, speaking, credentials.as_ref()).await
    }

    /// A connection for plain HTTP: to the server, or to the proxy that is told where to go.
    async fn open(&self, route: Route<'_>, asked: Asked<'_>) -> Result<TcpStream, DialError> {
        match route {
            Route::Upstream(upstream) if upstream.protocol == Protocol::Http => {
                Egress::judge(&self.setup, Way::Http, asked)?;
                self.egress().open_upstream(upstream).await
            }
            _ => self.egress().dial(&self.setup, Way::Http, asked).await,
        }
    }

    async fn shake_hands(&self, stream: TcpStream) -> Result<SendRequest<Body>, Failure> {
        let most = self.egress().limits().head_bytes.max(LEAST_BUFFER);
        let shaken = http1::Builder::new()
            .preserve_header_case(true)
            .max_buf_size(most)
            .handshake(TokioIo::new(stream))
            .await;
        let (sender, connection) =
            shaken.map_err(|error| Failure::Broken { why: error.to_string(), again: false })?;
        let stop = self.egress().means().stop.clone();
        self.egress().means().tasks.spawn(async move {
            tokio::select! {
                // What breaks it is told to whoever waits for the answer.
                _ended = connection => {}
                () = stop.cancelled() => {}
            }
        });
        Ok(sender)
    }

    /// Says where the request goes.
    fn address(
        &self,
        parts: &mut Parts,
        path: &str,
        whole: bool,
        credentials: Option<&Credentials>,
    ) -> Result<(), DialError> {
        let wrong = || DialError::Host(self.authority.to_string());
        // Names and passwords in an address are for the client alone.
        let named = self.authority.as_str().rsplit('@').next().unwrap_or_default();
        let uri = if whole { format!("http://{named}{path}") } else { path.to_owned() };
        parts.uri = uri.parse::<Uri>().map_err(|_| wrong())?;
        parts.version = Version::HTTP_11;
        let host = HeaderValue::from_str(named).map_err(|_| wrong())?;
        parts.headers.insert(header::HOST, host);
        if let Some(credentials) = credentials {
            let mut value = HeaderValue::from_str(&credentials.header()).map_err(|_| wrong())?;
            value.set_sensitive(true);
            parts.headers.insert(header::PROXY_AUTHORIZATION, value);
        }
        Ok(())
    }

    /// What of the answer goes back.
    async fn judge(
        &self,
        mut response: Response<Incoming>,
        speaking: Option<&Upstream>,
        credentials: Option<&Credentials>,
    ) -> Result<Response<Body>, Failure> {
        if let Some(upstream) = speaking
            && response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED
        {
            if upstream.refused(credentials).await {
                return Err(Failure::Broken {
                    why: "the upstream proxy refused its credentials".to_owned(),
                    again: true,
                });
            }
            return Err(DialError::Credentials { proxy: upstream.address() }.into());
        }
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let why = "it changed over to another protocol unasked".to_owned();
            return Err(Failure::Broken { why, again: false });
        }
        pass_on(response.headers_mut());
        *response.version_mut() = Version::HTTP_11;
        Ok(response.map(Either::Left))
    }
}

async fn send(
    sender: &mut SendRequest<Body>,
    request: Request<Body>,
) -> Result<Response<Incoming>, Failure> {
    let broken = |error: hyper::Error| {
        let again = error.is_canceled() || error.is_incomplete_message();
        let why = match std::error::Error::source(&error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        };
        Failure::Broken { why, again }
    };
    sender.ready().await.map_err(broken)?;
    sender.send_request(request).await.map_err(broken)
}
