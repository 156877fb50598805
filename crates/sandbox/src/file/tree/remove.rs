//! Deleting a directory with everything in it, whatever it holds.
//!
//! Directories are entered through descriptors and never through links, so that nothing outside is touched even when
//! somebody swaps a directory for a link meanwhile. Few are open at once: what lies too deep is moved up first, so that
//! a tree of any depth needs neither many descriptors nor much stack.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, openat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use uuid::Uuid;

/// Directories open at once.
const DEPTH: usize = 64;
/// Times a directory is read again because something is left in it: others may put files there while we empty it.
const ROUNDS: usize = 4;

/// What could not be deleted, and why.
#[derive(Debug)]
pub(super) struct Undeletable {
    pub(super) path: PathBuf,
    pub(super) error: io::Error,
}

/// A directory being emptied.
struct Level {
    directory: Dir,
    name: CString,
    rounds: usize,
    /// Whether something was moved up into it since it was last read from the start.
    refilled: bool,
}

/// Deletes a directory; not one that a link leads to.
pub(super) fn remove_tree(top: &Path) -> Result<(), Undeletable> {
    let mut removal = Removal { levels: Vec::new(), entry: None };
    removal.run(top).map_err(|error| {
        let levels = removal.levels.iter().skip(1).map(|level| &level.name);
        let names = levels.chain(&removal.entry).map(|name| OsStr::from_bytes(name.to_bytes()));
        Undeletable { path: std::iter::once(top.as_os_str()).chain(names).collect(), error }
    })
}

/// The directories entered, and what is being deleted in the last one.
struct Removal {
    levels: Vec<Level>,
    entry: Option<CString>,
}

impl Removal {
    fn run(&mut self, top: &Path) -> io::Result<()> {
        let name = CString::new(top.as_os_str().as_bytes())?;
        let directory = open(CWD, &name)?;
        self.enter(directory, name);
        while let Some(level) = self.levels.last_mut() {
            match level.directory.read() {
                Some(Err(error)) => return Err(error.into()),
                None => self.leave()?,
                Some(Ok(entry)) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
                Some(Ok(entry)) => {
                    let kind = entry.file_type();
                    self.entry = Some(entry.file_name().to_owned());
                    self.take(entry.file_name(), kind)?;
                    self.entry = None;
                }
            }
        }
        Ok(())
    }

    fn enter(&mut self, directory: Dir, name: CString) {
        self.levels.push(Level { directory, name, rounds: 0, refilled: false });
    }

    /// Deletes an entry of the last directory, or enters it.
    fn take(&mut self, name: &CStr, kind: FileType) -> io::Result<()> {
        let at = last(&self.levels)?;
        if !matches!(kind, FileType::Directory | FileType::Unknown) {
            return gone(unlinkat(at, name, AtFlags::empty()));
        }
        let directory = match open(at, name) {
            Ok(directory) => directory,
            // It is none, or a link to one.
            Err(Errno::NOTDIR | Errno::LOOP) => return gone(unlinkat(at, name, AtFlags::empty())),
            // What must not be read may be empty.
            Err(error @ (Errno::ACCESS | Errno::PERM)) => {
                return gone(unlinkat(at, name, AtFlags::REMOVEDIR)).map_err(|_| error.into());
            }
            other => return gone(other.map(drop)),
        };
        if self.levels.len() < DEPTH {
            self.enter(directory, name.to_owned());
            return Ok(());
        }
        let up = CString::new(format!(".atoll-{}", Uuid::new_v4().simple()))?;
        let top = self.levels.first().ok_or(Errno::INVAL)?.directory.fd()?;
        renameat_with(at, name, top, &up, RenameFlags::NOREPLACE)?;
        if let Some(top) = self.levels.first_mut() {
            top.refilled = true;
        }
        Ok(())
    }

    /// Deletes the last directory, which has been read to its end.
    fn leave(&mut self) -> io::Result<()> {
        let Some(mut level) = self.levels.pop() else { return Ok(()) };
        let at = if self.levels.is_empty() { CWD } else { last(&self.levels)? };
        match unlinkat(at, &level.name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) if level.refilled || level.rounds < ROUNDS => {
                if !std::mem::take(&mut level.refilled) {
                    level.rounds += 1;
                }
                level.directory.rewind();
                self.levels.push(level);
                Ok(())
            }
            Err(error) if error != Errno::NOENT => {
                self.levels.push(level);
                Err(error.into())
            }
            _ => Ok(()),
        }
    }
}

fn last(levels: &[Level]) -> io::Result<BorrowedFd<'_>> {
    Ok(levels.last().ok_or(Errno::INVAL)?.directory.fd()?)
}

fn open(at: impl AsFd, name: &CStr) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Dir::new(openat(at, name, flags, Mode::empty())?)
}

/// What is gone already needs no deleting.
fn gone(result: Result<(), Errno>) -> io::Result<()> {
    match result {
        Err(Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn everything_goes_but_what_links_lead_to() {
        let scratch = tempfile::tempdir().unwrap();
        let (top, outside) = (scratch.path().join("top"), scratch.path().join("outside"));
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        symlink(&outside, top.join("a/link")).unwrap();
        symlink("nowhere", top.join("dangling")).unwrap();
        for number in 0..1000 {
            fs::write(top.join(format!("a/b/{number}")), "x").unwrap();
        }
        remove_tree(&top).unwrap();
        assert!(!top.exists());
        assert_eq!(fs::read(outside.join("kept")).unwrap(), b"kept");
        // The link itself is not a directory to delete.
        symlink(&outside, &top).unwrap();
        assert!(remove_tree(&top).is_err());
        assert!(outside.exists());
    }

    #[test]
    fn a_tree_deeper_than_any_path_goes_too() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().join("top");
        fs::create_dir(&top).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = openat(CWD, &top, flags, Mode::empty()).unwrap();
        for _ in 0..1000 {
            rustix::fs::mkdirat(&at, "deep", Mode::from_raw_mode(0o755)).unwrap();
            at = openat(&at, "deep", flags, Mode::empty()).unwrap();
        }
        drop(at);
        remove_tree(&top).unwrap();
        assert!(!top.exists());
    }
}
