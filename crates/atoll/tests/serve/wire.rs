//! Requests written by hand, as many as a test needs on one connection.

use atoll_testkit::{LONG, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Makes a request one for a WebSocket.
pub(crate) const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Head and body.
    pub(crate) text: String,
}

/// A connection, opened anew whenever the server ends it.
pub(crate) struct Line {
    host: String,
    stream: Option<TcpStream>,
}

impl Line {
    pub(crate) fn to(server: &Server) -> Self {
        Self { host: server.url().trim_start_matches("http://").to_owned(), stream: None }
    }

    /// The server's name and port.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Sends a request with these further header lines and no body.
    pub(crate) async fn ask(&mut self, method: &str, target: &str, headers: &str) -> Answer {
        self.send(method, target, headers, "").await
    }

    pub(crate) async fn send(
        &mut self,
        method: &str,
        target: &str,
        headers: &str,
        body: &str,
    ) -> Answer {
        let host = format!("Host: {}\r\n", self.host);
        let host = if headers.contains("Host:") { "" } else { &host };
        let length = body.len();
        self.exchange(&format!(
            "{method} {target} HTTP/1.1\r\n{host}{headers}Content-Length: {length}\r\n\r\n{body}"
        ))
        .await
    }

    /// Sends these bytes and reads one answer.
    pub(crate) async fn exchange(&mut self, request: &str) -> Answer {
        // A kept connection may have been ended since: then once more on a new one.
        for _ in 0..2 {
            let kept = self.stream.take();
            let used = kept.is_some();
            let stream = match kept {
                Some(stream) => stream,
                None => TcpStream::connect(&self.host).await.expect("a connection"),
            };
            match timeout(LONG, self.try_exchange(stream, request)).await.expect("an answer") {
                Some(answer) => return answer,
                None => assert!(used, "no answer to {request:?}"),
            }
        }
        unreachable!("a new connection answers or fails the test")
    }

    async fn try_exchange(&mut self, mut stream: TcpStream, request: &str) -> Option<Answer> {
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            // What breaks off before its head is no answer.
            stream.read_buf(&mut bytes).await.ok().filter(|count| *count > 0)?;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let status = head.split_ascii_whitespace().nth(1)?.parse().ok()?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: Option<usize> = length.and_then(|length| length.trim().parse().ok());
        if let Some(length) = length {
            while bytes.len() < end + length {
                stream.read_buf(&mut bytes).await.ok().filter(|count| *count > 0)?;
            }
            if !head.contains("\r\nconnection: close\r\n") {
                self.stream = Some(stream);
            }
        } else if head.contains("\r\nconnection: close\r\n") {
            stream.read_to_end(&mut bytes).await.ok()?;
        }
        Some(Answer { status, text: String::from_utf8_lossy(&bytes).into_owned() })
    }
}
