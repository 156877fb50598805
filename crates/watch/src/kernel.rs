//! One inotify instance: what is added to it, and what it tells.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::error::{self, Error};

/// The number the kernel gives a watched directory. It is never given again.
pub(crate) type WatchNumber = i32;

/// Everything that can happen in a directory that is watched.
pub(crate) const ENTRIES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::EXCL_UNLINK)
    .union(WatchFlags::ONLYDIR);

/// Names that come and go in a directory.
pub(crate) const NAMES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::ONLYDIR);

/// The kernel's word for something that happened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Notice<'a> {
    pub(crate) number: WatchNumber,
    pub(crate) flags: ReadFlags,
    /// What the two halves of a move have in common.
    pub(crate) cookie: u32,
    /// The entry it is about; none when it is about the directory itself.
    pub(crate) name: Option<&'a OsStr>,
}

/// An inotify instance. Clones share it; it is freed with the last of them.
#[derive(Debug, Clone)]
pub(crate) struct Inotify(Arc<OwnedFd>);

impl Inotify {
    pub(crate) fn new() -> Result<Self, Error> {
        let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .map_err(Error::of_instance)?;
        Ok(Self(Arc::new(descriptor)))
    }

    /// Notices that can wait at once; when there are more, the kernel drops some and says so.
    pub(crate) fn queue_length() -> u64 {
        const USUAL: u64 = 16_384;
        match error::limit("max_queued_events") {
            0 => USUAL,
            number => number,
        }
    }

    pub(crate) fn add(&self, path: &Path, flags: WatchFlags) -> Result<WatchNumber, Errno> {
        inotify::add_watch(&*self.0, path, flags)
    }

    /// The kernel may have removed it by itself meanwhile.
    pub(crate) fn remove(&self, number: WatchNumber) {
        let _already_gone = inotify::remove_watch(&*self.0, number);
    }

    /// Hands over what fits into the buffer. Returns whether there was nothing.
    pub(crate) fn read(
        &self,
        buffer: &mut [MaybeUninit<u8>],
        mut each: impl FnMut(Notice<'_>),
    ) -> Result<bool, Errno> {
        let mut reader = Reader::new(&*self.0, buffer);
        loop {
            match reader.next() {
                Ok(event) => each(Notice {
                    number: event.wd(),
                    flags: event.events(),
                    cookie: event.cookie(),
                    name: event.file_name().map(|name| OsStr::from_bytes(name.to_bytes())),
                }),
                Err(Errno::AGAIN) => return Ok(true),
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno),
            }
            if reader.is_buffer_empty() {
                return Ok(false);
            }
        }
    }
}

impl AsFd for Inotify {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
