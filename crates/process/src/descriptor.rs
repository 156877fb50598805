//! A non-blocking descriptor in the runtime: pipes and terminals alike.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A descriptor read or written without blocking.
#[derive(Debug)]
pub(crate) struct Descriptor(AsyncFd<OwnedFd>);

impl Descriptor {
    pub(crate) fn new(fd: OwnedFd, interest: Interest) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        // SAFETY: an OwnedFd is always the same open descriptor, which is all that is asked of the type.
        #[expect(unsafe_code, reason = "the only constructor that takes an interest")]
        let fd = unsafe { AsyncFd::register_with_interest(fd, interest)? };
        Ok(Self(fd))
    }

    /// Waits for bytes and reads what is there, up to the buffer's length; 0 at the end. A terminal whose other side
    /// is closed everywhere says EIO: that is its end.
    pub(crate) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.0.readable().await?;
            match ready.try_io(|fd| fill(fd.as_fd(), buffer)) {
                Ok(result) => return result,
                Err(_would_block) => {}
            }
        }
    }

    /// Reads what is there now; 0 when there is nothing.
    pub(crate) fn read_available(&self, buffer: &mut [u8]) -> usize {
        fill(self.0.as_fd(), buffer).unwrap_or(0)
    }

    /// Bytes that are there now.
    pub(crate) fn available(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.0).unwrap_or(0)
    }

    /// Writes everything.
    pub(crate) async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.when_writable(|fd| Ok(rustix::io::write(fd, bytes)?)).await?;
            bytes = bytes.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Does something that may find the descriptor not writable, as soon as it is.
    pub(crate) async fn when_writable<T>(
        &self,
        mut write: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            let mut ready = self.0.writable().await?;
            match ready.try_io(|fd| write(fd.as_fd())) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return result,
                Err(_would_block) => {}
            }
        }
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Reads until the buffer is full or nothing is left: terminals hand out at most 4 KiB a call.
fn fill(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::io::read(fd, rest) {
            Ok(0) | Err(rustix::io::Errno::IO) => break,
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) if filled > 0 => break,
            Err(error) if filled == 0 => return Err(error.into()),
            Err(_) => break,
        }
    }
    Ok(filled)
}
