//! Bodies made of files.
//!
//! A file is read in blocks, like anything else, or it is left to the kernel: then the body consists of stand-ins, which
//! the connection's [`Wire`](super::wire::Wire) recognises and replaces by the file itself. Stand-ins must never go
//! anywhere else. So every answer starts out with the blocks and an [`Offer`] beside them, and only the connection's own
//! service, the last to see an answer, takes the offer up; nothing that might look into a body can meet one.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};

use atoll_operation::FileSource;
use axum::body::{Body, HttpBody};
use axum::http::header::{self, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use rustix::buffer::spare_capacity;
use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2};

use super::ahead::{Ahead, Piece, Prepare};
use super::wire::{Outgoing, Segment};

/// Bytes read at once.
const BLOCK_BYTES: usize = 256 << 10;
/// Bytes left to the kernel at once.
const PIECE_BYTES: usize = 1 << 20;
/// Below this, one read costs less than what the kernel's help takes.
const LEAST_BYTES: u64 = 64 << 10;
/// The kernel reads at least so much together.
const STRETCH_BYTES: usize = 128 << 10;

/// What stands for bytes of a file. Never read or written, so that no memory is ever given to it.
static STAND_IN: LazyLock<&'static [u8]> =
    LazyLock::new(|| Box::leak(vec![0; PIECE_BYTES].into_boxed_slice()));

/// Whether bytes stand for some of a file.
pub(super) fn is_stand_in(bytes: &[u8]) -> bool {
    !bytes.is_empty() && STAND_IN.as_ptr_range().contains(&bytes.as_ptr())
}

/// Stands for so many bytes, at most those of one piece.
pub(super) fn stand_in(length: usize) -> Bytes {
    let stand_in: &'static [u8] = &STAND_IN;
    Bytes::from_static(&stand_in[..length])
}

/// A part of a file that the kernel may send instead of the answer's body.
#[derive(Debug, Clone)]
struct Offer {
    file: Arc<File>,
    range: Range<u64>,
}

/// Makes a part of a file the body of an answer.
pub(super) fn put(response: &mut Response, source: FileSource, range: Range<u64>) {
    let length = range.end - range.start;
    // What must not change while it is sent is read and checked: the kernel would send the file's own pages, which
    // may still change when nobody looks any more.
    if source.check.is_none() && length >= LEAST_BYTES {
        let file = Arc::clone(&source.file);
        response.extensions_mut().insert(Offer { file, range: range.clone() });
    }
    let ahead = Ahead::new(range, BLOCK_BYTES, Reading(source));
    *response.body_mut() = Body::new(FileBody { ahead, sent_by: None });
}

/// Takes an answer's offer up, if it has one. Only for the service of the connection that `outgoing` belongs to.
pub(crate) fn take_up(mut response: Response, outgoing: &Outgoing) -> Response {
    let Some(Offer { file, range }) = response.extensions_mut().remove() else {
        return response;
    };
    // Whatever changed the body must have changed these too.
    let headers = response.headers();
    let length = headers.get(header::CONTENT_LENGTH).map(HeaderValue::as_bytes);
    let unchanged = length == Some((range.end - range.start).to_string().as_bytes())
        && !headers.contains_key(header::CONTENT_ENCODING)
        && !headers.contains_key(header::TRANSFER_ENCODING);
    if !unchanged {
        return response;
    }
    let ahead = Ahead::new(range, PIECE_BYTES, Warming(Arc::clone(&file)));
    let sent_by = Some((outgoing.clone(), file));
    response.map(|_| Body::new(FileBody { ahead, sent_by }))
}

/// A part of a file, piece by piece.
struct FileBody {
    ahead: Ahead,
    /// Who sends the file, when the pieces are stand-ins.
    sent_by: Option<(Outgoing, Arc<File>)>,
}

impl HttpBody for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = ready!(self.ahead.poll_next(cx));
        Poll::Ready(next.map(|next| {
            let (piece, bytes) = next?;
            if let Some((outgoing, file)) = &self.sent_by {
                outgoing.push(Segment::new(Arc::clone(file), piece.offset, piece.length));
            }
            Ok(Frame::data(bytes))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.ahead.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.ahead.left())
    }
}

/// Reads a file's pieces, asking before each and after the last whether it is still the same. The last one is handed
/// on only after that, so that nobody can take a mixture for the whole.
struct Reading(FileSource);

impl Prepare for Reading {
    fn prepare(&self, piece: Piece) -> io::Result<Bytes> {
        let Self(source) = self;
        let check = || source.check.as_ref().map_or(Ok(()), |check| check());
        check()?;
        let bytes = read(&source.file, piece.offset, piece.length)?;
        if piece.last {
            check()?;
        }
        Ok(bytes)
    }
}

/// Brings a file's pieces into memory, so that the kernel need not wait for a disk when it sends them.
struct Warming(Arc<File>);

impl Prepare for Warming {
    fn prepare(&self, piece: Piece) -> io::Result<Bytes> {
        let length = NonZeroU64::new(piece.length as u64);
        // Advice; a file system may not take any.
        fadvise(&self.0, piece.offset, length, Advice::WillNeed).unwrap_or_default();
        for offset in samples(piece) {
            match pread(&self.0, &mut [0; 1], offset) {
                Ok(0) => return Err(shortened()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(stand_in(piece.length))
    }

    fn at_once(&self, piece: Piece) -> Option<Bytes> {
        let is_in_memory = samples(piece).all(|offset| {
            let mut byte = [0; 1];
            let buffer = &mut [IoSliceMut::new(&mut byte)];
            preadv2(&self.0, buffer, offset, ReadWriteFlags::NOWAIT) == Ok(1)
        });
        is_in_memory.then(|| stand_in(piece.length))
    }
}

/// Bytes that tell whether a piece is in memory: one of each stretch that is read together, and the last.
fn samples(piece: Piece) -> impl Iterator<Item = u64> {
    let starts = (0..piece.length).step_by(STRETCH_BYTES).chain([piece.length - 1]);
    starts.map(move |start| piece.offset + start as u64)
}

/// Reads exactly so many bytes.
pub(super) fn read(file: &File, offset: u64, length: usize) -> io::Result<Bytes> {
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let at = offset + bytes.len() as u64;
        match pread(file, spare_capacity(&mut bytes), at) {
            Ok(0) => return Err(shortened()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // The allocation may be larger than asked for.
    bytes.truncate(length);
    Ok(Bytes::from(bytes))
}

/// The file has fewer bytes than were promised.
pub(super) fn shortened() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was sent")
}

#[cfg(test)]
mod tests;
