//! Says that the server accepts connections: to people by the log, to programs by a file.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use atoll_auth::Policy;
use atoll_http::BoundAddress;

/// A file that holds the server's URL as long as the server accepts connections.
#[derive(Debug)]
pub(crate) struct ReadyFile(PathBuf);

impl ReadyFile {
    /// Writes the file under another name first: a reader never sees half of it.
    pub(crate) fn write(path: &Path, address: &BoundAddress) -> io::Result<Self> {
        let mut draft = path.as_os_str().to_owned();
        draft.push(".new");
        std::fs::write(&draft, format!("{}\n", url(address)))?;
        std::fs::rename(&draft, path)?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for ReadyFile {
    fn drop(&mut self) {
        // It may be gone already, with the directory it was in.
        std::fs::remove_file(&self.0).ok();
    }
}

/// The address a caller on this machine can use: `0.0.0.0` is none.
pub(crate) fn url(address: &BoundAddress) -> String {
    match address {
        BoundAddress::Tcp(bound) if bound.ip().is_unspecified() => {
            let loopback: IpAddr = if bound.is_ipv4() {
                Ipv4Addr::LOCALHOST.into()
            } else {
                Ipv6Addr::LOCALHOST.into()
            };
            BoundAddress::Tcp(SocketAddr::new(loopback, bound.port())).to_string()
        }
        _ => address.to_string(),
    }
}

/// Tells people where the server is and what it means that it is there.
pub(crate) fn announce(address: &BoundAddress, user: &str, policy: Policy) {
    let url = url(address);
    tracing::info!("ready at {url}");
    match address {
        BoundAddress::Tcp(bound) => {
            tracing::info!("documentation at {url}/v1/docs");
            if !bound.ip().is_loopback() && policy != Policy::Required {
                tracing::warn!(
                    "DANGER: listening on {bound} without credentials: whoever can reach this address can run \
                     commands here"
                );
            }
        }
        BoundAddress::Unix(_) => {
            tracing::info!("documentation at /v1/docs on that socket");
        }
    }
    match policy {
        Policy::Required => tracing::info!("every request must carry a credential"),
        Policy::Optional => tracing::warn!(
            "requests without a credential are let in: only JWT_SECRET is set, without JWT_AUTH_REQUIRED"
        ),
        Policy::Open => {}
    }
    tracing::warn!(
        "commands run with the rights of user {user} on this machine: there is no isolation yet"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_for_everyone_is_shown_as_one_that_can_be_called() {
        let shown = |text: &str| url(&BoundAddress::Tcp(text.parse().unwrap()));
        assert_eq!(shown("0.0.0.0:80"), "http://127.0.0.1:80");
        assert_eq!(shown("[::]:80"), "http://[::1]:80");
        assert_eq!(shown("10.0.0.1:80"), "http://10.0.0.1:80");
    }

    #[test]
    fn the_ready_file_is_whole_and_goes_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ready");
        let address = BoundAddress::Unix(PathBuf::from("/run/a"));
        let file = ReadyFile::write(&path, &address).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "unix:/run/a\n");
        drop(file);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
