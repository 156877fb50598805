//! Where the other server is, and connections to it.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A port of this machine: on 127.0.0.1, or where nobody listens there on `[::1]`.
    Port(u16),
    /// A unix socket.
    Unix(PathBuf),
}

impl Address {
    /// Opens a connection to it.
    pub(crate) async fn connect(&self) -> io::Result<Socket> {
        let opening = async {
            match self {
                Self::Unix(path) => {
                    Ok(Socket::Unix(TokioIo::new(UnixStream::connect(path).await?)))
                }
                Self::Tcp(address) => tcp(*address).await,
                Self::Port(port) => match tcp((Ipv4Addr::LOCALHOST, *port).into()).await {
                    Ok(socket) => Ok(socket),
                    // What IPv4 met is the news when there is nobody on either.
                    Err(error) => tcp((Ipv6Addr::LOCALHOST, *port).into()).await.map_err(|_| error),
                },
            }
        };
        timeout(CONNECT_PATIENCE, opening).await?
    }
}

async fn tcp(address: SocketAddr) -> io::Result<Socket> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(Socket::Tcp(TokioIo::new(stream)))
}

/// An open connection.
pub(crate) enum Socket {
    Tcp(TokioIo<TcpStream>),
    Unix(TokioIo<UnixStream>),
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
