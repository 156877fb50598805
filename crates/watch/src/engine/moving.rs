//! Directories that move.
//!
//! The kernel tells a move as up to three notices: something left a name, something arrived at a name, and a watched
//! directory moved. Only the last says which directory it was, and it comes last. That matters when two directories
//! change places, which is told as two moves: by their names alone, the first would seem to have moved twice.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::Engine;
use super::directories::Adopted;
use crate::tree::NodeId;

/// A directory whose place another took: it is about to go, or the other half of an exchange is about to be told.
#[derive(Debug)]
pub(super) struct Displaced {
    node: NodeId,
    place: (NodeId, OsString),
    since: Instant,
}

/// Something left a place that two directories may have been at. It lasts until it is known which, or the next one
/// leaves: the notice that decides follows at once.
#[derive(Debug)]
pub(super) struct Doubt {
    place: (NodeId, OsString),
    /// Which is taken to have moved.
    supposed: NodeId,
    /// Which may have instead.
    other: NodeId,
}

impl Engine {
    /// A directory left this place. Returns which, if it is watched.
    pub(super) fn depart(&mut self, parent: NodeId, name: &OsStr) -> Option<NodeId> {
        let here = self.tree.child(parent, name);
        let displaced = self.displaced.iter().map(|displaced| (displaced.node, &displaced.place));
        let other = displaced
            .filter(|(_, place)| place.0 == parent && place.1 == name)
            .map(|(node, _)| node)
            .find(|node| self.tree.contains(*node) && self.tree.place(*node).is_none());
        self.doubt = here.zip(other).map(|(supposed, other)| Doubt {
            place: (parent, name.to_owned()),
            supposed,
            other,
        });
        let node = here.or(other)?;
        self.tree.set_moving(node, true);
        Some(node)
    }

    /// A watched directory arrived at another place that is watched.
    pub(super) fn arrive(&mut self, node: NodeId, parent: NodeId, name: &OsStr) {
        self.tree.set_moving(node, false);
        if let Some(other) = self.tree.child(parent, name).filter(|other| *other != node) {
            self.displace(other, parent, name);
        }
        self.tree.relocate(node, parent, name);
        if self.filter.depends_on_place() {
            self.reconsider(node);
        }
    }

    /// A watched directory moved, and if its arrival is told at all, it was told before.
    pub(super) fn moved(&mut self, node: NodeId) {
        if let Some(doubt) = self.doubt.take_if(|doubt| doubt.other == node) {
            self.correct(doubt);
        } else if self.tree.is_moving(node) {
            // It went to where no notice tells.
            self.unwatch(node);
        }
    }

    /// Forgets directories whose place was taken and that were not exchanged.
    pub(super) fn forget_displaced(&mut self) {
        let Some(before) = self.stamp.now.checked_sub(self.pending.window()) else {
            return;
        };
        while let Some(index) = self.displaced.iter().position(|gone| gone.since <= before) {
            let gone = self.displaced.swap_remove(index);
            self.doubt.take_if(|doubt| doubt.other == gone.node);
            if self.tree.place(gone.node).is_none() {
                self.unwatch(gone.node);
            }
        }
    }

    /// Makes a place free for another directory.
    pub(super) fn vacate(&mut self, parent: NodeId, name: &OsStr) {
        let Some(other) = self.tree.child(parent, name) else {
            return;
        };
        if self.tree.is_moving(other) {
            self.displace(other, parent, name);
        } else {
            self.unwatch(other);
        }
    }

    fn displace(&mut self, node: NodeId, parent: NodeId, name: &OsStr) {
        self.tree.detach(node);
        let place = (parent, name.to_owned());
        self.displaced.push(Displaced { node, place, since: self.stamp.now });
    }

    /// It was the other directory that moved.
    fn correct(&mut self, Doubt { place: (parent, name), supposed, other }: Doubt) {
        let arrived = self.tree.place(supposed).filter(|_| !self.tree.is_moving(supposed));
        self.displaced.retain(|displaced| displaced.node != other);
        self.tree.detach(supposed);
        match arrived {
            Some((parent, name)) => self.tree.relocate(other, parent, &name),
            None => self.unwatch(other),
        }
        self.tree.set_moving(other, false);
        self.arrive(supposed, parent, &name);
        // Where notices make no sense, only the disk does.
        self.overflowed |= self.tree.contains(other) && self.tree.place(other).is_none();
    }

    /// After a directory moved, other things below it may be left out.
    fn reconsider(&mut self, node: NodeId) {
        let mut left = vec![node];
        while let Some(node) = left.pop() {
            let Some(parent) = self.tree.relative(node) else {
                continue;
            };
            for (name, child) in self.tree.children(node) {
                if self.filter.excludes(&parent.join(name)) {
                    self.unwatch(child);
                }
            }
            for name in self.subdirectories(node) {
                match self.adopt(node, &name) {
                    Ok(Adopted::Same(child)) => left.push(child),
                    Ok(Adopted::Fresh(child)) => {
                        let relative: Arc<Path> = parent.join(&name).into();
                        self.make_room();
                        if self.filter.includes(&relative) {
                            self.pending.create(&relative, true, self.stamp);
                        }
                        self.scan_later(child);
                    }
                    Ok(Adopted::Elsewhere(_)) => self.check_later(node, &name, true),
                    Ok(Adopted::Gone | Adopted::Skipped) => {}
                    Err(_) => self.lose(),
                }
            }
        }
    }
}
