//! Directories by handle, one step at a time.
//!
//! Every name given to a [`Directory`] is one component. The kernel never resolves a path here: nothing climbs, and a
//! link is something to look at, never to go through.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, Stat, StatxFlags, Timespec, Timestamps,
    UTIME_OMIT,
};
use rustix::io::Errno;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Directory(OwnedFd);

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Directory,
    File,
    Link,
    /// A device, a pipe, a socket.
    Special,
}

/// When something last changed: seconds since 1970, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(pub(crate) i64, pub(crate) u32);

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

impl Directory {
    /// The directory a caller names; links on the way are the caller's.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(CWD, path, DIRECTORY, Mode::empty())?))
    }

    /// Another handle on it.
    pub(crate) fn reopen(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// The directory with this name; a link to one is refused.
    pub(crate) fn child(&self, name: &OsStr) -> io::Result<Self> {
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        Ok(Self(rustix::fs::openat(&self.0, one(name)?, flags, Mode::empty())?))
    }

    /// What this name stands for; `None` when there is nothing.
    pub(crate) fn kind(&self, name: &OsStr) -> io::Result<Option<Kind>> {
        match self.stat(name) {
            Ok(stat) => Ok(Some(Kind::of(&stat))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn stat(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.0, one(name)?, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Opens a regular file to read. What else may be there by now is opened without waiting for it, then refused.
    pub(crate) fn read(&self, name: &OsStr) -> io::Result<(File, Stat)> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, one(name)?, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&file)?;
        if Kind::of(&stat) == Kind::File {
            Ok((file.into(), stat))
        } else {
            Err(Errno::NXIO.into())
        }
    }

    pub(crate) fn read_link(&self, name: &OsStr) -> io::Result<CString> {
        Ok(rustix::fs::readlinkat(&self.0, one(name)?, Vec::new())?)
    }

    /// Makes a file that nobody else can read yet; refused when there is anything by this name.
    pub(crate) fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, one(name)?, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    pub(crate) fn make_directory(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, one(name)?, Mode::from_raw_mode(0o777))?)
    }

    pub(crate) fn make_link(&self, name: &OsStr, target: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.0, one(name)?)?)
    }

    /// Gives what `from` calls `old` another name here; never what a link leads to.
    pub(crate) fn hard_link(&self, name: &OsStr, from: &Self, old: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::linkat(&from.0, one(old)?, &self.0, one(name)?, AtFlags::empty())?)
    }

    /// Says when a link itself was last changed.
    pub(crate) fn date_link(&self, name: &OsStr, moment: Moment) -> io::Result<()> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        Ok(rustix::fs::utimensat(&self.0, one(name)?, &moment.timestamps(), flags)?)
    }

    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::fchmod(&self.0, Mode::from_raw_mode(mode))?)
    }

    pub(crate) fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, one(name)?, AtFlags::REMOVEDIR)?)
    }

    /// Moves something to where nothing may be.
    pub(crate) fn move_to(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        match self.rename(name, to, new, RenameFlags::NOREPLACE) {
            // The file system does not know the flag: look first.
            Err(Errno::INVAL | Errno::NOSYS) => match to.kind(new)? {
                Some(_) => Err(Errno::EXIST.into()),
                None => Ok(self.rename(name, to, new, RenameFlags::empty())?),
            },
            result => Ok(result?),
        }
    }

    /// Lets two things change places at once; `false` where the file system cannot.
    pub(crate) fn exchange(&self, name: &OsStr, with: &Self, other: &OsStr) -> io::Result<bool> {
        match self.rename(name, with, other, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn rename(
        &self,
        name: &OsStr,
        to: &Self,
        new: &OsStr,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        rustix::fs::renameat_with(&self.0, one(name)?, &to.0, one(new)?, flags)
    }

    /// The names in it, as they come.
    pub(crate) fn listing(&self) -> io::Result<Listing> {
        Ok(Listing(Dir::read_from(&self.0)?))
    }

    /// Tells one mounted file system from another: files can be moved only within one.
    pub(crate) fn mount(&self) -> io::Result<(u64, Option<u64>)> {
        let device = rustix::fs::fstat(&self.0)?.st_dev;
        let mount = rustix::fs::statx(&self.0, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID);
        let mount = mount.ok().filter(|mount| mount.stx_mask & StatxFlags::MNT_ID.bits() != 0);
        Ok((device, mount.map(|mount| mount.stx_mnt_id)))
    }

    pub(crate) fn metadata(&self) -> io::Result<Stat> {
        Ok(rustix::fs::fstat(&self.0)?)
    }
}

/// Names in a directory.
#[derive(Debug)]
pub(crate) struct Listing(Dir);

impl Iterator for Listing {
    type Item = io::Result<CString>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.read()? {
                Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
                Ok(entry) => return Some(Ok(entry.file_name().to_owned())),
                Err(error) => return Some(Err(error.into())),
            }
        }
    }
}

impl Kind {
    pub(crate) fn of(stat: &Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Self::Directory,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Link,
            _ => Self::Special,
        }
    }
}

impl Moment {
    /// File systems keep what lies between; what does not is the archive's nonsense.
    fn timestamps(self) -> Timestamps {
        let omitted = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let tv_sec = self.0.clamp(-(1 << 31), (1 << 34) - 1);
        let last_modification = Timespec { tv_sec, tv_nsec: self.1.min(999_999_999).into() };
        Timestamps { last_access: omitted, last_modification }
    }
}

/// Says when a file was last changed, and who may do what with it.
pub(crate) fn finish_file(file: impl AsFd, moment: Moment, mode: u32) -> io::Result<()> {
    rustix::fs::futimens(&file, &moment.timestamps())?;
    Ok(rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?)
}

/// The rule of this module, held at its door: a name is one component.
fn one(name: &OsStr) -> Result<&OsStr, Errno> {
    let bytes = name.as_bytes();
    if matches!(bytes, b"" | b"." | b"..") || bytes.contains(&b'/') {
        return Err(Errno::INVAL);
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn only_single_components_are_names() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("a")).unwrap();
        std::os::unix::fs::symlink("a", directory.path().join("link")).unwrap();
        let handle = Directory::open(directory.path()).unwrap();
        assert!(handle.child(OsStr::new("a")).is_ok());
        for name in ["", ".", "..", "a/b", "/", "link"] {
            assert!(handle.child(OsStr::new(name)).is_err(), "{name:?}");
        }
        assert_eq!(handle.kind(OsStr::new("link")).unwrap(), Some(Kind::Link));
        assert_eq!(handle.kind(OsStr::new("none")).unwrap(), None);
    }

    #[test]
    fn what_is_there_is_not_moved_over_by_accident() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a"), "a").unwrap();
        std::fs::write(directory.path().join("b"), "b").unwrap();
        let handle = Directory::open(directory.path()).unwrap();
        let (a, b) = (OsStr::new("a"), OsStr::new("b"));
        let error = handle.move_to(a, &handle, b).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        if handle.exchange(a, &handle, b).unwrap() {
            assert_eq!(std::fs::read(directory.path().join("a")).unwrap(), b"b");
        }
    }
}
