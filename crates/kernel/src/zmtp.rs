//! ZeroMQ's wire protocol, as much of it as a Jupyter client speaks: ZMTP 3.0 without security over a Unix socket. A
//! kernel binds its sockets; we connect once, and a lost connection means a lost kernel.
//!
//! Frames are read with a bound: their beginning and their end are kept, what lies between goes through the caller's
//! hands and is dropped, so that a kernel which sends a gigabyte in one frame costs no more memory than the bound.

use std::io;
use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// Bytes of a greeting: signature, version, mechanism, role, filler.
const GREETING: usize = 64;
const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;
/// Bytes read from a socket at once.
const BUFFER: usize = 64 << 10;
/// Longest handshake command worth reading.
const LONGEST_COMMAND: usize = 4 << 10;

/// What a socket of ours is to its peer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role<'a> {
    /// Asks and is answered; the identity tells its answers from others'.
    Dealer { identity: &'a str },
    /// Hears everything that is published.
    Subscriber,
}

/// Connects to a bound socket and greets it.
pub(crate) async fn connect(path: &Path, role: Role<'_>) -> io::Result<(FrameReader, FrameWriter)> {
    let (reader, writer) = UnixStream::connect(path).await?.into_split();
    let (mut reader, mut writer) = (FrameReader::over(reader), FrameWriter::over(writer));
    writer.write(&greeting()).await?;
    let theirs = reader.exactly(GREETING).await?;
    if theirs.first() != Some(&0xff) || theirs.get(10).is_none_or(|version| *version < 3) {
        return Err(broken("the peer does not speak ZMTP 3"));
    }
    if theirs.get(12..17) != Some(b"NULL\0") {
        return Err(broken("the peer asks for a security mechanism"));
    }
    writer.write(&ready(role)).await?;
    let answer = reader.frame(Keep::head(LONGEST_COMMAND), |_| ()).await?;
    if !answer.command || !answer.bytes.starts_with(b"\x05READY") {
        let said = String::from_utf8_lossy(&answer.bytes).into_owned();
        return Err(broken(&format!("the peer refused the connection: {said:?}")));
    }
    if matches!(role, Role::Subscriber) {
        writer.send(&[b"\x01"]).await?;
    }
    Ok((reader, writer))
}

fn greeting() -> [u8; GREETING] {
    let mut greeting = [0; GREETING];
    greeting[0] = 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    greeting[12..16].copy_from_slice(b"NULL");
    greeting
}

/// The command that ends the handshake: what we are.
fn ready(role: Role<'_>) -> Vec<u8> {
    let (kind, identity) = match role {
        Role::Dealer { identity } => ("DEALER", identity),
        Role::Subscriber => ("SUB", ""),
    };
    let mut body = b"\x05READY".to_vec();
    for (name, value) in [("Socket-Type", kind), ("Identity", identity)] {
        body.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&u32::try_from(value.len()).unwrap_or(u32::MAX).to_be_bytes());
        body.extend_from_slice(value.as_bytes());
    }
    let mut command = vec![COMMAND, u8::try_from(body.len()).unwrap_or(u8::MAX)];
    command.append(&mut body);
    command
}

/// How much of a frame is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Keep {
    /// Bytes of its beginning.
    pub(crate) head: usize,
    /// Bytes of its end, when it is longer than that.
    pub(crate) tail: usize,
}

impl Keep {
    /// Nothing.
    pub(crate) const NOTHING: Self = Self { head: 0, tail: 0 };

    /// The beginning alone.
    pub(crate) const fn head(head: usize) -> Self {
        Self { head, tail: 0 }
    }
}

/// One frame of a message.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    /// Its beginning: all of it, if it was not longer than the bound.
    pub(crate) bytes: Vec<u8>,
    /// Its end, if it was longer.
    pub(crate) tail: Vec<u8>,
    /// How long it really was.
    pub(crate) length: u64,
    /// Whether another frame of the same message follows.
    pub(crate) more: bool,
    /// Whether it is a command of the protocol and no part of a message.
    pub(crate) command: bool,
}

/// The reading side of a connection.
#[derive(Debug)]
pub(crate) struct FrameReader {
    stream: OwnedReadHalf,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were handed out.
    read: usize,
}

impl FrameReader {
    pub(crate) fn over(stream: OwnedReadHalf) -> Self {
        Self { stream, buffer: Vec::new(), read: 0 }
    }

    /// Reads the next frame, keeps what is asked for and shows all of it to `seen`. Not to be cancelled: half a frame
    /// would be lost.
    pub(crate) async fn frame(
        &mut self,
        keep: Keep,
        mut seen: impl FnMut(&[u8]),
    ) -> io::Result<Frame> {
        let flags = self.exactly(1).await?.first().copied().unwrap_or_default();
        let mut length = [0; 8];
        let width = if flags & LONG == 0 { 1 } else { 8 };
        let bytes = self.exactly(width).await?;
        if let Some(end) = length.get_mut(8 - width..) {
            end.copy_from_slice(&bytes);
        }
        let length = u64::from_be_bytes(length);
        let (mut bytes, mut tail) = (Vec::new(), Vec::new());
        let mut left = length;
        while left > 0 {
            if self.available().is_empty() {
                self.fill().await?;
            }
            let available = self.available();
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(available.len());
            let part = available.get(..count).unwrap_or_default();
            seen(part);
            let (first, later) = part.split_at(part.len().min(keep.head - bytes.len()));
            bytes.extend_from_slice(first);
            tail.extend_from_slice(later);
            // Twice the bound before it is trimmed: each byte is moved once, not at every read.
            if tail.len() > 2 * keep.tail {
                tail.drain(..tail.len() - keep.tail);
            }
            self.read += count;
            left -= count as u64;
        }
        tail.drain(..tail.len().saturating_sub(keep.tail));
        Ok(Frame { bytes, tail, length, more: flags & MORE != 0, command: flags & COMMAND != 0 })
    }

