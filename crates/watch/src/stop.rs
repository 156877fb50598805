//! How a thread that waits for the kernel is told to end.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use crate::error::Error;
use crate::kernel::Inotify;

/// Ends a thread when it is dropped.
#[derive(Debug)]
pub(crate) struct StopOnDrop(Arc<OwnedFd>);

/// The thread's end of it.
#[derive(Debug)]
pub(crate) struct StopSignal(Arc<OwnedFd>);

impl StopOnDrop {
    pub(crate) fn new() -> Result<(Self, StopSignal), Error> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| Error::Resources(errno.into()))?;
        let descriptor = Arc::new(descriptor);
        Ok((Self(Arc::clone(&descriptor)), StopSignal(descriptor)))
    }
}

impl StopOnDrop {
    /// Ends the thread now.
    pub(crate) fn stop(&self) {
        // It fails only where it was told so often that it cannot have missed it.
        let _written = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.stop();
    }
}

impl StopSignal {
    /// Waits for the kernel, at most until the time given. Returns whether the thread must end.
    pub(crate) fn wait(&self, kernel: &Inotify, until: Option<Instant>) -> io::Result<bool> {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        // Rounded up, lest the last moment be spent asking again and again.
        let timeout = left
            .map(|left| if left.is_zero() { left } else { left + Duration::from_micros(1) })
            .and_then(|left| Timespec::try_from(left).ok());
        let mut descriptors =
            [PollFd::new(kernel, PollFlags::IN), PollFd::new(&*self.0, PollFlags::IN)];
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(_) => Ok(!descriptors[1].revents().is_empty()),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}
