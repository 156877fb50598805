//! SOCKS5 for clients: no credentials, connections only, names resolved here.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::error::{DialError, Way};
use crate::host::Host;
use crate::listener::Guest;
use crate::mapping::Asked;

pub(crate) const VERSION: u8 = 5;
const NO_CREDENTIALS: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;

/// Outcomes, by the numbers of RFC 1928.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done = 0,
    Failed = 1,
    Forbidden = 2,
    HostUnreachable = 4,
    Refused = 5,
    Expired = 6,
    UnknownCommand = 7,
    UnknownAddress = 8,
}

/// Serves a client.
pub(crate) async fn serve(guest: Guest, mut stream: TcpStream) {
    let patience = guest.egress.limits().head_time;
    let asked = tokio::select! {
        asked = timeout(patience, negotiate(&mut stream)) => asked,
        () = guest.ended() => return,
    };
    let outcome = match asked {
        Ok(Ok(Ok((host, port)))) => {
            let asked = Asked { host: &host, port, path: None };
            let setup = guest.egress.setup();
            let reached = tokio::select! {
                reached = guest.egress.reach(&setup, Way::Socks, asked) => reached,
                () = guest.egress.means().stop.cancelled() => return,
            };
            match reached {
                Ok(other) => {
                    guest.activity.touch();
                    if answer(&mut stream, Outcome::Done).await.is_ok() {
                        guest.carry(stream, other).await;
                    }
                    return;
                }
                Err(error) => {
                    tracing::debug!(%error, "a client could not be connected");
                    outcome(&error)
                }
            }
        }
        Ok(Ok(Err(outcome))) => outcome,
        // It broke off, or took too long to say what it wants.
        _ => return,
    };
    // It may have gone meanwhile.
    let _told = answer(&mut stream, outcome).await;
}

/// What the client wants; the inner error is what to answer it.
async fn negotiate(stream: &mut TcpStream) -> io::Result<Result<(Host, u16), Outcome>> {
    let [_version, count] = read(stream).await?;
    let mut methods = vec![0; usize::from(count)];
    stream.read_exact(&mut methods).await?;
    if !methods.contains(&NO_CREDENTIALS) {
        stream.write_all(&[VERSION, NO_METHOD]).await?;
        return Err(io::ErrorKind::InvalidData.into());
    }
    stream.write_all(&[VERSION, NO_CREDENTIALS]).await?;
    let [version, command, _, kind] = read(stream).await?;
    if version != VERSION {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let host = match kind {
        1 => Host::parse(&Ipv4Addr::from(read::<4>(stream).await?).to_string()),
        4 => Host::parse(&Ipv6Addr::from(read::<16>(stream).await?).to_string()),
        3 => {
            let [length] = read(stream).await?;
            let mut name = vec![0; usize::from(length)];
            stream.read_exact(&mut name).await?;
            Host::parse(&String::from_utf8_lossy(&name))
        }
        _ => return Ok(Err(Outcome::UnknownAddress)),
    };
    let port = u16::from_be_bytes(read(stream).await?);
    Ok(match host {
        _ if command != CONNECT => Err(Outcome::UnknownCommand),
        Some(host) if port > 0 => Ok((host, port)),
        _ => Err(Outcome::Failed),
    })
}

async fn read<const N: usize>(stream: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn answer(stream: &mut TcpStream, outcome: Outcome) -> io::Result<()> {
    // Whence the connection goes is nobody's business.
    stream.write_all(&[VERSION, outcome as u8, 0, 1, 0, 0, 0, 0, 0, 0]).await
}

fn outcome(error: &DialError) -> Outcome {
    match error {
        DialError::Refused(_) => Outcome::Forbidden,
        DialError::Unreachable { source, .. }
            if source.kind() == io::ErrorKind::ConnectionRefused =>
        {
            Outcome::Refused
        }
        DialError::Unresolved { .. } | DialError::Unreachable { .. } => Outcome::HostUnreachable,
        DialError::Timeout { .. } => Outcome::Expired,
        _ => Outcome::Failed,
    }
}
