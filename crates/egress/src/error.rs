//! Why there is no connection.

use std::io;
use std::net::IpAddr;
use std::time::SystemTime;

use thiserror::Error;

use crate::upstream::UpstreamError;

/// Something that the policy forbids, for the log of such.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// When.
    pub at: SystemTime,
    /// How it was asked for.
    pub way: Way,
    /// The host asked for.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The address it turned out to have, where it was looked up.
    pub address: Option<IpAddr>,
    /// Why not.
    pub reason: String,
}

/// How a connection was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A request in plain HTTP.
    Http,
    /// A tunnel through HTTP.
    Connect,
    /// SOCKS5.
    Socks,
    /// By a part of this program.
    Internal,
}

impl Way {
    /// In a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Connect => "connect",
            Self::Socks => "socks",
            Self::Internal => "internal",
        }
    }
}

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum DialError {
    /// The host cannot be one.
    #[error("{0:?} is neither a name nor an address")]
    Host(String),
    /// The policy forbids it.
    #[error("{}:{} must not be reached from this sandbox: {}", .0.host, .0.port, .0.reason)]
    Refused(Refusal),
    /// It has no address.
    #[error("the name {host} cannot be resolved: {source}")]
    Unresolved {
        /// The name.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// Nobody answers there.
    #[error("{target} cannot be reached: {source}")]
    Unreachable {
        /// Where.
        target: String,
        /// What the attempt met.
        source: io::Error,
    },
    /// It took too long.
    #[error("{target} did not answer in time")]
    Timeout {
        /// Who.
        target: String,
    },
    /// The proxy behind this one does not do it.
    #[error("the upstream proxy {proxy} did not connect to {target}: {why}")]
    Upstream {
        /// The proxy, without credentials.
        proxy: String,
        /// What was asked of it.
        target: String,
        /// What it answered, in our words.
        why: String,
    },
    /// It wants to know who asks.
    #[error(
        "the upstream proxy {proxy} refused its credentials; check the name and password, or the command that tells them"
    )]
    Credentials {
        /// The proxy, without credentials.
        proxy: String,
    },
    /// They cannot be told.
    #[error(transparent)]
    Command(#[from] UpstreamError),
}

impl DialError {
    /// Whether whoever asked may never have it.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}
