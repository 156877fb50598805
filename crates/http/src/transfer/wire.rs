//! A connection's socket, which can send files.
//!
//! HTTP's machinery hands over bytes in order; where a body consists of stand-ins for a file, the kernel sends the file
//! in their place. Which file is said in a queue beside the bytes, filled in the same order, so that each stand-in meets
//! its file; one that met none would break the connection, never be sent. A peer that takes nothing for a long time is
//! given up. What comes in can be drawn off, past HTTP's machinery.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, Sleep, sleep};

use super::sendfile::{is_stand_in, read, shortened};
use super::siphon::Tap;

/// How long a peer may take nothing of what is sent to it.
const SEND_PATIENCE: Duration = Duration::from_mins(10);
/// Bytes copied at once where the kernel does not send a file by itself.
const COPY_BYTES: usize = 256 << 10;

/// Files that stand-ins in a connection's answers mean, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outgoing(Arc<Mutex<VecDeque<Segment>>>);

/// A part of a file to be sent.
#[derive(Debug)]
pub(super) struct Segment {
    file: Arc<File>,
    offset: u64,
    left: usize,
    /// The kernel does not send this file by itself.
    copied: bool,
}

impl Segment {
    pub(super) fn new(file: Arc<File>, offset: u64, length: usize) -> Self {
        Self { file, offset, left: length, copied: false }
    }
}

impl Outgoing {
    pub(super) fn push(&self, segment: Segment) {
        self.lock().push_back(segment);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Segment>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A socket the kernel can send files to.
pub(crate) trait Socket:
    AsyncRead + AsyncWrite + AsFd + Unpin + Send + Sync + 'static
{
    /// Waits until something can be read, or nothing ever will.
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Waits until something can be written.
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Writes without waiting; notes when nothing could be written.
    fn attempt(&self, write: impl FnOnce() -> io::Result<usize>) -> io::Result<usize>;
}

/// Looks whether there is a byte, and leaves it there.
fn peek(socket: &impl AsFd) -> io::Result<()> {
    rustix::net::recv(socket, &mut [0; 1], RecvFlags::PEEK)?;
    Ok(())
}

impl Socket for TcpStream {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_read_ready(cx))?;
            // A new socket counts as ready until somebody has looked.
            match self.try_io(Interest::READABLE, || peek(self)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                looked => return Poll::Ready(looked),
            }
        }
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_write_ready(cx)
    }

    fn attempt(&self, write: impl FnOnce() -> io::Result<usize>) -> io::Result<usize> {
        self.try_io(Interest::WRITABLE, write)
    }
}

impl Socket for UnixStream {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_read_ready(cx))?;
            // A new socket counts as ready until somebody has looked.
            match self.try_io(Interest::READABLE, || peek(self)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                looked => return Poll::Ready(looked),
            }
        }
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_write_ready(cx)
    }

    fn attempt(&self, write: impl FnOnce() -> io::Result<usize>) -> io::Result<usize> {
        self.try_io(Interest::WRITABLE, write)
    }
}

/// A socket with the files to be sent through it.
#[derive(Debug)]
pub(crate) struct Wire<S> {
    socket: S,
    outgoing: Outgoing,
    tap: Tap,
    copy: Copy,
    patience: Patience,
    /// Held as long as the connection is open, also after it has changed over to a WebSocket.
    _place: Option<OwnedSemaphorePermit>,
}

impl<S: Socket> Wire<S> {
    pub(crate) fn new(socket: S, outgoing: Outgoing) -> Self {
        let (copy, patience) = (Copy::default(), Patience::default());
        Self { socket, outgoing, tap: Tap::default(), copy, patience, _place: None }
    }

    /// The same, whose incoming bytes can be drawn off.
    pub(crate) fn tapped(self, tap: Tap) -> Self {
        Self { tap, ..self }
    }

    /// The same, taking this place among connections.
    pub(crate) fn holding(self, place: OwnedSemaphorePermit) -> Self {
        Self { _place: Some(place), ..self }
    }

