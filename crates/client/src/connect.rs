//! Where a client connects to: a TCP address by name, with TLS or without, or a unix socket whatever the name.

use std::fmt;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls_platform_verifier::ConfigVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};
use tower::Service;

use crate::error::ClientError;

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// Opens connections for the HTTP client.
#[derive(Clone)]
pub(crate) enum Connector {
    Tcp,
    Tls(TlsConnector),
    Unix(Arc<Path>),
}

/// An open connection.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Unix(UnixStream),
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Socket>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<TokioIo<Socket>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let socket = timeout(CONNECT_PATIENCE, connector.open(&uri)).await??;
            Ok(TokioIo::new(socket))
        })
    }
}

impl Connector {
    /// Connections that are encrypted, to servers whose certificate this machine trusts.
    pub(crate) fn tls() -> Result<Self, ClientError> {
        let failed = |error: rustls::Error| ClientError::transport("TLS cannot be used", error);
        // A program that has chosen a provider keeps it; the first client of one that has not chooses.
        let _chosen_already = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let mut config = ClientConfig::with_platform_verifier().map_err(failed)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self::Tls(TlsConnector::from(Arc::new(config))))
    }

    async fn open(&self, uri: &Uri) -> io::Result<Socket> {
        let host = uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match self {
            Self::Unix(path) => UnixStream::connect(path).await.map(Socket::Unix),
            Self::Tcp => connect(host, uri.port_u16().unwrap_or(80)).await.map(Socket::Tcp),
            Self::Tls(connector) => {
                let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
                let stream = connect(host, uri.port_u16().unwrap_or(443)).await?;
                let stream = connector.connect(name, stream).await?;
                Ok(Socket::Tls(Box::new(stream)))
            }
        }
    }
}

async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp => f.write_str("Tcp"),
            Self::Tls(_) => f.write_str("Tls"),
            Self::Unix(path) => f.debug_tuple("Unix").field(path).finish(),
        }
    }
}

impl Connection for Socket {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
