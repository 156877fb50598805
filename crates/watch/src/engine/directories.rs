//! Keeping the right directories watched while they come, go and move.
//!
//! A directory is watched first and looked through afterwards, so nothing made in it can be missed; names found are
//! remembered until no notice about them can come any more, so nothing is told twice.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::Dir;
use rustix::fs::inotify::WatchFlags;
use rustix::io::Errno;

use super::{Engine, MOST_CHECKS};
use crate::disk::{Identity, is_directory, is_of_the_kernel, name_of, open_directory};
use crate::kernel::{ENTRIES, WatchNumber};
use crate::tree::{Memory, NodeId};

/// Attempts to watch a directory that others keep replacing.
const ATTEMPTS: usize = 8;

/// What became of a directory that is to be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Adopted {
    /// It is watched from now on.
    Fresh(NodeId),
    /// It is watched already.
    Same(NodeId),
    /// It is watched, but the tree has it at another place, where it is not.
    Elsewhere(NodeId),
    /// It is not there.
    Gone,
    /// It is not to be watched, or may not.
    Skipped,
}

impl Engine {
    /// Forgets a directory and all below it.
    pub(super) fn unwatch(&mut self, node: NodeId) {
        for number in self.tree.remove(node) {
            self.kernel.remove(number);
        }
    }

    /// Watches a directory that came to be, and has its content told.
    pub(super) fn adopt_and_scan(&mut self, parent: NodeId, name: &OsStr) {
        match self.adopt(parent, name) {
            Ok(Adopted::Fresh(node)) => self.scan_later(node),
            Ok(Adopted::Elsewhere(_) | Adopted::Gone) => self.check_later(parent, name, true),
            Ok(Adopted::Same(_) | Adopted::Skipped) => {}
            Err(_) => self.lose(),
        }
    }

    /// Tells what lies in a directory.
    pub(super) fn scan(&mut self, node: NodeId) {
        let Some(directory) = self.open(node) else {
            return;
        };
        let Some(parent) = self.tree.relative(node) else {
            return;
        };
        for entry in directory.flatten() {
            let Some(name) = name_of(&entry) else {
                continue;
            };
            let relative: Arc<Path> = parent.join(name).into();
            if self.filter.excludes(&relative)
                || self.tree.remember(node, name, Some(entry.ino())) != Memory::New
            {
                continue;
            }
            let is_dir = is_directory(&entry, &self.shared.place.real(&relative));
            self.make_room();
            if self.filter.includes(&relative) {
                self.pending.create(&relative, is_dir, self.stamp);
            }
            if is_dir && self.recursive {
                self.adopt_and_scan(node, name);
            }
        }
        self.scanned.push_back((self.handled + self.queue_length, node));
    }

    /// The kernel has nothing more: what notices say and what the disk shows can be compared.
    pub(super) fn settle(&mut self) {
        for ((parent, name), unread) in std::mem::take(&mut self.checks) {
            if self.tree.contains(parent) {
                self.check(parent, &name, unread);
            }
        }
        for node in std::mem::take(&mut self.unread) {
            if self.tree.contains(node) {
                if self.is_in_place(node) { self.scan_later(node) } else { self.unread.push(node) }
            }
        }
        if self.checks.is_empty() && self.unread.is_empty() {
            if self.scans.is_empty() {
                for (_, node) in std::mem::take(&mut self.scanned) {
                    self.tree.stop_remembering(node);
                }
            }
        } else if self.tree.root().is_some_and(|root| !self.is_in_place(root)) {
            // The watched directory was moved together with one above it, of which nobody tells.
            self.uproot();
        }
    }

    /// Compares a place with the disk. `unread` says that the content of a directory there was never told.
    fn check(&mut self, parent: NodeId, name: &OsStr, unread: bool) {
        match self.adopt(parent, name) {
            Ok(Adopted::Fresh(node)) => self.scan_later(node),
            Ok(Adopted::Same(node)) if unread => self.scan_later(node),
            Ok(Adopted::Elsewhere(node)) => {
                self.vacate(parent, name);
                self.tree.relocate(node, parent, name);
                self.tree.set_moving(node, false);
                if self.tree.child(parent, name) == Some(node) {
                    self.scan_later(node);
                } else {
                    self.overflowed = true;
                }
            }
            // A notice of what happened to the parent is on its way.
            Ok(Adopted::Gone) if !self.is_in_place(parent) => {
                self.check_later(parent, name, unread);
            }
            Ok(Adopted::Same(_) | Adopted::Gone | Adopted::Skipped) => {}
            Err(_) => self.lose(),
        }
    }

