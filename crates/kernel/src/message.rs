//! Jupyter's messages: signed JSON frames. Written whole; read with a bound on their content, which is chosen when the
//! headers, and with them what the message is and whom it concerns, are known.

use std::io;

use hmac::{Hmac, Mac};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::Sha256;

use crate::zmtp::{Frame, FrameReader, FrameWriter, Keep};

const DELIMITER: &[u8] = b"<IDS|MSG>";
/// Version of the messaging protocol we speak.
const VERSION: &str = "5.3";
/// Longest header, topic or signature of a message that makes sense.
const HEADER: Keep = Keep::head(64 << 10);

/// How one client signs its messages and reads its kernel's.
#[derive(Debug, Clone)]
pub(crate) struct Signer {
    key: Hmac<Sha256>,
    /// The client's id, in the header of each of its messages.
    session: String,
}

/// A message from the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// What it is: `stream`, `status`, `execute_reply`, …
    pub(crate) kind: String,
    /// Id of the message it answers; empty when it answers none.
    pub(crate) parent: String,
    /// Its content, JSON; of one over the bound the beginning.
    pub(crate) content: Vec<u8>,
    /// The end of a content over the bound, as far as it was wanted.
    pub(crate) tail: Vec<u8>,
    /// How long its content really was.
    pub(crate) length: u64,
}

impl Message {
    /// Whether its content was over the bound.
    pub(crate) fn is_cut(&self) -> bool {
        self.length > self.content.len() as u64
    }
}

#[derive(Deserialize)]
struct Header {
    msg_type: String,
}

#[derive(Deserialize)]
struct Parent {
    #[serde(default)]
    msg_id: String,
}

impl Signer {
    /// A signer with this key, for a client with this id.
    pub(crate) fn new(key: &str, session: String) -> Self {
        // Any length is a valid key; an empty one stands in for what cannot happen.
        let key = Hmac::new_from_slice(key.as_bytes())
            .unwrap_or_else(|_| Hmac::new(&hmac::digest::Key::<Hmac<Sha256>>::default()));
        Self { key, session }
    }

    /// Sends a message.
    pub(crate) async fn send(
        &self,
        writer: &mut FrameWriter,
        kind: &str,
        id: &str,
        content: &Value,
    ) -> io::Result<()> {
        let header = json!({
            "msg_id": id,
            "msg_type": kind,
            "session": self.session,
            "username": "atoll",
            "date": jiff::Timestamp::now().to_string(),
            "version": VERSION,
        });
        let (header, content) = (header.to_string(), content.to_string());
        let parts: [&[u8]; 4] = [header.as_bytes(), b"{}", b"{}", content.as_bytes()];
        let mut mac = self.key.clone();
        for part in parts {
            mac.update(part);
        }
        let signature = hex(&mac.finalize().into_bytes());
        let [header, parent, metadata, content] = parts;
        writer.send(&[DELIMITER, signature.as_bytes(), header, parent, metadata, content]).await
    }

    /// Reads the next message; `keep` says how much of the content is wanted, by kind and parent. Commands of the
    /// protocol and messages that are not signed with our key are passed over.
    pub(crate) async fn read(
        &self,
        reader: &mut FrameReader,
        keep: impl Fn(&str, &str) -> Keep,
    ) -> io::Result<Message> {
        loop {
            if let Some(message) = self.read_one(reader, &keep).await? {
                return Ok(message);
            }
            tracing::debug!("a message that is none was passed over");
        }
    }

