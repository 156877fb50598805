//! A keep-alive HTTP/1.1 connection, blocking and written by hand: nothing of a client library's own scheduling is in
//! the times measured through it. It knows just what the servers here answer: a length or chunks.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use crate::Failure;

/// Longest wait for a server in any contest that does not say otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// A request, ready to be written.
#[derive(Debug, Clone)]
pub(crate) struct Request(Vec<u8>);

impl Request {
    /// A request without a body, with one more header.
    pub(crate) fn get(path: &str, (name, value): (&str, &str)) -> Self {
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{name}: {value}\r\n\r\n");
        Self(head.into_bytes())
    }

    /// A JSON request with one more header.
    pub(crate) fn post(path: &str, (name, value): (&str, &str), body: &serde_json::Value) -> Self {
        let body = body.to_string();
        let length = body.len();
        Self(
            format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\n{name}: {value}\r\n\
                 content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            )
            .into_bytes(),
        )
    }
}

impl Request {
    /// A JSON request with any headers.
    pub(crate) fn post_with(
        path: &str,
        headers: &[(&str, &str)],
        body: &serde_json::Value,
    ) -> Self {
        let body = body.to_string();
        let headers: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        Self(
            format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\
                 content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            )
            .into_bytes(),
        )
    }
}

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// The JSON body of an answer with status 200; what else came is the error.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let shown = || String::from_utf8_lossy(&self.body).chars().take(300).collect::<String>();
        if self.status != 200 {
            return Err(format!("HTTP {}: {}", self.status, shown()).into());
        }
        serde_json::from_slice(&self.body).map_err(|error| format!("{error} in {}", shown()).into())
    }
}

/// A connection to a server on loopback.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    /// Read but not used yet.
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: Vec::with_capacity(64 << 10) })
    }

    /// Fails instead of waiting longer than this for the next bytes of an answer.
    pub(crate) fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(patience))
    }

    /// Sends a request and takes the time until its answer is here whole.
    pub(crate) fn time(&mut self, request: &Request) -> io::Result<(Duration, Response)> {
        let started = Instant::now();
        self.stream.write_all(&request.0)?;
        let response = self.receive()?;
        Ok((started.elapsed(), response))
    }

    /// Sends a request.
    pub(crate) fn ask(&mut self, request: &Request) -> io::Result<Response> {
        self.time(request).map(|(_, response)| response)
    }

    /// Sends a request and returns the head of its answer too.
    pub(crate) fn ask_for_head(&mut self, request: &Request) -> io::Result<(String, Response)> {
        self.stream.write_all(&request.0)?;
        self.receive_with_head()
    }

    fn receive(&mut self) -> io::Result<Response> {
        self.receive_with_head().map(|(_, response)| response)
    }

    fn receive_with_head(&mut self) -> io::Result<(String, Response)> {
        let head_end = self.fill_until(b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&self.buffer[..head_end]).into_owned();
        self.buffer.drain(..head_end);
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or_else(|| malformed("status line", &head))?;
        let header = |wanted: &str| {
            let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
            fields
                .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
                .map(|(_, value)| value.trim())
        };
        let body = if let Some(length) = header("content-length") {
            self.take(length.parse().map_err(|_| malformed("content-length", length))?)?
        } else if header("transfer-encoding").is_some_and(|value| value == "chunked") {
            self.take_chunks()?
        } else {
            return Err(malformed("body: neither a length nor chunks", &head));
        };
        Ok((head, Response { status, body }))
    }

    fn take_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line_end = self.fill_until(b"\r\n")?;
            let line = self.take(line_end)?;
            let size = String::from_utf8_lossy(&line);
            let size = usize::from_str_radix(size.trim_end(), 16)
                .map_err(|_| malformed("chunk size", &size))?;
            body.append(&mut self.take(size)?);
            self.take(2)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    /// Reads until the buffer holds the mark; the position behind it.
    fn fill_until(&mut self, mark: &[u8]) -> io::Result<usize> {
        let mut searched = 0;
        loop {
            if let Some(position) = memchr::memmem::find(&self.buffer[searched..], mark) {
                return Ok(searched + position + mark.len());
            }
            searched = self.buffer.len().saturating_sub(mark.len() - 1);
            let mut part = [0; 16 << 10];
            let count = self.stream.read(&mut part)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.buffer.extend_from_slice(&part[..count]);
        }
    }

    /// Takes this many bytes, reading what is not here yet.
    fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        if self.buffer.len() >= count {
            return Ok(self.buffer.drain(..count).collect());
        }
        let mut taken = std::mem::replace(&mut self.buffer, Vec::with_capacity(64 << 10));
        let here = taken.len();
        taken.resize(count, 0);
        self.stream.read_exact(&mut taken[here..])?;
        Ok(taken)
    }
}

fn malformed(what: &str, text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the answer has a bad {what}: {text:?}"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A connection to a server that answers with these bytes, then closes.
    fn answered_with(answer: &'static [u8]) -> Connection {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(answer).unwrap();
        });
        Connection::open(port).unwrap()
    }

    #[test]
    fn answers_with_a_length_and_in_chunks_follow_each_other_on_one_connection() {
        let mut connection = answered_with(
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n[1,2]HTTP/1.1 404 Not Found\r\n\
              transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n\
              HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        );
        assert_eq!(connection.receive().unwrap().json::<Vec<u8>>().unwrap(), [1, 2]);
        let chunked = connection.receive().unwrap();
        assert_eq!((chunked.status, &chunked.body[..]), (404, &b"abcde"[..]));
        assert!(chunked.json::<u8>().unwrap_err().to_string().contains("HTTP 404: abcde"));
        assert_eq!(connection.receive().unwrap().body, b"");
    }

    #[test]
    fn an_answer_that_breaks_off_is_an_error() {
        for answer in
            [&b"HTTP/1.1 200 OK\r\n"[..], b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab"]
        {
            let error = answered_with(answer).receive().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
