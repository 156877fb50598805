//! What is packed: opened before anything is written, so that what cannot be packed is said at once.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, Stat};

use crate::directory::{Directory, Kind};
use crate::error::PackError;

/// A directory with all that is in it, or a single file.
#[derive(Debug)]
pub struct Tree {
    path: PathBuf,
    name: OsString,
    pub(super) root: Root,
}

#[derive(Debug)]
pub(super) enum Root {
    Directory(Directory),
    File(File, Stat),
}

impl Tree {
    /// Opens it. A link given as the root itself is followed.
    pub fn open(path: &Path) -> Result<Self, PackError> {
        let unreadable = |source| PackError::Read { path: path.to_owned(), source };
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        let root = if metadata.is_dir() {
            Root::Directory(Directory::open(path).map_err(unreadable)?)
        } else if metadata.is_file() {
            open_file(path).map_err(unreadable)?
        } else {
            return Err(PackError::Special { path: path.to_owned() });
        };
        Ok(Self { path: path.to_owned(), name: own_name(path).map_err(unreadable)?, root })
    }

    /// The same under another name, which must be one component of a path.
    #[must_use]
    pub fn called(mut self, name: impl Into<OsString>) -> Self {
        self.name = name.into();
        self
    }

    /// Its own name, with which every path in the archive begins.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Where something in it lies, by its path in the archive.
    pub(super) fn locate(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.name) {
            Ok(inner) if inner.as_os_str().is_empty() => self.path.clone(),
            Ok(inner) => self.path.join(inner),
            Err(_) => path.to_owned(),
        }
    }
}

fn open_file(path: &Path) -> io::Result<Root> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let stat = rustix::fs::fstat(&file)?;
    if Kind::of(&stat) == Kind::File {
        Ok(Root::File(file, stat))
    } else {
        Err(io::Error::from(rustix::io::Errno::NXIO))
    }
}

/// The last component; where that is none, as in `..`, what it comes to. The root directory has no name of its own.
fn own_name(path: &Path) -> io::Result<OsString> {
    if let Some(name) = path.file_name() {
        return Ok(name.to_owned());
    }
    let real = path.canonicalize()?;
    Ok(real.file_name().unwrap_or(OsStr::new("root")).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_called_what_its_last_component_is() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        assert_eq!(own_name(&inner).unwrap(), "b");
        assert_eq!(own_name(&inner.join("..")).unwrap(), "a");
        assert_eq!(own_name(Path::new("/")).unwrap(), "root");
    }

    #[test]
    fn what_has_no_content_is_no_tree() {
        let error = Tree::open(Path::new("/dev/null")).unwrap_err();
        assert!(matches!(error, PackError::Special { .. }), "{error}");
        let error = Tree::open(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(matches!(error, PackError::Read { .. }), "{error}");
    }
}
