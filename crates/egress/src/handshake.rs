//! Asking another proxy for a connection, over HTTP or SOCKS5. Not one byte beyond its answer is read: those belong to
//! whoever wanted the connection.

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::host::Host;
use crate::upstream::Credentials;

/// Why a proxy did not connect, in our words.
#[derive(Debug)]
pub(crate) enum Declined {
    /// It wants other credentials.
    Credentials,
    /// Anything else.
    Otherwise(String),
}

impl From<io::Error> for Declined {
    fn from(error: io::Error) -> Self {
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
            _ => format!("the connection to it broke: {error}"),
        };
        Self::Otherwise(why)
    }
}

/// Asks an HTTP proxy.
pub(crate) async fn http(
    stream: &mut TcpStream,
    host: &Host,
    port: u16,
    credentials: Option<&Credentials>,
    head_bytes: usize,
) -> Result<(), Declined> {
    let mut request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
    if let Some(credentials) = credentials {
        request.push_str(&format!("Proxy-Authorization: {}\r\n", credentials.header()));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await?;
    let head = read_head(stream, head_bytes).await?;
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_ascii_whitespace();
    let speaks_http = words.next().is_some_and(|version| version.starts_with("HTTP/1."));
    match words.next().and_then(|status| status.parse::<u16>().ok()).filter(|_| speaks_http) {
        Some(200..=299) => Ok(()),
        Some(407) => Err(Declined::Credentials),
        Some(status) => Err(Declined::Otherwise(format!("it answered with status {status}"))),
        None => Err(Declined::Otherwise("it does not speak HTTP".to_owned())),
    }
}

/// Reads up to and including the empty line, and nothing behind it.
async fn read_head(stream: &mut TcpStream, most: usize) -> Result<Vec<u8>, Declined> {
    let mut head = Vec::new();
    let mut ahead = [0; 2048];
    loop {
        let seen = stream.peek(&mut ahead).await?;
        if seen == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let known = head.len();
        head.extend_from_slice(&ahead[..seen]);
        let end = end_of_head(&head, known);
        head.truncate(end.unwrap_or(head.len()));
        let taken = head.len() - known;
        stream.read_exact(&mut ahead[..taken]).await?;
        if end.is_some() {
            return Ok(head);
        }
        if head.len() > most {
            return Err(Declined::Otherwise("its answer has no end".to_owned()));
        }
        // Something else than HTTP would be waited for in vain.
        if !b"HTTP/1.".starts_with(&head[..head.len().min(7)]) {
            return Err(Declined::Otherwise("it does not speak HTTP".to_owned()));
        }
    }
}

/// Where the first empty line ends, which cannot be before `known` but for its last bytes.
fn end_of_head(head: &[u8], known: usize) -> Option<usize> {
    let from = known.saturating_sub(3);
    let at = |mark: &[u8]| {
        let found = head[from..].windows(mark.len()).position(|window| window == mark);
        found.map(|at| from + at + mark.len())
    };
    match (at(b"\r\n\r\n"), at(b"\n\n")) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

const VERSION: u8 = 5;
const NO_CREDENTIALS: u8 = 0;
const NAME_AND_PASSWORD: u8 = 2;

/// Asks a SOCKS5 proxy, which resolves names itself.
pub(crate) async fn socks(
    stream: &mut TcpStream,
    host: &Host,
    port: u16,
    credentials: Option<&Credentials>,
) -> Result<(), Declined> {
    let methods: &[u8] = match credentials {
        Some(_) => &[VERSION, 2, NO_CREDENTIALS, NAME_AND_PASSWORD],
        None => &[VERSION, 1, NO_CREDENTIALS],
    };
    stream.write_all(methods).await?;
    let [version, method] = read_array(stream).await?;
    if version != VERSION {
        return Err(Declined::Otherwise("it does not speak SOCKS5".to_owned()));
    }
    match (method, credentials) {
        (NO_CREDENTIALS, _) => {}
        (NAME_AND_PASSWORD, Some(credentials)) => introduce(stream, credentials).await?,
        _ => return Err(Declined::Credentials),
    }
    let mut request = vec![VERSION, 1, 0];
    match host {
        Host::Address(IpAddr::V4(address)) => {
            request.push(1);
            request.extend(address.octets());
        }
        Host::Address(IpAddr::V6(address)) => {
            request.push(4);
            request.extend(address.octets());
        }
        Host::Name(name) => {
            request.push(3);
            request.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
            request.extend(name.bytes());
        }
    }
    request.extend(port.to_be_bytes());
    stream.write_all(&request).await?;
    let [version, outcome, _, kind] = read_array(stream).await?;
    if version != VERSION {
        return Err(Declined::Otherwise("it does not speak SOCKS5".to_owned()));
    }
    if outcome != 0 {
        return Err(Declined::Otherwise(meaning(outcome)));
    }
    let rest = match kind {
        1 => 4,
        4 => 16,
        3 => usize::from(read_array::<1>(stream).await?[0]),
        _ => return Err(Declined::Otherwise("it does not speak SOCKS5".to_owned())),
    };
    let mut bound = vec![0; rest + 2];
    stream.read_exact(&mut bound).await?;
    Ok(())
}

async fn introduce(stream: &mut TcpStream, credentials: &Credentials) -> Result<(), Declined> {
    let password = credentials.password.as_deref().unwrap_or_default();
    let mut message = vec![1];
    for text in [credentials.username.as_str(), password] {
        let length = u8::try_from(text.len()).map_err(|_| Declined::Credentials)?;
        message.push(length);
        message.extend(text.bytes());
    }
    stream.write_all(&message).await?;
    match read_array(stream).await? {
        [_, 0] => Ok(()),
        _ => Err(Declined::Credentials),
    }
}

async fn read_array<const N: usize>(stream: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

fn meaning(outcome: u8) -> String {
    let known = match outcome {
        2 => "its rules forbid it",
        3 => "the network cannot be reached from there",
        4 => "the host cannot be reached from there",
        5 => "nobody listens there",
        6 => "it took too long",
        7 | 8 => "it cannot do that",
        _ => "it failed",
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_head_is_found_also_across_what_came_in_pieces() {
        let head = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nrest";
        let end = head.len() - 4;
        for known in 0..end {
            assert_eq!(end_of_head(head, known), Some(end), "{known}");
        }
        assert_eq!(end_of_head(b"HTTP/1.0 200\n\nx", 0), Some(14));
        assert_eq!(end_of_head(b"HTTP/1.1 200 OK\r\n\r", 0), None);
    }
}
