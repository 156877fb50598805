//! Replacing a file by one that is made beside it.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::{Access, access};
use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile};

use super::in_place;

/// The names of all files and directories that are not finished begin so.
pub(in crate::file) const UNFINISHED: &str = ".atoll-";
/// Those of files that will not be there before they are finished.
pub(in crate::file) const FRESH: &str = ".atoll-new-";
/// Those of files that will take the place of another one.
pub(in crate::file) const REPLACING: &str = ".atoll-over-";

/// Writes the content from the start of a file on; may be asked to do it again for another file.
pub(in crate::file) type Fill<'a> = &'a mut dyn FnMut(&mut File) -> io::Result<()>;

/// An order to give a file new content.
#[derive(Debug)]
pub(in crate::file) struct Replacement<'a> {
    /// The file; no link.
    pub(in crate::file) target: &'a Path,
    /// What is there, if anything.
    pub(in crate::file) existing: Option<&'a Metadata>,
    /// Bytes of the new content.
    pub(in crate::file) length: u64,
    /// Permission bits to give; otherwise they stay, or are what the process gives to new files.
    pub(in crate::file) mode: Option<u32>,
    /// Whether to wait until it is on the disk.
    pub(in crate::file) sync: bool,
}

/// Why a file was not replaced.
enum Failure {
    /// It cannot be replaced here, by its nature or its directory's.
    Unsuitable(io::Error),
    /// It could, but something failed.
    Failed(io::Error),
}

impl Replacement<'_> {
    /// Carries it out.
    pub(in crate::file) fn carry_out(&self, fill: Fill<'_>) -> io::Result<()> {
        let Some(existing) = self.existing else {
            return self.replace(fill).map_err(|failure| match failure {
                Failure::Unsuitable(error) | Failure::Failed(error) => error,
            });
        };
        // Renaming needs no right to the file that is replaced; writing does.
        access(self.target, Access::WRITE_OK)?;
        if existing.nlink() > 1 || has_attributes(self.target) {
            return in_place::write(self, fill);
        }
        match self.replace(fill) {
            Err(Failure::Unsuitable(_)) => in_place::write(self, fill),
            Err(Failure::Failed(error)) => Err(error),
            Ok(()) => Ok(()),
        }
    }

    fn replace(&self, fill: Fill<'_>) -> Result<(), Failure> {
        let directory = self.target.parent().unwrap_or(Path::new("/"));
        // What is to be kept from others must never be open to them, half-finished or not.
        let mode = if self.existing.is_some() || self.mode.is_some() { 0o600 } else { 0o666 };
        let prefix = if self.existing.is_some() { REPLACING } else { FRESH };
        let mut fresh = temporary(directory, prefix, "", mode).map_err(unless_exhausted)?;
        fill(fresh.as_file_mut()).map_err(Failure::Failed)?;
        if let Some(existing) = self.existing {
            fchown(fresh.as_file(), Some(existing.uid()), Some(existing.gid()))
                .map_err(Failure::Unsuitable)?;
        }
        let kept = self.existing.map(|existing| existing.mode() & 0o7777);
        if let Some(mode) = self.mode.or(kept) {
            let permissions = Permissions::from_mode(mode);
            fresh.as_file().set_permissions(permissions).map_err(Failure::Failed)?;
        }
        if self.sync {
            fresh.as_file().sync_all().map_err(Failure::Failed)?;
        }
        fresh.persist(self.target).map_err(|error| Failure::Unsuitable(error.error))?;
        if self.sync { sync_directory(directory).map_err(Failure::Failed) } else { Ok(()) }
    }
}

/// Makes a file that must not be there yet, complete from its first moment on.
pub(in crate::file) fn create_new(target: &Path, content: &[u8]) -> io::Result<()> {
    let directory = target.parent().unwrap_or(Path::new("/"));
    let mut fresh = temporary(directory, FRESH, "", 0o666)?;
    io::Write::write_all(fresh.as_file_mut(), content)?;
    fresh.persist_noclobber(target).map(drop).map_err(|error| error.error)
}