    pub(super) fn scan_later(&mut self, node: NodeId) {
        self.tree.start_remembering(node);
        self.scans.push_back(node);
    }

    /// Has a place compared with the disk when the kernel has nothing more. Notices name places, not directories: one
    /// that is not watched yet can be mistaken for another, or be gone from where it was made.
    pub(super) fn check_later(&mut self, parent: NodeId, name: &OsStr, unread: bool) {
        if self.checks.len() < MOST_CHECKS {
            *self.checks.entry((parent, name.to_owned())).or_default() |= unread;
        } else {
            self.overflowed = true;
        }
    }

    /// Watches a directory that lies in another. Fails only when the kernel has no room.
    pub(super) fn adopt(&mut self, parent: NodeId, name: &OsStr) -> Result<Adopted, Errno> {
        let Some(relative) = self.tree.relative(parent) else {
            return Ok(Adopted::Gone);
        };
        let path = self.shared.place.real(&relative.join(name));
        if self.tree.identity(parent).is_some_and(|found| is_of_the_kernel(&path, found.device)) {
            return Ok(Adopted::Skipped);
        }
        let (number, identity) = match self.watch(&path, ENTRIES | WatchFlags::DONT_FOLLOW) {
            Ok(watched) => watched,
            Err(errno @ (Errno::NOSPC | Errno::NOMEM)) => return Err(errno),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Adopted::Gone),
            Err(errno) => {
                tracing::debug!(path = %path.display(), %errno, "a directory cannot be watched");
                return Ok(Adopted::Skipped);
            }
        };
        if self.anchor.as_ref().is_some_and(|anchor| anchor.number == number) {
            return Ok(Adopted::Skipped);
        }
        let known = self.tree.by_number(number);
        if !self.is_in_place(parent) {
            // Another directory lies there by now, and this is what lies in that one.
            if known.is_none() {
                self.kernel.remove(number);
            }
            return Ok(Adopted::Gone);
        }
        let Some(known) = known else {
            self.vacate(parent, name);
            return Ok(Adopted::Fresh(self.tree.add(parent, name, number, identity)));
        };
        if self.tree.child(parent, name) == Some(known) {
            return Ok(Adopted::Same(known));
        }
        if self.is_in_place(known) {
            // The same directory is mounted at two places: it is told of at the first.
            return Ok(Adopted::Skipped);
        }
        Ok(Adopted::Elsewhere(known))
    }

    /// Names of the directories in a directory that are not left out.
    pub(super) fn subdirectories(&mut self, node: NodeId) -> Vec<OsString> {
        let Some(directory) = self.open(node) else {
            return Vec::new();
        };
        let Some(parent) = self.tree.relative(node) else {
            return Vec::new();
        };
        let mut names = Vec::new();
        for entry in directory.flatten() {
            if let Some(name) = name_of(&entry)
                && let relative = parent.join(name)
                && is_directory(&entry, &self.shared.place.real(&relative))
                && !self.filter.excludes(&relative)
            {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Opens a directory to look through it, if it is the one that lies there; otherwise that is postponed.
    fn open(&mut self, node: NodeId) -> Option<Dir> {
        let opened = match (self.tree.relative(node), self.tree.identity(node)) {
            (Some(relative), Some(identity)) => {
                open_directory(&self.shared.place.real(&relative), identity)
            }
            _ => Err(Errno::NOENT),
        };
        match opened {
            Ok(directory) => Some(directory),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                if self.tree.contains(node) {
                    self.unread.push(node);
                }
                None
            }
            Err(errno) => {
                tracing::debug!(%errno, "a directory cannot be read");
                None
            }
        }
    }

    /// Watches a directory and says which one it is.
    pub(super) fn watch(
        &self,
        path: &Path,
        flags: WatchFlags,
    ) -> Result<(WatchNumber, Identity), Errno> {
        for _ in 0..ATTEMPTS {
            let before = Identity::at(path)?;
            let number = self.kernel.add(path, flags)?;
            if Identity::at(path) == Ok(before) {
                return Ok((number, before));
            }
        }
        Err(Errno::NOENT)
    }

    /// Whether a directory lies where the tree has it.
    pub(super) fn is_in_place(&self, node: NodeId) -> bool {
        self.tree.relative(node).is_some_and(|relative| {
            Identity::at(&self.shared.place.real(&relative)).ok() == self.tree.identity(node)
        })
    }
}
