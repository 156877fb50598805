//! What stands between the kernel and the log: one thread's work for one watcher.
//!
//! A turn takes what the kernel has, looks through at most one new directory, and tells what has waited long enough:
//! each is short, so the kernel's queue is never left alone for long. The tree of directories always shows what the
//! notices handled so far say, which may lag behind the disk. Where the two contradict each other, places are
//! compared when the kernel's queue is empty.

mod directories;
mod moving;
mod notices;
mod root;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use self::moving::{Displaced, Doubt};
use crate::error::Error;
use crate::event::{Change, Look, now};
use crate::filter::Filter;
use crate::kernel::{Inotify, WatchNumber};
use crate::log::{Log, Record, Slot};
use crate::pending::{Delivery, Pending, Stamp};
use crate::place::Place;
use crate::tree::{NodeId, Tree};

/// Changes that wait at most; past it the oldest are told before their time.
const MOST_PENDING: usize = 16_384;
/// Changes told in one go, each at the cost of a look at its file.
const AT_ONCE: usize = 512;
/// Places that wait to be looked at when the kernel's queue is empty, at most; past it all is looked at afresh.
const MOST_CHECKS: usize = 16_384;

/// What readers see of an engine.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) log: Log,
    pub(crate) place: Place,
    pub(crate) directories: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Engine {
    kernel: Inotify,
    shared: Arc<Shared>,
    filter: Filter,
    recursive: bool,
    tree: Tree,
    anchor: Option<Anchor>,
    /// Whether the one watched file is there.
    file_exists: bool,
    pending: Pending,
    displaced: Vec<Displaced>,
    doubt: Option<Doubt>,
    /// Directories whose content is to be told of.
    scans: VecDeque<NodeId>,
    /// Places to compare with the disk, and whether the content of a directory there was never told.
    checks: BTreeMap<(NodeId, OsString), bool>,
    /// Directories that are to be looked through, but were not where they should be.
    unread: Vec<NodeId>,
    /// Directories looked through, and the count of notices after which none from before that can come.
    scanned: VecDeque<(u64, NodeId)>,
    handled: u64,
    queue_length: u64,
    /// The kernel dropped notices.
    overflowed: bool,
    /// The kernel had nothing more, and nothing was done since.
    drained: bool,
    stamp: Stamp,
}

/// The directory the watched one lies in: it tells when that one goes, and when it comes back.
#[derive(Debug)]
struct Anchor {
    number: WatchNumber,
    name: OsString,
}

/// When a turn is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    Now,
    At(Instant),
    WhenNoticed,
}

impl Engine {
    /// Watches what is there now. Needs time for large trees.
    pub(crate) fn start(
        shared: Arc<Shared>,
        kernel: Inotify,
        filter: Filter,
        recursive: bool,
        window: Duration,
    ) -> Result<Self, Error> {
        let mut engine = Self {
            kernel,
            filter,
            recursive: recursive && shared.place.file().is_none(),
            shared,
            tree: Tree::default(),
            anchor: None,
            file_exists: false,
            pending: Pending::new(window, MOST_PENDING),
            displaced: Vec::new(),
            doubt: None,
            scans: VecDeque::new(),
            checks: BTreeMap::new(),
            unread: Vec::new(),
            scanned: VecDeque::new(),
            handled: 0,
            queue_length: Inotify::queue_length(),
            overflowed: false,
            drained: false,
            stamp: Stamp { now: Instant::now(), seen: now() },
        };
        engine.add_anchor();
        let directory = engine.shared.place.directory().to_owned();
        engine.plant().map_err(|errno| Error::of(&directory, errno))?;
        engine.count_directories();
        Ok(engine)
    }

    pub(crate) fn kernel(&self) -> &Inotify {
        &self.kernel
    }

    /// When the next turn is due.
    pub(crate) fn wake(&self) -> Wake {
        if !self.drained || !self.scans.is_empty() {
            return Wake::Now;
        }
        self.pending.next_due().map_or(Wake::WhenNoticed, Wake::At)
    }

    pub(crate) fn turn(&mut self, buffer: &mut [MaybeUninit<u8>]) -> Result<(), Errno> {
        self.stamp = Stamp { now: Instant::now(), seen: now() };
        let kernel = self.kernel.clone();
        self.drained = kernel.read(buffer, |notice| self.take(notice))?;
        if self.overflowed {
            self.rebuild(buffer)?;
        } else if let Some(node) = self.scans.pop_front() {
            self.drained = false;
            self.scan(node);
        } else if self.drained {
            self.settle();
        }
        while self.scanned.front().is_some_and(|(until, _)| *until <= self.handled) {
            if let Some((_, node)) = self.scanned.pop_front() {
                self.tree.stop_remembering(node);
            }
        }
        self.forget_displaced();
        self.tell_due();
        self.count_directories();
        Ok(())
    }

    /// Says that nothing more will be seen.
    pub(crate) fn give_up(&mut self) {
        let left = std::iter::from_fn(|| (self.pending.next_due()).map(|_| self.pending.take()));
        let left: Vec<_> = left.flatten().chain([Delivery::Lost]).collect();
        self.tell(left);
    }

    /// Makes room for one more change.
    fn make_room(&mut self) {
        if self.pending.is_full() {
            let oldest: Vec<_> = (0..AT_ONCE).filter_map(|_| self.pending.take()).collect();
            self.tell(oldest);
        }
    }

    /// Says that events were lost.
    fn lose(&mut self) {
        self.make_room();
        self.pending.lose(self.stamp);
    }

    fn tell_due(&mut self) {
        let now = self.stamp.now;
        let due = std::iter::from_fn(|| self.pending.take_due(now)).take(AT_ONCE).collect();
        self.tell(due);
    }

    fn tell(&self, deliveries: Vec<Delivery>) {
        if deliveries.is_empty() {
            return;
        }
        let place = &self.shared.place;
        let slots = deliveries.into_iter().map(|delivery| match delivery {
            Delivery::Lost => Slot::Lost,
            Delivery::Event { change, relative, old, is_dir, seen } => {
                let look = match change {
                    Change::Remove => Look::default(),
                    _ => Look::at(&place.real(&relative)),
                };
                Slot::Event(Record { change, relative, old, is_dir, seen, look })
            }
        });
        // Looked at before the log is locked: a file system may be slow, and readers shall not wait for it.
        let slots: Vec<_> = slots.collect();
        self.shared.log.append(slots);
    }

    fn count_directories(&self) {
        self.shared.directories.store(self.tree.len() as u64, Ordering::Relaxed);
    }
}