    fn available(&self) -> &[u8] {
        self.buffer.get(self.read..).unwrap_or_default()
    }

    /// Reads this many bytes, few of them.
    async fn exactly(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.available().len() < count {
            self.fill().await?;
        }
        let bytes = self.available().get(..count).unwrap_or_default().to_vec();
        self.read += count;
        Ok(bytes)
    }

    /// Reads more bytes behind those available.
    async fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.read);
        self.read = 0;
        self.buffer.reserve(BUFFER);
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// The writing side of a connection.
#[derive(Debug)]
pub(crate) struct FrameWriter {
    stream: OwnedWriteHalf,
    /// Whether a message was given up half written: whatever follows would be taken for its rest.
    broken: bool,
}

impl FrameWriter {
    pub(crate) fn over(stream: OwnedWriteHalf) -> Self {
        Self { stream, broken: false }
    }

    /// Lets go of this side alone: dropped, it would tell the peer that nothing more comes, and be hung up on.
    pub(crate) fn forget(self) {
        self.stream.forget();
    }

    /// Sends a message of these frames.
    pub(crate) async fn send(&mut self, frames: &[&[u8]]) -> io::Result<()> {
        self.write(&encode(frames)).await
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if std::mem::replace(&mut self.broken, true) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.stream.write_all(bytes).await?;
        self.broken = false;
        Ok(())
    }
}

fn encode(frames: &[&[u8]]) -> Vec<u8> {
    let mut message = Vec::with_capacity(frames.iter().map(|frame| frame.len() + 9).sum());
    for (position, frame) in frames.iter().enumerate() {
        let more = if position + 1 < frames.len() { MORE } else { 0 };
        if let Ok(length) = u8::try_from(frame.len()) {
            message.extend_from_slice(&[more, length]);
        } else {
            message.push(more | LONG);
            message.extend_from_slice(&(frame.len() as u64).to_be_bytes());
        }
        message.extend_from_slice(frame);
    }
    message
}

fn broken(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader of these bytes, and the other end of its socket.
    async fn reader_of(bytes: &[u8]) -> (FrameReader, UnixStream) {
        let (mut theirs, ours) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).await.unwrap();
        let (stream, _) = ours.into_split();
        (FrameReader::over(stream), theirs)
    }

    #[tokio::test]
    async fn what_is_written_is_read_whatever_its_length() {
        let long = vec![b'x'; 70_000];
        let frames: [&[u8]; 4] = [b"", b"a", &long[..255], &long];
        let (mut reader, _theirs) = reader_of(&encode(&frames)).await;
        for (position, frame) in frames.iter().enumerate() {
            let read = reader.frame(Keep::head(usize::MAX), |_| ()).await.unwrap();
            assert_eq!(read.bytes, *frame);
            assert_eq!(read.length, frame.len() as u64);
            assert_eq!((read.more, read.command), (position < 3, false));
        }
    }

    #[tokio::test]
    async fn beyond_the_bound_bytes_are_seen_and_dropped() {
        let long: Vec<u8> = (0..100_000_u32).map(|number| (number % 251) as u8).collect();
        let (mut reader, _theirs) = reader_of(&encode(&[&long, &long[..20], b"next"])).await;
        let mut seen = Vec::new();
        let keep = Keep { head: 10, tail: 7 };
        let cut = reader.frame(keep, |bytes| seen.extend_from_slice(bytes)).await.unwrap();
        assert_eq!((cut.length, seen == long), (100_000, true));
        assert_eq!((&cut.bytes[..], &cut.tail[..]), (&long[..10], &long[99_993..]));
        let cut = reader.frame(Keep { head: 15, tail: 7 }, |_| ()).await.unwrap();
        assert_eq!((&cut.bytes[..], &cut.tail[..]), (&long[..15], &long[15..20]));
        assert_eq!(reader.frame(Keep::head(10), |_| ()).await.unwrap().bytes, b"next");
    }

    #[tokio::test]
    async fn after_half_a_message_nothing_more_is_sent() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (_, writer) = ours.into_split();
        let mut writer = FrameWriter::over(writer);
        let large = vec![b'x'; 16 << 20];
        let large = [large.as_slice()];
        tokio::select! {
            _ = writer.send(&large) => panic!("nobody reads it"),
            read = theirs.readable() => read.unwrap(),
        }
        let error = writer.send(&[b"next"]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn a_lost_connection_is_an_error_even_inside_a_frame() {
        let (mut reader, theirs) = reader_of(&[0, 9, b'x']).await;
        drop(theirs);
        let error = reader.frame(Keep::head(10), |_| ()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
