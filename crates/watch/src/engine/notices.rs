//! From what the kernel says to what is told.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::inotify::ReadFlags;

use super::Engine;
use crate::event::Look;
use crate::kernel::Notice;
use crate::pending::Leaving;
use crate::tree::{Memory, NodeId};

/// A file written to within this time and a window before it is closed was written to by whoever closes it.
const RECENT: Duration = Duration::from_secs(2);

const GONE: ReadFlags = ReadFlags::DELETE_SELF
    .union(ReadFlags::MOVE_SELF)
    .union(ReadFlags::UNMOUNT)
    .union(ReadFlags::IGNORED);
const CAME: ReadFlags = ReadFlags::CREATE.union(ReadFlags::MOVED_TO);
const WENT: ReadFlags = ReadFlags::DELETE.union(ReadFlags::MOVED_FROM);

impl Engine {
    pub(super) fn take(&mut self, notice: Notice<'_>) {
        self.handled += 1;
        if notice.flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.overflowed = true;
        }
        if self.overflowed {
            // The tree is about to be made anew from the disk; readers are told to look for themselves.
            return;
        }
        self.make_room();
        if self.anchor.as_ref().is_some_and(|anchor| anchor.number == notice.number) {
            self.take_anchor(notice);
            return;
        }
        let Some(node) = self.tree.by_number(notice.number) else {
            return;
        };
        match notice.name {
            None => self.take_own(node, notice.flags),
            Some(name) => match self.shared.place.file() {
                None => self.take_entry(node, name, notice),
                Some(file) if file == name => {
                    let relative = Path::new(file).into();
                    self.take_file(&relative, notice.flags);
                }
                Some(_) => {}
            },
        }
    }

    /// Something happened beside the watched directory.
    fn take_anchor(&mut self, notice: Notice<'_>) {
        let Some(name) = notice.name else {
            if notice.flags.intersects(GONE) {
                // The watched directory went with it, unless only this name of it did.
                self.drop_anchor();
                if self.tree.root().is_some_and(|root| !self.is_in_place(root)) {
                    self.uproot();
                }
            }
            return;
        };
        let ours = self.anchor.as_ref().is_some_and(|anchor| anchor.name == name);
        if ours && notice.flags.contains(ReadFlags::ISDIR) {
            if notice.flags.intersects(WENT) {
                self.uproot();
            } else if notice.flags.intersects(CAME) {
                self.replant();
            }
        }
    }

    /// Something happened to a watched directory itself.
    fn take_own(&mut self, node: NodeId, flags: ReadFlags) {
        if self.tree.root() == Some(node) {
            if flags.intersects(GONE) {
                self.uproot();
            } else if flags.contains(ReadFlags::ATTRIB) && self.shared.place.file().is_none() {
                let root: Arc<Path> = Path::new("").into();
                if self.filter.includes(&root) {
                    self.pending.chmod(&root, true, self.stamp);
                }
            }
        } else if flags.contains(ReadFlags::MOVE_SELF) {
            self.moved(node);
        } else if flags.contains(ReadFlags::UNMOUNT) {
            self.unwatch(node);
            self.lose();
        } else if flags.contains(ReadFlags::IGNORED) {
            self.unwatch(node);
        }
    }

    /// Something happened in a watched directory.
    fn take_entry(&mut self, directory: NodeId, name: &OsStr, notice: Notice<'_>) {
        let Some(relative) = self.tree.relative(directory) else {
            return;
        };
        let relative: Arc<Path> = relative.join(name).into();
        let (flags, is_dir) = (notice.flags, notice.flags.contains(ReadFlags::ISDIR));
        if flags.contains(ReadFlags::CREATE) {
            self.created(directory, name, &relative, is_dir);
        } else if flags.contains(ReadFlags::DELETE) {
            self.deleted(directory, name, &relative, is_dir);
        } else if flags.contains(ReadFlags::MOVED_FROM) {
            self.moved_from(directory, name, &relative, (is_dir, notice.cookie));
        } else if flags.contains(ReadFlags::MOVED_TO) {
            self.moved_to(directory, name, &relative, (is_dir, notice.cookie));
        } else if self.tree.is_untold(directory, name) {
            // It was made before its directory was watched, and changed before that was looked through.
            self.created(directory, name, &relative, is_dir);
        } else if !self.filter.shows(&relative) {
            // Left out, or not asked for.
        } else if self.is_write(&relative, flags) {
            self.pending.write(&relative, self.stamp);
        } else if flags.contains(ReadFlags::ATTRIB) {
            self.pending.chmod(&relative, is_dir, self.stamp);
        }
    }

    fn created(&mut self, directory: NodeId, name: &OsStr, relative: &Arc<Path>, is_dir: bool) {
        if self.filter.excludes(relative)
            || self.tree.remember(directory, name, None) != Memory::New
        {
            return;
        }
        if self.filter.includes(relative) {
            self.pending.create(relative, is_dir, self.stamp);
        }
        if is_dir && self.recursive {
            self.adopt_and_scan(directory, name);
        }
    }

    fn deleted(&mut self, directory: NodeId, name: &OsStr, relative: &Arc<Path>, is_dir: bool) {
        self.tree.forget(directory, name);
        if is_dir && let Some(node) = self.tree.child(directory, name) {
            self.unwatch(node);
        }
        if self.filter.shows(relative) {
            self.pending.remove(relative, is_dir, self.stamp);
        }
    }

    fn moved_from(
        &mut self,
        directory: NodeId,
        name: &OsStr,
        relative: &Arc<Path>,
        (is_dir, cookie): (bool, u32),
    ) {
        self.tree.forget(directory, name);
        let node = if is_dir { self.depart(directory, name) } else { None };
        let look = Leaving {
            is_dir,
            shown: self.filter.shows(relative),
            replaces: self.filter.replaces(relative),
        };
        self.pending.depart(cookie, relative, look, node, self.stamp);
    }

    fn moved_to(
        &mut self,
        directory: NodeId,
        name: &OsStr,
        relative: &Arc<Path>,
        (is_dir, cookie): (bool, u32),
    ) {
        let departure = self.pending.arrive(cookie);
        let excluded = self.filter.excludes(relative);
        let memory = if excluded { Memory::New } else { self.tree.remember(directory, name, None) };
        if is_dir && self.recursive {
            let moved = departure.and_then(|departure| departure.node);
            match moved.filter(|node| self.tree.contains(*node)) {
                Some(node) if excluded => self.unwatch(node),
                Some(node) => self.arrive(node, directory, name),
                None if excluded => {}
                None => self.adopt_and_scan(directory, name),
            }
            if !excluded {
                self.check_later(directory, name, false);
            }
        }
        if excluded || !self.filter.includes(relative) {
            return;
        }
        match departure {
            Some(departure) if departure.shown => self.pending.rename(&departure, relative),
            Some(departure) if departure.replaces => self.pending.write(relative, self.stamp),
            _ if self.was_found(memory, relative) => {}
            _ => self.pending.create(relative, is_dir, self.stamp),
        }
    }

    /// Whether what arrived was there already when its directory was looked through.
    fn was_found(&self, memory: Memory, relative: &Path) -> bool {
        let Memory::Told(Some(inode)) = memory else {
            return false;
        };
        Look::at(&self.shared.place.real(relative)).inode == Some(inode)
    }

    /// Something happened to the one watched file. Another file put in its place is new content, not a new file.
    fn take_file(&mut self, relative: &Arc<Path>, flags: ReadFlags) {
        let is_dir = flags.contains(ReadFlags::ISDIR);
        if flags.intersects(CAME) {
            if std::mem::replace(&mut self.file_exists, true) {
                self.pending.write(relative, self.stamp);
            } else {
                self.pending.create(relative, is_dir, self.stamp);
            }
        } else if flags.intersects(WENT) {
            self.file_exists = false;
            self.pending.remove(relative, is_dir, self.stamp);
        } else if self.is_write(relative, flags) {
            self.pending.write(relative, self.stamp);
        } else if flags.contains(ReadFlags::ATTRIB) {
            self.pending.chmod(relative, is_dir, self.stamp);
        }
    }

    /// Whether content changed. The end of writing through mapped memory shows only as the closing of the file, which
    /// is also all that is seen of someone who could have written and did not: the file's time tells them apart.
    fn is_write(&self, relative: &Path, flags: ReadFlags) -> bool {
        if !flags.contains(ReadFlags::CLOSE_WRITE) || self.pending.is_written(relative) {
            return flags.intersects(ReadFlags::MODIFY.union(ReadFlags::CLOSE_WRITE));
        }
        let since = self.stamp.seen - (self.pending.window() + RECENT).as_secs_f64();
        Look::at(&self.shared.place.real(relative)).mtime.is_some_and(|mtime| mtime >= since)
    }
}
