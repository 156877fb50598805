//! The watched directory itself: that everything in it is watched at first, that it goes and comes back, and that all
//! is looked at afresh when the kernel dropped notices.

use std::mem::MaybeUninit;
use std::path::Path;

use rustix::io::Errno;

use super::directories::Adopted;
use super::{Anchor, Engine};
use crate::kernel::{ENTRIES, NAMES};

impl Engine {
    /// Watches the place the watched directory lies in, if that is permitted: it tells the end of a directory that is
    /// still in use, and its return.
    pub(super) fn add_anchor(&mut self) {
        let place = &self.shared.place;
        if place.file().is_some() {
            return;
        }
        if let (Some(parent), Some(name)) =
            (place.directory().parent(), place.directory().file_name())
            && let Ok(number) = self.kernel.add(parent, NAMES)
        {
            self.anchor = Some(Anchor { number, name: name.to_owned() });
        }
    }

    pub(super) fn drop_anchor(&mut self) {
        if let Some(anchor) = self.anchor.take() {
            self.kernel.remove(anchor.number);
        }
    }

    /// Watches everything there is, without telling of it.
    pub(super) fn plant(&mut self) -> Result<(), Errno> {
        let place = &self.shared.place;
        let (number, identity) = self.watch(place.directory(), ENTRIES)?;
        if let Some(file) = place.file() {
            self.file_exists = std::fs::symlink_metadata(place.real(Path::new(file))).is_ok();
        }
        let root = self.tree.plant(number, identity);
        let mut left = if self.recursive { vec![root] } else { Vec::new() };
        while let Some(node) = left.pop() {
            for name in self.subdirectories(node) {
                match self.adopt(node, &name)? {
                    Adopted::Fresh(child) | Adopted::Same(child) => left.push(child),
                    Adopted::Elsewhere(_) | Adopted::Gone | Adopted::Skipped => {}
                }
            }
        }
        Ok(())
    }

    /// The watched directory is gone; the watcher stays.
    pub(super) fn uproot(&mut self) {
        if self.tree.root().is_none() {
            return;
        }
        for number in self.tree.clear() {
            self.kernel.remove(number);
        }
        self.drop_work();
        self.tell_gone();
    }

    /// Forgets what was to be done with directories that are forgotten.
    fn drop_work(&mut self) {
        self.displaced.clear();
        self.doubt = None;
        self.scans.clear();
        self.checks.clear();
        self.unread.clear();
        self.scanned.clear();
    }

    fn tell_gone(&mut self) {
        self.make_room();
        match self.shared.place.file() {
            None => self.pending.remove(&Path::new("").into(), true, self.stamp),
            Some(file) if std::mem::take(&mut self.file_exists) => {
                self.pending.remove(&Path::new(file).into(), false, self.stamp);
            }
            Some(_) => {}
        }
    }

    /// There is a directory again where the watched one was.
    pub(super) fn replant(&mut self) {
        let (number, identity) = match self.watch(self.shared.place.directory(), ENTRIES) {
            Ok(watched) => watched,
            Err(Errno::NOSPC | Errno::NOMEM) => return self.lose(),
            Err(_) => return,
        };
        if self.tree.by_number(number).is_some_and(|node| self.tree.root() == Some(node)) {
            return;
        }
        self.drop_work();
        // It may be one that lay in the old one.
        for old in self.tree.clear().into_iter().filter(|old| *old != number) {
            self.kernel.remove(old);
        }
        let root = self.tree.plant(number, identity);
        self.pending.create(&Path::new("").into(), true, self.stamp);
        self.scan_later(root);
    }

    /// Makes the tree anew from the disk, after the kernel dropped notices.
    pub(super) fn rebuild(&mut self, buffer: &mut [MaybeUninit<u8>]) -> Result<(), Errno> {
        tracing::debug!(
            path = %self.shared.place.directory().display(),
            "the kernel dropped notices; looking at the directories afresh"
        );
        // What waits is older than what the disk says now. More than fits into the queue need not be discarded.
        let mut discarded = 0;
        while discarded < self.queue_length && !self.kernel.read(buffer, |_| discarded += 1)? {}
        self.overflowed = false;
        self.drained = false;
        let was_there = self.tree.root().is_some();
        let before = self.tree.clear();
        self.drop_work();
        if let Err(errno) = self.plant() {
            tracing::warn!(%errno, "not everything can be watched");
        }
        for number in before.into_iter().filter(|number| self.tree.by_number(*number).is_none()) {
            self.kernel.remove(number);
        }
        if was_there && self.tree.root().is_none() {
            self.tell_gone();
        }
        // Said last: whoever looks for itself now sees what happened before, and is told what happens from here on.
        self.lose();
        Ok(())
    }
}
