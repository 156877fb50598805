//! Where the other server is, and connections to it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tower::Service;

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Ends the made-up host name that stands for a unix socket in the pool of connections.
const UNIX: &str = ".unix";

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl Address {
    /// The name connections to it are pooled under.
    pub(crate) fn authority(&self) -> String {
        match self {
            Self::Tcp(address) => address.to_string(),
            Self::Unix(path) => {
                let path = path.as_os_str().as_encoded_bytes();
                path.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + UNIX
            }
        }
    }

    fn of(uri: &Uri) -> io::Result<Self> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, format!("no address in {uri}"));
        let authority = uri.authority().ok_or_else(wrong)?.as_str();
        let Some(hex) = authority.strip_suffix(UNIX) else {
            return authority.parse().map(Self::Tcp).map_err(|_| wrong());
        };
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(byte).collect();
        let path = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(wrong)?;
        Ok(Self::Unix(path.into()))
    }
}

/// Opens connections for the pool.
#[derive(Debug, Clone)]
pub(crate) struct Connector;

/// An open connection.
pub(crate) enum Socket {
    Tcp(TokioIo<TcpStream>),
    Unix(TokioIo<UnixStream>),
}

impl Service<Uri> for Connector {
    type Response = Socket;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Socket>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(async move { timeout(CONNECT_PATIENCE, open(Address::of(&uri)?)).await? })
    }
}

async fn open(address: Address) -> io::Result<Socket> {
    match address {
        Address::Unix(path) => Ok(Socket::Unix(TokioIo::new(UnixStream::connect(path).await?))),
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Socket::Tcp(TokioIo::new(stream)))
        }
    }
}

impl Connection for Socket {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl Write for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_the_name_it_is_pooled_under() {
        for address in [
            Address::Tcp("127.0.0.1:80".parse().unwrap()),
            Address::Tcp("[::1]:8080".parse().unwrap()),
            Address::Unix("/run/a b/ü".into()),
        ] {
            let uri: Uri = format!("http://{}/x", address.authority()).parse().unwrap();
            assert_eq!(Address::of(&uri).unwrap(), address);
        }
    }
}
