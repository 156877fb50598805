//! Reads `text/event-stream`.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use futures::stream::{self, BoxStream, Stream, StreamExt};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

use crate::error::ClientError;

pub(crate) const CONTENT_TYPE: &str = "text/event-stream";

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamEvent {
    /// What happened.
    pub name: String,
    /// Where the stream stands after it; resume with it.
    pub id: Option<String>,
    /// The event's body.
    pub data: Value,
}

/// The events of a stream, until it ends.
pub struct Events(BoxStream<'static, Result<StreamEvent, ClientError>>);

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl Stream for Events {
    type Item = Result<StreamEvent, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

pub(crate) fn events(body: Incoming) -> Events {
    let state = Some((body, Blocks::default()));
    let events = stream::unfold(state, async |state| {
        let (mut body, mut blocks) = state?;
        loop {
            while let Some(block) = blocks.take() {
                if let Some(event) = parse(&block) {
                    return Some((Ok(event), Some((body, blocks))));
                }
            }
            match body.frame().await? {
                Ok(frame) => {
                    if let Some(data) = frame.data_ref() {
                        blocks.buffer.extend_from_slice(data);
                    }
                }
                Err(error) => {
                    let error = ClientError::transport("the stream broke off", error);
                    return Some((Err(error), None));
                }
            }
        }
    });
    Events(events.boxed())
}

/// Cuts the stream into blocks of lines, each ended by an empty line.
#[derive(Default)]
struct Blocks {
    buffer: BytesMut,
    /// Bytes known to hold no end, so that a large block is searched once.
    searched: usize,
}

impl Blocks {
    fn take(&mut self) -> Option<BytesMut> {
        let rest = &self.buffer[self.searched..];
        let Some(end) = rest.windows(2).position(|pair| pair == b"\n\n") else {
            self.searched = self.buffer.len().saturating_sub(1);
            return None;
        };
        let block = self.buffer.split_to(self.searched + end);
        self.buffer.advance(2);
        self.searched = 0;
        Some(block)
    }
}

/// The event a block holds; none when it is a comment.
fn parse(block: &[u8]) -> Option<StreamEvent> {
    let text = String::from_utf8_lossy(block);
    let (mut name, mut id, mut data) = ("message", None, None);
    for line in text.lines() {
        match line.split_once(": ") {
            Some(("event", value)) => name = value,
            Some(("id", value)) => id = Some(value.to_owned()),
            Some(("data", value)) => data = Some(value),
            _ => {}
        }
    }
    let data = data?;
    Some(StreamEvent {
        name: name.to_owned(),
        id,
        data: serde_json::from_str(data).unwrap_or_else(|_| Value::from(data)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_are_cut_at_empty_lines_wherever_the_bytes_split() {
        let text = b": keep-alive\n\nevent: output\nid: 7\ndata: {\"a\":1}\n\nda";
        let mut blocks = Blocks::default();
        let mut events = Vec::new();
        for byte in text {
            blocks.buffer.extend_from_slice(&[*byte]);
            while let Some(block) = blocks.take() {
                events.extend(parse(&block));
            }
        }
        assert_eq!(
            events,
            [StreamEvent {
                name: "output".to_owned(),
                id: Some("7".to_owned()),
                data: json!({"a": 1}),
            }]
        );
        assert_eq!(&blocks.buffer[..], b"da");
    }
}
