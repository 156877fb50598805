//! From a host and a port to an open connection: resolved here, judged address by address, connected to exactly the
//! address that was judged.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::error::DialError;
use crate::host::Host;
use crate::limits::Limits;

/// How long an address gets before the next is tried beside it.
const HEAD_START: Duration = Duration::from_millis(250);
/// Addresses of one name that are tried.
const TRIED: usize = 8;

/// Resolves names and opens connections.
#[derive(Debug)]
pub(crate) struct Dialer {
    limits: Limits,
    lookups: Arc<Semaphore>,
}

impl Dialer {
    pub(crate) fn new(limits: &Limits) -> Self {
        let lookups = Arc::new(Semaphore::new(limits.lookups.max(1)));
        Self { limits: limits.clone(), lookups }
    }

    /// The addresses of a host, in the order they should be tried; at least one.
    pub(crate) async fn resolve(&self, host: &Host) -> Result<Vec<IpAddr>, DialError> {
        let name = match host {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) => name.clone(),
        };
        if host.is_local() {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        let failed = |source| DialError::Unresolved { host: host.to_string(), source };
        let looked_up = timeout(self.limits.lookup_time, self.look_up(name)).await;
        let late =
            || io::Error::new(io::ErrorKind::TimedOut, "the resolver did not answer in time");
        let mut addresses = looked_up.map_err(|_| late()).flatten().map_err(failed)?;
        addresses.dedup();
        addresses.truncate(TRIED);
        if addresses.is_empty() {
            return Err(failed(io::Error::new(io::ErrorKind::NotFound, "it has no address")));
        }
        Ok(addresses)
    }

    async fn look_up(&self, name: String) -> io::Result<Vec<IpAddr>> {
        let permit = Arc::clone(&self.lookups).acquire_owned().await.map_err(io::Error::other)?;
        let looking = tokio::task::spawn_blocking(move || {
            // Held until the resolver is done, also when nobody waits for it any more.
            let _permit = permit;
            let found = (name.as_str(), 0).to_socket_addrs()?;
            Ok(found.map(|address| address.ip().to_canonical()).collect())
        });
        looking.await.map_err(io::Error::other)?
    }

    /// A connection to the first of these addresses that answers.
    pub(crate) async fn open(
        &self,
        addresses: &[IpAddr],
        port: u16,
        target: &str,
    ) -> Result<TcpStream, DialError> {
        match timeout(self.limits.connect_time, race(addresses, port)).await {
            Ok(Ok(stream)) => {
                // Without it small messages wait for others; where it fails they merely do.
                let _prompt = stream.set_nodelay(true);
                Ok(stream)
            }
            Ok(Err(source)) => Err(DialError::Unreachable { target: target.to_owned(), source }),
            Err(_) => Err(DialError::Timeout { target: target.to_owned() }),
        }
    }
}

/// Tries one address after the other, each a moment after the one before unless that failed at once.
async fn race(addresses: &[IpAddr], port: u16) -> io::Result<TcpStream> {
    let mut waiting = addresses.iter();
    let mut running = FuturesUnordered::new();
    let mut failure = None;
    loop {
        if let Some(address) = waiting.next() {
            running.push(TcpStream::connect(SocketAddr::new(*address, port)));
        } else if running.is_empty() {
            return Err(failure.unwrap_or_else(|| io::ErrorKind::NotFound.into()));
        }
        let more = waiting.len() > 0;
        tokio::select! {
            ended = running.next() => match ended {
                Some(Ok(stream)) => return Ok(stream),
                // The first address is the one that counts; what it met is the news.
                Some(Err(error)) => _ = failure.get_or_insert(error),
                None => {}
            },
            () = tokio::time::sleep(HEAD_START), if more => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn the_next_address_is_tried_when_one_refuses() {
        let listener = TcpListener::bind("127.0.0.2:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let addresses: Vec<IpAddr> = ["127.0.0.3", "127.0.0.2"].map(|a| a.parse().unwrap()).into();
        let stream = Dialer::new(&Limits::default()).open(&addresses, port, "x").await.unwrap();
        assert_eq!(stream.peer_addr().unwrap().ip(), addresses[1]);
    }

    #[tokio::test]
    async fn nobody_there_is_told_with_what_was_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let dialer = Dialer::new(&Limits::default());
        let error = dialer.open(&[Ipv4Addr::LOCALHOST.into()], port, "a.test:1").await.unwrap_err();
        assert!(error.to_string().starts_with("a.test:1 cannot be reached: "), "{error}");
    }

    #[tokio::test]
    async fn names_of_this_machine_need_no_resolver_and_names_of_nobody_are_told() {
        let dialer = Dialer::new(&Limits::default());
        let found = dialer.resolve(&Host::parse("app.localhost").unwrap()).await.unwrap();
        assert_eq!(found[0], Ipv4Addr::LOCALHOST);
        let error = dialer.resolve(&Host::parse("nobody.invalid").unwrap()).await.unwrap_err();
        assert!(error.to_string().contains("nobody.invalid cannot be resolved"), "{error}");
    }
}
