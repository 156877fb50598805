//! Where the server listens: a TCP address or a unix socket.
//!
//! TCP options are set on the listening socket, from which Linux hands them to every connection: no delay, and
//! keep-alive probes so that a peer that vanished is noticed. A unix socket is created with mode 0600 from its first
//! moment, replaces only a file nobody answers on, and is removed at the end if it is still ours.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use rustix::fs::Mode;
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

const BACKLOG: i32 = 1024;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// A TCP address; port 0 lets the system choose.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

/// Where the server listens, ports resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundAddress {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl FromStr for Listen {
    type Err = String;

    /// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, `unix:/path` or `/path`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = text.strip_prefix("unix:").unwrap_or(text);
        if path.starts_with('/') {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let local = text.strip_prefix("localhost:").map(str::parse);
        if let Some(Ok(port)) = local {
            return Ok(Self::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
        }
        text.parse().map(Self::Tcp).map_err(|_| {
            format!(
                "{text:?} is no address to listen on: give an IP address with a port such as 127.0.0.1:8080 \
                 (0.0.0.0:8080 for every interface), or unix:/path/to/socket"
            )
        })
    }
}

impl fmt::Display for BoundAddress {
    /// The address as a client is given it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "http://{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A listening socket.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(OwnedSocket),
}

/// An accepted connection.
pub(crate) enum Accepted {
    Tcp(TcpStream, IpAddr),
    Unix(UnixStream),
}

impl Listener {
    pub(crate) async fn bind(listen: &Listen) -> io::Result<Self> {
        match listen {
            Listen::Tcp(address) => {
                let listener = TcpListener::bind(address)
                    .await
                    .map_err(|error| explain(&error, &format!("cannot listen on {address}")))?;
                sockopt::set_tcp_nodelay(&listener, true)?;
                sockopt::set_socket_keepalive(&listener, true)?;
                sockopt::set_tcp_keepidle(&listener, Duration::from_mins(1))?;
                Ok(Self::Tcp(listener))
            }
            Listen::Unix(path) => OwnedSocket::bind(path)
                .map(Self::Unix)
                .map_err(|error| explain(&error, &format!("cannot listen on {}", path.display()))),
        }
    }

    pub(crate) fn address(&self) -> io::Result<BoundAddress> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(BoundAddress::Tcp),
            Self::Unix(socket) => Ok(BoundAddress::Unix(socket.path.clone())),
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(listener) => {
                let accepted = listener.accept().await;
                accepted.map(|(io, peer)| Accepted::Tcp(io, peer.ip().to_canonical()))
            }
            Self::Unix(socket) => {
                let accepted = socket.listener.accept().await;
                accepted.map(|(io, _)| Accepted::Unix(io))
            }
        }
    }
}

fn explain(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// A unix socket with the file that names it.
#[derive(Debug)]
pub(crate) struct OwnedSocket {
    listener: UnixListener,
    path: PathBuf,
    inode: u64,
}

impl OwnedSocket {
    fn bind(path: &Path) -> io::Result<Self> {
        remove_stale(path)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // Linux gives the file the mode of the unbound socket: there is no moment at which others could connect.
        rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        rustix::net::listen(&socket, BACKLOG)?;
        let inode = std::fs::symlink_metadata(path)?.ino();
        Ok(Self { listener: UnixListener::from_std(socket.into())?, path: path.to_owned(), inode })
    }
}

impl Drop for OwnedSocket {
    fn drop(&mut self) {
        let ours = std::fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| metadata.ino() == self.inode);
        if ours && let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the socket file stays behind");
        }
    }
}

/// Makes way for a new socket, unless a live server or something else is there.
fn remove_stale(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(metadata) if !metadata.file_type().is_socket() => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "something that is not a socket is there; move it away or choose another path",
        )),
        Ok(_) => match StdUnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path)
            }
            Err(error) => Err(error),
            Ok(_) => Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                "another server answers there; stop it or choose another path",
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let tcp = |text: &str| Listen::Tcp(text.parse().unwrap());
        for (text, expected) in [
            ("127.0.0.1:8080", tcp("127.0.0.1:8080")),
            ("[::1]:0", tcp("[::1]:0")),
            ("localhost:81", tcp("127.0.0.1:81")),
            ("unix:/run/a", Listen::Unix("/run/a".into())),
            ("/run/a", Listen::Unix("/run/a".into())),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for text in ["", ":8080", "example.org:80", "127.0.0.1", "unix:a", "localhost:http"] {
            assert!(text.parse::<Listen>().is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn a_unix_socket_is_private_and_goes_with_its_listener() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = Listener::bind(&Listen::Unix(path.clone())).await.unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(listener);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn only_a_socket_nobody_answers_on_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listen = Listen::Unix(path.clone());
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "left behind by a server that died");
        let listener = Listener::bind(&listen).await.unwrap();
        let error = Listener::bind(&listen).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "{error}");
        drop(listener);
        std::fs::write(&path, "precious").unwrap();
        assert!(Listener::bind(&listen).await.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }
}