    async fn read_one(
        &self,
        reader: &mut FrameReader,
        keep: impl Fn(&str, &str) -> Keep,
    ) -> io::Result<Option<Message>> {
        // The topic or identity, which we know, comes first.
        let mut frame = reader.frame(HEADER, |_| ()).await?;
        while frame.more && frame.bytes != DELIMITER {
            frame = reader.frame(HEADER, |_| ()).await?;
        }
        let mut parts = Parts { reader, more: frame.more, complete: true };
        let mut mac = self.key.clone();
        let signature = parts.next(HEADER, |_| ()).await?.bytes;
        let header = parts.next(HEADER, |bytes| mac.update(bytes)).await?.bytes;
        let parent = parts.next(HEADER, |bytes| mac.update(bytes)).await?.bytes;
        parts.next(Keep::NOTHING, |bytes| mac.update(bytes)).await?;
        let kind = serde_json::from_slice(&header).map(|Header { msg_type }| msg_type);
        let parent = serde_json::from_slice(&parent).map(|Parent { msg_id }| msg_id);
        let (kind, parent) = (kind.unwrap_or_default(), parent.unwrap_or_default());
        let content = parts.next(keep(&kind, &parent), |bytes| mac.update(bytes)).await?;
        let complete = parts.complete;
        while parts.more {
            parts.next(Keep::NOTHING, |_| ()).await?;
        }
        let valid = complete && mac.verify_slice(&unhex(&signature)).is_ok() && !kind.is_empty();
        let Frame { bytes: content, tail, length, .. } = content;
        Ok(valid.then_some(Message { kind, parent, content, tail, length }))
    }
}

/// The frames of one message.
struct Parts<'a> {
    reader: &'a mut FrameReader,
    more: bool,
    /// Whether every frame asked for was there.
    complete: bool,
}

impl Parts<'_> {
    async fn next(&mut self, keep: Keep, seen: impl FnMut(&[u8])) -> io::Result<Frame> {
        if !self.more {
            self.complete = false;
            return Ok(Frame::default());
        }
        let frame = self.reader.frame(keep, seen).await?;
        self.more = frame.more;
        Ok(frame)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes spelled; garbage gives bytes that verify nothing.
fn unhex(text: &[u8]) -> Vec<u8> {
    text.chunks(2)
        .map(|pair| {
            let digits = std::str::from_utf8(pair).unwrap_or_default();
            u8::from_str_radix(digits, 16).unwrap_or_default()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixStream;

    use super::*;

    /// A connection whose two ends we are.
    fn connection() -> (FrameWriter, FrameReader) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (reader, _) = theirs.into_split();
        let (_, writer) = ours.into_split();
        (FrameWriter::over(writer), FrameReader::over(reader))
    }

    #[tokio::test]
    async fn a_signed_message_arrives_and_its_content_is_cut_where_asked() {
        let (mut writer, mut reader) = connection();
        let signer = Signer::new("key", "me".to_owned());
        let content = json!({"code": "1 + 1"});
        signer.send(&mut writer, "execute_request", "id", &content).await.unwrap();
        signer.send(&mut writer, "execute_request", "id", &content).await.unwrap();
        let whole = signer.read(&mut reader, |_, _| Keep::head(usize::MAX)).await.unwrap();
        assert_eq!((whole.kind.as_str(), whole.parent.as_str()), ("execute_request", ""));
        assert_eq!(serde_json::from_slice::<Value>(&whole.content).unwrap(), content);
        assert!(!whole.is_cut());
        let cut = signer.read(&mut reader, |kind, _| Keep::head(kind.len())).await.unwrap();
        assert_eq!((cut.content.len(), cut.length), (15, whole.length));
        assert!(cut.is_cut());
    }

    #[tokio::test]
    async fn messages_signed_with_another_key_or_none_are_passed_over() {
        let (mut writer, mut reader) = connection();
        let signer = Signer::new("key", "me".to_owned());
        let forger = Signer::new("other", "me".to_owned());
        forger.send(&mut writer, "forged", "id", &json!({})).await.unwrap();
        writer.send(&[b"topic", DELIMITER]).await.unwrap();
        writer.send(&[DELIMITER, b"zz", b"{}", b"{}", b"{}", b"{}"]).await.unwrap();
        writer.send(&[b"no message at all"]).await.unwrap();
        signer.send(&mut writer, "real", "id", &json!({})).await.unwrap();
        assert_eq!(signer.read(&mut reader, |_, _| Keep::head(100)).await.unwrap().kind, "real");
    }
}
