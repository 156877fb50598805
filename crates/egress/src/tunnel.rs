//! Bytes both ways between two connections until both have ended.
//!
//! A side that ends ends the other's input only: what still flows back arrives. What flows much is moved by the kernel
//! from socket to socket through a pipe, without coming to this program; what flows little is not worth a pipe.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::activity::Activity;

/// Bytes copied at once.
const COPY_BYTES: usize = 32 << 10;
/// After so many in one direction the kernel takes over.
const MUCH: u64 = 256 << 10;
/// Bytes under way in a pipe, where the system allows it.
const PIPE_BYTES: usize = 1 << 20;

/// Carries bytes until both sides have ended, or one breaks off.
pub(crate) async fn carry(
    one: &TcpStream,
    other: &TcpStream,
    activity: &Arc<Activity>,
) -> io::Result<()> {
    tokio::try_join!(flow(one, other, activity), flow(other, one, activity)).map(|_| ())
}

/// One direction, to its end, which is passed on.
async fn flow(from: &TcpStream, to: &TcpStream, activity: &Activity) -> io::Result<()> {
    if copy(from, to, activity).await? == Copied::Much {
        match Pipe::new() {
            Ok(pipe) => pipe.carry(from, to, activity).await?,
            // No more pipes for this user: it goes on as it was.
            Err(_) => while copy(from, to, activity).await? == Copied::Much {},
        }
    }
    match shutdown(to, Shutdown::Write) {
        // Gone altogether, which is an end too.
        Ok(()) | Err(Errno::NOTCONN) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Copied {
    All,
    Much,
}

async fn copy(from: &TcpStream, to: &TcpStream, activity: &Activity) -> io::Result<Copied> {
    let mut buffer = vec![0; COPY_BYTES];
    let mut total = 0;
    while total < MUCH {
        from.readable().await?;
        let read = match from.try_read(&mut buffer) {
            Ok(0) => return Ok(Copied::All),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        };
        activity.touch();
        let mut rest = &buffer[..read];
        while !rest.is_empty() {
            match to.try_write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => to.writable().await?,
                Err(error) => return Err(error),
            }
            activity.touch();
        }
        total += read as u64;
    }
    Ok(Copied::Much)
}

struct Pipe {
    exit: OwnedFd,
    entrance: OwnedFd,
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let (exit, entrance) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // Refused to users who have many pipes; a smaller one does as well, in more steps.
        let _size = fcntl_setpipe_size(&entrance, PIPE_BYTES);
        Ok(Self { exit, entrance })
    }

    async fn carry(&self, from: &TcpStream, to: &TcpStream, activity: &Activity) -> io::Result<()> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        loop {
            from.readable().await?;
            // The pipe is empty here, so whatever cannot be moved is not there.
            let drawn = from.try_io(Interest::READABLE, || {
                splice(from, None, &self.entrance, None, PIPE_BYTES, flags).map_err(io::Error::from)
            });
            let mut left = match drawn {
                Ok(0) => return Ok(()),
                Ok(drawn) => drawn,
                Err(error) if is_later(&error) => continue,
                Err(error) => return Err(error),
            };
            activity.touch();
            while left > 0 {
                to.writable().await?;
                let pushed = to.try_io(Interest::WRITABLE, || {
                    splice(&self.exit, None, to, None, left, flags).map_err(io::Error::from)
                });
                match pushed {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(pushed) => left -= pushed,
                    Err(error) if is_later(&error) => continue,
                    Err(error) => return Err(error),
                }
                activity.touch();
            }
        }
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (made, accepted) =
            tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
        (made.unwrap(), accepted.unwrap().0)
    }

    /// Two ends with a tunnel between them.
    async fn ends() -> (TcpStream, TcpStream, tokio::task::JoinHandle<io::Result<()>>) {
        let ((client, inner), (outer, server)) = tokio::join!(pair(), pair());
        let carried = tokio::spawn(async move { carry(&inner, &outer, &Activity::new()).await });
        (client, server, carried)
    }

    #[tokio::test]
    async fn much_and_little_arrive_whole_both_ways_and_an_end_is_passed_on() {
        for size in [0, 1, 70_000, 5 << 20] {
            let (mut client, mut server, carried) = ends().await;
            let sent: Vec<u8> = (0..size).map(|at: u32| (at % 251) as u8).collect();
            let back: Vec<u8> = sent.iter().rev().copied().collect();
            let asks = async {
                client.write_all(&sent).await.unwrap();
                client.shutdown().await.unwrap();
                let mut got = Vec::new();
                client.read_to_end(&mut got).await.unwrap();
                got
            };
            let answers = async {
                let mut got = Vec::new();
                server.read_to_end(&mut got).await.unwrap();
                // Only after the client has ended: the other half is still open.
                server.write_all(&back).await.unwrap();
                server.shutdown().await.unwrap();
                got
            };
            let (answered, asked) = tokio::join!(asks, answers);
            assert!(asked == sent && answered == back, "{size} bytes");
            carried.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn a_side_that_breaks_off_ends_the_tunnel() {
        let (client, mut server, carried) = ends().await;
        socket_reset(client);
        let mut byte = [0];
        let read = server.read(&mut byte).await;
        assert!(matches!(read, Ok(0) | Err(_)));
        drop(server);
        let _ended = carried.await.unwrap();
    }

    fn socket_reset(stream: TcpStream) {
        stream.set_zero_linger().unwrap();
        drop(stream);
    }
}
