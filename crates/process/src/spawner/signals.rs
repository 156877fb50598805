//! Signals as a file: what single-threaded helpers wait on beside their sockets.

#![expect(unsafe_code, reason = "signal masks and signalfd have no safe interface")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Gives every signal its default meaning, which commands inherit, and blocks the one that a closed pipe would send.
pub(super) fn prepare() {
    // SAFETY: no handler is installed; the set is initialised before use.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGPIPE);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Blocked signals, readable from a descriptor.
pub(super) struct SignalSource(OwnedFd);

/// What woke a helper.
pub(super) struct Ready {
    /// A signal came.
    pub(super) signal: bool,
    /// The other descriptor is readable or closed.
    pub(super) other: bool,
}

impl SignalSource {
    /// Receives the exits of children.
    pub(super) fn child_exits() -> io::Result<Self> {
        // SAFETY: the set is initialised before use; the returned descriptor is ours.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGCHLD);
            if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) < 0 {
                return Err(io::Error::last_os_error());
            }
            let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Waits for a signal.
    pub(super) fn wait(&self) {
        // A negative descriptor is one that poll passes over.
        self.wait_with(-1);
        self.clear();
    }

    /// Waits for a signal or for `other`.
    pub(super) fn wait_with(&self, other: RawFd) -> Ready {
        let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut entries = [entry(self.0.as_raw_fd()), entry(other)];
        // SAFETY: the array is as long as it says. The only failure that can come is an interruption.
        while unsafe { libc::poll(entries.as_mut_ptr(), 2, -1) } < 0 {}
        let [signal, other] = entries;
        Ready { signal: signal.revents != 0, other: other.revents != 0 }
    }

    /// Forgets the signals that came. Call it before looking at what they told of, or after and look once more.
    pub(super) fn clear(&self) {
        // Signals of one kind merge: one is all there can be.
        let _none_came = rustix::io::read(&self.0, &mut [0u8; 128]);
    }
}