/// A file with a random name, which goes away unless it is kept.
pub(in crate::file) fn temporary(
    directory: &Path,
    prefix: &str,
    suffix: &str,
    mode: u32,
) -> io::Result<NamedTempFile> {
    // Opened here, since the crate's own way hides the system's error number.
    Builder::new().prefix(prefix).suffix(suffix).rand_bytes(10).make_in(directory, |path| {
        File::options().read(true).write(true).create_new(true).mode(mode).open(path)
    })
}

/// A directory that takes no new file may still hold one that can be written; a machine that has nothing left cannot
/// be helped that way.
fn unless_exhausted(error: io::Error) -> Failure {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    match errno {
        Some(Errno::NOSPC | Errno::DQUOT | Errno::MFILE | Errno::NFILE | Errno::NOMEM) => {
            Failure::Failed(error)
        }
        _ => Failure::Unsuitable(error),
    }
}

/// Whether a file has access lists or attributes of its user, which another file would not have.
fn has_attributes(path: &Path) -> bool {
    let mut names = [0; 1024];
    match rustix::fs::listxattr(path, &mut names) {
        Ok(length) => {
            names.get(..length).unwrap_or_default().split(|byte| *byte == 0).any(|name| {
                name.starts_with(b"user.") || name.starts_with(b"system.posix_acl_access")
            })
        }
        Err(error) => error == Errno::RANGE,
    }
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::path::PathBuf;

    use super::*;

    fn put(target: &Path, content: &[u8], mode: Option<u32>) -> io::Result<()> {
        let existing = fs::metadata(target).ok();
        Replacement {
            target,
            existing: existing.as_ref(),
            length: content.len() as u64,
            mode,
            sync: true,
        }
        .carry_out(&mut |file| file.write_all(content))
    }

    fn names(directory: &Path) -> Vec<PathBuf> {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_replaced_file_is_another_with_the_same_mode() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
        let mut reader = File::open(&path).unwrap();
        put(&path, b"new", None).unwrap();
        // Whoever had it open keeps reading what was there.
        let mut seen = String::new();
        io::Read::read_to_string(&mut reader, &mut seen).unwrap();
        assert_eq!((seen.as_str(), fs::read(&path).unwrap().as_slice()), ("old", &b"new"[..]));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o751);
        put(&path, b"newer", Some(0o640)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
        assert_eq!(names(directory.path()), [path]);
    }

    #[test]
    fn content_that_cannot_be_had_leaves_the_old_and_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "old").unwrap();
        let existing = fs::metadata(&path).unwrap();
        let order = Replacement {
            target: &path,
            existing: Some(&existing),
            length: 100,
            mode: None,
            sync: false,
        };
        let error = order
            .carry_out(&mut |file| {
                file.write_all(b"half")?;
                Err(Errno::NOSPC.into())
            })
            .unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::NOSPC.raw_os_error()));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), [path]);
    }

    #[test]
    fn other_names_of_a_file_see_what_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let (path, other) = (directory.path().join("file"), directory.path().join("other"));
        fs::write(&path, "a longer text").unwrap();
        fs::hard_link(&path, &other).unwrap();
        put(&path, b"short", Some(0o600)).unwrap();
        assert_eq!(fs::read(&other).unwrap(), b"short");
        put(&path, &vec![b'x'; 100_000], None).unwrap();
        assert_eq!(fs::metadata(&other).unwrap().len(), 100_000);
        assert_eq!(fs::metadata(&other).unwrap().mode() & 0o7777, 0o600);
    }

    #[test]
    fn a_new_file_never_replaces_one_that_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        create_new(&path, b"first").unwrap();
        let error = create_new(&path, b"second").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(names(directory.path()), [path]);
    }

    #[test]
    fn user_attributes_survive() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "old").unwrap();
        let flags = rustix::fs::XattrFlags::empty();
        if rustix::fs::setxattr(&path, "user.note", b"mine", flags).is_err() {
            return; // This file system has none.
        }
        put(&path, b"new", None).unwrap();
        let mut value = [0; 16];
        assert_eq!(rustix::fs::getxattr(&path, "user.note", &mut value).unwrap(), 4);
    }
}
