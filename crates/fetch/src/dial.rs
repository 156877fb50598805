//! How a connection is opened: the seam to whoever decides what may be reached.

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DialError {
    /// It must not be reached.
    #[error("{0}")]
    Refused(String),
    /// It cannot be reached.
    #[error("{0}")]
    Unreachable(String),
}

/// A connection being opened.
pub type Dialing<'a> = Pin<Box<dyn Future<Output = Result<TcpStream, DialError>> + Send + 'a>>;

/// Opens connections.
pub trait Dial: fmt::Debug + Send + Sync {
    /// Connects to a host, a name or an address, at a port.
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> Dialing<'a>;

    /// Whether a host is known to be answered by something that belongs to the sandbox, which has no certificate.
    fn is_mapped(&self, host: &str) -> bool;
}

/// Connects by itself. Addresses at which clouds tell machines their secrets are refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct Direct;

impl Dial for Direct {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> Dialing<'a> {
        Box::pin(async move {
            let unreachable = |why: &dyn fmt::Display| {
                DialError::Unreachable(format!("{host}:{port} cannot be reached: {why}"))
            };
            let open = async {
                let bare = host.trim_start_matches('[').trim_end_matches(']');
                let found = tokio::net::lookup_host((bare, port)).await;
                let found: Vec<_> = found.map_err(|error| unreachable(&error))?.collect();
                // Every address is judged before any is tried.
                if found.iter().any(|address| tells_secrets(address.ip())) {
                    let message = format!("{host} is the cloud's metadata service");
                    return Err(DialError::Refused(message));
                }
                connect_any(&found).await.map_err(|error| unreachable(&error))
            };
            let opened = timeout(CONNECT, open).await;
            opened.unwrap_or_else(|_| Err(unreachable(&"it did not answer in time")))
        })
    }

    fn is_mapped(&self, _host: &str) -> bool {
        false
    }
}

async fn connect_any(addresses: &[SocketAddr]) -> std::io::Result<TcpStream> {
    let mut failure = std::io::Error::from(std::io::ErrorKind::NotFound);
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Link-local addresses, and those that clouds use beside them.
fn tells_secrets(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_link_local() || address.octets() == [100, 100, 100, 200],
        IpAddr::V6(address) => address.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses_that_tell_secrets_are_refused_however_they_are_written() {
        for host in
            ["169.254.169.254", "::ffff:169.254.169.254", "100.100.100.200", "[fd00:ec2::254]"]
        {
            let refused = Direct.connect(host, 80).await.unwrap_err();
            assert!(matches!(refused, DialError::Refused(_)), "{host}: {refused}");
        }
    }

    #[tokio::test]
    async fn nobody_there_is_told_with_what_was_asked_for() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(Direct.connect("127.0.0.1", port).await.is_ok());
        drop(listener);
        let error = Direct.connect("127.0.0.1", port).await.unwrap_err();
        assert!(error.to_string().starts_with(&format!("127.0.0.1:{port} cannot be reached")));
    }
}