    /// Sends up to so many bytes of the file that is next.
    fn poll_send(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<io::Result<usize>> {
        let mut segments = self.outgoing.lock();
        let Some(segment) = segments.front_mut() else {
            return Poll::Ready(Err(io::Error::other("bytes were to be sent that mean no file")));
        };
        let most = most.min(segment.left);
        while !segment.copied {
            ready!(self.socket.poll_writable(cx))?;
            let sent = self.socket.attempt(|| {
                let mut offset = segment.offset;
                let sent =
                    rustix::fs::sendfile(&self.socket, &segment.file, Some(&mut offset), most);
                sent.map_err(io::Error::from)
            });
            match sent {
                Ok(0) => return Poll::Ready(Err(shortened())),
                Ok(sent) => return Poll::Ready(Ok(pass(&mut segments, sent))),
                Err(error) => match (error.kind(), Errno::from_io_error(&error)) {
                    (io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted, _) => {}
                    (_, Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)) => {
                        segment.copied = true;
                    }
                    _ => return Poll::Ready(Err(error)),
                },
            }
        }
        let sent = ready!(self.copy.poll_send(cx, &mut self.socket, segment, most))?;
        Poll::Ready(Ok(pass(&mut segments, sent)))
    }
}

/// Moves past what was sent of the first segment.
fn pass(segments: &mut VecDeque<Segment>, sent: usize) -> usize {
    if let Some(segment) = segments.front_mut() {
        segment.offset += sent as u64;
        segment.left -= sent;
        if segment.left == 0 {
            segments.pop_front();
        }
    }
    sent
}

/// Sends a file the kernel does not send by itself: its bytes are read where waiting for them holds nobody up.
#[derive(Debug, Default)]
struct Copy {
    reading: Option<JoinHandle<io::Result<Bytes>>>,
    /// Bytes at the segment's offset.
    bytes: Bytes,
}

impl Copy {
    fn poll_send<S: Socket>(
        &mut self,
        cx: &mut Context<'_>,
        socket: &mut S,
        segment: &Segment,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        if self.bytes.is_empty() {
            let reading = self.reading.get_or_insert_with(|| {
                let (file, offset) = (Arc::clone(&segment.file), segment.offset);
                spawn_blocking(move || read(&file, offset, most.min(COPY_BYTES)))
            });
            let bytes = ready!(Pin::new(reading).poll(cx));
            self.reading = None;
            self.bytes = bytes.map_err(io::Error::other).flatten()?;
        }
        let most = most.min(self.bytes.len());
        let sent = ready!(Pin::new(socket).poll_write(cx, &self.bytes[..most]))?;
        self.bytes.advance(sent);
        Poll::Ready(Ok(sent))
    }
}

/// Gives a peer up that takes nothing.
#[derive(Debug, Default)]
struct Patience {
    end: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl Patience {
    fn limit<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = false;
            return polled;
        }
        let end = self.end.get_or_insert_with(|| Box::pin(sleep(SEND_PATIENCE)));
        if !self.waiting {
            self.waiting = true;
            end.as_mut().reset(Instant::now() + SEND_PATIENCE);
        }
        ready!(end.as_mut().poll(cx));
        let message = "the peer has taken nothing for too long";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)))
    }
}

impl<S: Socket> AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.tap.diverts(&self.socket) {
            // For good: nobody need be woken.
            return Poll::Pending;
        }
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl<S: Socket> AsyncWrite for Wire<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let plain = slices.iter().take_while(|slice| !is_stand_in(slice)).count();
        let (plain, rest) = slices.split_at(plain);
        let polled = match rest.first() {
            Some(stand_in) if plain.iter().all(|slice| slice.is_empty()) => {
                this.poll_send(cx, stand_in.len())
            }
            _ => Pin::new(&mut this.socket).poll_write_vectored(cx, plain),
        };
        this.patience.limit(cx, polled)
    }

    /// So that bytes are handed over as they are: a stand-in that was copied would no longer be one.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
