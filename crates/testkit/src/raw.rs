//! HTTP by hand, for what a client cannot say or does not show: the body as it was sent, a request left half sent.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer as it came.
#[derive(Debug, Clone)]
pub struct RawAnswer {
    /// Status code.
    pub status: u16,
    /// Head, as text.
    pub head: String,
    /// Body.
    pub body: Vec<u8>,
}

/// Sends one request to `http://host:port` and reads the answer until the server closes the connection.
pub async fn request(url: &str, method: &str, path: &str, body: &str) -> io::Result<RawAnswer> {
    let host = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).await?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await?;
    parse(&bytes).ok_or_else(|| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        io::Error::new(io::ErrorKind::InvalidData, text)
    })
}

/// Sends the head of a request and never its body.
pub async fn half_a_request(url: &str, path: &str) -> io::Result<TcpStream> {
    let host = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).await?;
    let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\n{{");
    stream.write_all(head.as_bytes()).await?;
    Ok(stream)
}

fn parse(bytes: &[u8]) -> Option<RawAnswer> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(RawAnswer { status, body: bytes[end + 4..].to_vec(), head })
}
