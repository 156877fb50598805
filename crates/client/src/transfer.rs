//! Files of any size, sent and received piece by piece.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use atoll_operation::ByteStream;
use bytes::Bytes;
use futures::stream::{self, BoxStream, Stream, StreamExt};
use http_body_util::{BodyDataStream, BodyExt, StreamBody};
use hyper::Response;
use hyper::body::{Frame, Incoming};
use hyper::header::{self, HeaderMap};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;

use crate::client::Body;
use crate::error::ClientError;

/// The bytes of a file to upload.
pub struct Payload {
    bytes: ByteStream,
    length: Option<u64>,
}

impl Payload {
    /// Bytes that come piece by piece, of which it is known how many there will be. A server takes them faster.
    pub fn of_length(bytes: ByteStream, length: u64) -> Self {
        Self { bytes, length: Some(length) }
    }
}

impl From<ByteStream> for Payload {
    fn from(bytes: ByteStream) -> Self {
        Self { bytes, length: None }
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        let length = Some(bytes.len() as u64);
        Self { bytes: stream::iter([Ok(bytes)]).boxed(), length }
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload").finish_non_exhaustive()
    }
}

/// A form, ready to be sent.
pub(crate) struct Form {
    pub(crate) content_type: String,
    pub(crate) body: Body,
    /// How many bytes it has, where that is known beforehand.
    pub(crate) length: Option<u64>,
}

/// A form with these fields and a file behind them.
pub(crate) fn form(fields: &[(String, String)], file: Option<(&str, Payload)>) -> Form {
    let random = generate_key();
    let random = random.chars().filter(char::is_ascii_alphanumeric);
    let boundary: String = "atoll-form-".chars().chain(random).collect();
    let mut head = String::new();
    for (name, text) in fields {
        let name = quote(name);
        head.push_str(&format!(
            "--{boundary}\r\nContent-Disposition: form-data; name={name}\r\n\r\n{text}\r\n"
        ));
    }
    let mut tail = format!("--{boundary}--\r\n");
    let mut payload = Payload { bytes: stream::empty().boxed(), length: Some(0) };
    if let Some((filename, file)) = file {
        let filename = quote(filename);
        head.push_str(&format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename={filename}\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        ));
        tail.insert_str(0, "\r\n");
        payload = file;
    }
    let length = payload.length.map(|length| length + (head.len() + tail.len()) as u64);
    let whole = stream::iter([Ok(Bytes::from(head))])
        .chain(payload.bytes)
        .chain(stream::iter([Ok(Bytes::from(tail))]));
    let body = StreamBody::new(whole.map(|bytes: io::Result<Bytes>| bytes.map(Frame::data)));
    let content_type = format!("multipart/form-data; boundary={boundary}");
    Form { content_type, body: body.boxed_unsync(), length }
}

/// A text in quotes; what would end the header becomes `_`.
fn quote(text: &str) -> String {
    let text: String =
        text.chars().map(|char| if char.is_control() { '_' } else { char }).collect();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A file that is being received. What breaks off ends with an error, never as if it were whole.
pub struct Downloading {
    status: u16,
    headers: HeaderMap,
    bytes: BoxStream<'static, Result<Bytes, ClientError>>,
}

impl Downloading {
    pub(crate) fn new(response: Response<Incoming>) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = BodyDataStream::new(body).map(|bytes| {
            bytes.map_err(|error| ClientError::transport("the download broke off", error))
        });
        Self { status: parts.status.as_u16(), headers: parts.headers, bytes: bytes.boxed() }
    }

    /// The HTTP status: 200, or 206 for a part.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// A header of the answer.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// How many bytes there will be, where that is known beforehand.
    pub fn length(&self) -> Option<u64> {
        self.header(header::CONTENT_LENGTH.as_str())?.parse().ok()
    }
}

impl Stream for Downloading {
    type Item = Result<Bytes, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.bytes.poll_next_unpin(cx)
    }
}

impl fmt::Debug for Downloading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Downloading").field("status", &self.status).finish_non_exhaustive()
    }
}
