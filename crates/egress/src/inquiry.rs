//! Questions about the proxy itself: which way would this go, and does all work.

use std::time::Duration;

use hyper::Uri;
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::egress::Egress;
use crate::error::{DialError, Way};
use crate::host::Host;
use crate::mapping::{Asked, Mapping};
use crate::setup::Route;
use crate::socks;

/// How long the own listener may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// An address that cannot be asked about.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is no address of a page: write http://host/path or https://host/path")]
pub struct UrlError(pub String);

/// Which way something goes.
#[derive(Debug, Clone)]
pub struct Diagnosis {
    /// In a word: `mapping`, `upstream`, `bypass`, `direct` or `refused`.
    pub route: &'static str,
    /// The mapping that counts.
    pub mapping: Option<Mapping>,
    /// Where the connection goes first.
    pub target: Option<String>,
    /// Whether it could be made.
    pub reachable: bool,
    /// Why not.
    pub problem: Option<String>,
}

/// How the proxy is.
#[derive(Debug, Clone, Default)]
pub struct Health {
    /// Its listener answers.
    pub listening: bool,
    /// What of what was chosen contradicts itself.
    pub contradictions: Vec<String>,
}

impl Egress {
    /// Says which way an address goes, and tries it.
    pub async fn diagnose(&self, url: &str) -> Result<Diagnosis, UrlError> {
        let wrong = || UrlError(url.chars().take(200).collect());
        let text = url.trim();
        let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let text = text.split('#').next().unwrap_or_default();
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let (usual, plain) = match uri.scheme_str().map(str::to_ascii_lowercase).as_deref() {
            Some("http") => (80, true),
            Some("ws") => (80, false),
            Some("https" | "wss") => (443, false),
            _ => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        let host = Host::parse(authority.host()).ok_or_else(wrong)?;
        let port = authority.port_u16().unwrap_or(usual);
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let asked = Asked { host: &host, port, path: plain.then_some(path) };
        let setup = self.setup();
        let (route, mapping, target) = match setup.route(asked) {
            Route::Mapping(mapping) => {
                ("mapping", Some(mapping.clone()), Some(mapping.resolved(asked.path)))
            }
            Route::Upstream(upstream) => ("upstream", None, Some(upstream.address())),
            Route::Direct { bypass: true } => ("bypass", None, None),
            Route::Direct { bypass: false } => ("direct", None, None),
        };
        let tried = self.dial(&setup, Way::Internal, asked).await;
        let refused = tried.as_ref().is_err_and(DialError::is_refused);
        let met = tried.as_ref().ok().and_then(|stream| stream.peer_addr().ok());
        Ok(Diagnosis {
            route: if refused { "refused" } else { route },
            mapping,
            target: target.or_else(|| met.map(|address| address.to_string())),
            reachable: tried.is_ok(),
            problem: tried.err().map(|error| error.to_string()),
        })
    }

    /// Says how the proxy is: asks its own listener, which is started if need be.
    pub async fn health(&self) -> Health {
        let listening = match self.listen() {
            Ok(address) => timeout(PATIENCE, async {
                let mut stream = TcpStream::connect(address).await?;
                stream.write_all(&[socks::VERSION, 1, 0]).await?;
                let mut answer = [0; 2];
                stream.read_exact(&mut answer).await?;
                std::io::Result::Ok(answer == [socks::VERSION, 0])
            })
            .await
            .is_ok_and(Result::unwrap_or_default),
            Err(_) => false,
        };
        let contradictions = self.setup().contradictions(|port| self.is_own(port));
        Health { listening, contradictions }
    }
}
