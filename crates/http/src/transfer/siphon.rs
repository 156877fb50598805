//! Bodies that go from their connection into a file without passing through the server's memory.
//!
//! HTTP's machinery reads ahead, so the connection cannot just be taken from it. A [`Tap`] is asked for instead; the
//! connection's [`Wire`](super::wire::Wire) opens it when the machinery next wants bytes, which it does only after
//! handing on all that it had. From then on what arrives belongs to whoever opened the tap, and HTTP gets nothing more
//! from this connection, which therefore ends with the answer.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};

/// Bytes under way at once in each of two pipes, where the system allows it.
const PIPE_BYTES: usize = 1 << 20;
/// Bytes copied at once into a file that the kernel does not fill by itself.
const COPY_BYTES: usize = 256 << 10;

/// Where a body can be drawn off its connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tap(Arc<Mutex<State>>);

#[derive(Debug, Default)]
enum State {
    #[default]
    Shut,
    Asked(oneshot::Sender<io::Result<OwnedFd>>),
    Open,
}

impl Tap {
    /// Asks for the connection's socket. Bytes must be asked of HTTP until it comes: those it hands on are not on the
    /// socket any more.
    pub(crate) fn ask(&self) -> oneshot::Receiver<io::Result<OwnedFd>> {
        let (sender, receiver) = oneshot::channel();
        *self.lock() = State::Asked(sender);
        receiver
    }

    /// Whether what arrives is not for HTTP any more. Asked by the connection each time HTTP wants bytes.
    pub(super) fn diverts(&self, socket: &impl AsFd) -> bool {
        let mut state = self.lock();
        match std::mem::take(&mut *state) {
            State::Shut => return false,
            State::Asked(sender) => {
                // Nobody waits for it any more when the request was given up; its body is of no use to HTTP either.
                drop(sender.send(socket.as_fd().try_clone_to_owned()));
            }
            State::Open => {}
        }
        *state = State::Open;
        true
    }

    /// Whether HTTP gets nothing more from this connection.
    pub(crate) fn is_open(&self) -> bool {
        matches!(*self.lock(), State::Open)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that bytes are drawn from.
#[derive(Debug)]
pub(crate) struct Siphon {
    /// Whatever kind of socket it is: only its readiness and its number are used.
    source: TcpStream,
    /// What is drawn waits here.
    idle: Pipe,
    spare: Option<Pipe>,
    spilling: Option<JoinHandle<io::Result<Pipe>>>,
    into: Arc<File>,
}

impl Siphon {
    /// Draws from a socket, into a file from where it stands.
    pub(crate) fn new(socket: OwnedFd, into: Arc<File>) -> io::Result<Self> {
        let source = TcpStream::from_std(socket.into())?;
        Ok(Self { source, idle: Pipe::new()?, spare: None, spilling: None, into })
    }

    /// Waits for bytes and draws them off, at most so many; none when the sender has ended.
    pub(crate) async fn draw(&mut self, most: usize) -> io::Result<usize> {
        loop {
            self.source.readable().await?;
            let drawn = self.source.try_io(Interest::READABLE, || {
                // Where this fails the pipe is empty, so it is the socket that has nothing.
                self.idle.fill(&self.source, most).map_err(io::Error::from)
            });
            match drawn.as_ref().map_err(io::Error::kind) {
                Err(io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                _ => return drawn,
            }
        }
    }

    /// Waits until the file has all that was spilled.
    pub(crate) async fn settle(&mut self) -> io::Result<()> {
        if let Some(spilling) = self.spilling.take() {
            self.spare = spilling.await.map_err(io::Error::other).flatten().map(Some)?;
        }
        Ok(())
    }

    /// Has the file take what was drawn, and what has come since, at most so many bytes in all; says how many. More
    /// can be drawn meanwhile. Only when it is settled.
    pub(crate) fn spill(&mut self, drawn: usize, most: usize) -> io::Result<usize> {
        let empty = match self.spare.take() {
            Some(pipe) => pipe,
            None => Pipe::new()?,
        };
        // Whatever keeps it from taking more is seen by the next who draws.
        let count = drawn + self.idle.fill(&self.source, most - drawn).unwrap_or(0);
        let (full, into) = (std::mem::replace(&mut self.idle, empty), Arc::clone(&self.into));
        self.spilling = Some(spawn_blocking(move || full.drain(&into, count)));
        Ok(count)
    }

    /// Reads what nobody wants, at most so many bytes at once; none when the sender has ended.
    pub(crate) async fn discard(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.source.readable().await?;
            match self.source.try_read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

#[derive(Debug)]
struct Pipe {
    exit: OwnedFd,
    entrance: OwnedFd,
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let (exit, entrance) = pipe_with(PipeFlags::CLOEXEC)?;
        // Refused to users who have many pipes; a smaller one does as well, in more steps.
        let _size = fcntl_setpipe_size(&entrance, PIPE_BYTES);
        Ok(Self { exit, entrance })
    }

    /// Moves what is there, without waiting, until there is nothing or the pipe is full.
    fn fill(&self, source: &impl AsFd, most: usize) -> Result<usize, Errno> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        let mut filled = 0;
        while filled < most {
            match splice(source, None, &self.entrance, None, most - filled, flags) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(errno) if filled == 0 => return Err(errno),
                // What it means is seen again when nothing was moved before.
                Err(_) => break,
            }
        }
        Ok(filled)
    }

    /// Empties the pipe, which holds so many bytes.
    fn drain(self, into: &File, count: usize) -> io::Result<Self> {
        let mut left = count;
        while left > 0 {
            match splice(&self.exit, None, into, None, left, SpliceFlags::MOVE) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => left -= count,
                Err(Errno::INTR) => {}
                // Some file systems take bytes only from memory.
                Err(Errno::INVAL) => {
                    self.copy(into, left)?;
                    left = 0;
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(self)
    }

    fn copy(&self, mut into: &File, count: usize) -> io::Result<()> {
        let mut buffer = vec![0; COPY_BYTES.min(count)];
        let mut left = count;
        while left > 0 {
            let most = left.min(buffer.len());
            match rustix::io::read(&self.exit, &mut buffer[..most]) {
                Ok(read) => {
                    into.write_all(&buffer[..read])?;
                    left -= read;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
