//! Where an archive goes, and where it waits meanwhile: a hidden directory from which it can be moved there.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;
use tempfile::TempDir;

use crate::directory::Directory;
use crate::error::ExtractError;

/// Unpacked entries; the rest of the hidden directory is for the move.
const TREE: &str = "tree";
/// What is replaced while all else is moved in.
const SWAP: &str = "swap";

/// A destination with a hidden directory, which vanishes with this.
#[derive(Debug)]
pub(super) struct Place {
    destination: PathBuf,
    /// Components of the destination that do not exist yet, under the directory that does.
    missing: Vec<PathBuf>,
    hidden: TempDir,
}

impl Place {
    /// Makes the hidden directory; changes nothing else.
    pub(super) fn prepare(destination: &Path) -> Result<Self, ExtractError> {
        let failed = |error: io::Error| ExtractError::io(destination, error);
        let existing = nearest_directory(destination).map_err(failed)?;
        let missing = missing_below(&existing, destination).map_err(failed)?;
        let hidden = if missing.is_empty() { beside(destination) } else { hide_in(&existing) }
            .map_err(failed)?;
        for name in [TREE, SWAP] {
            std::fs::create_dir(hidden.path().join(name)).map_err(failed)?;
        }
        Ok(Self { destination: destination.to_owned(), missing, hidden })
    }

    /// Makes the destination, as far as it is missing; `made` tells what must be removed to take it back.
    pub(super) fn open_destination(
        &self,
        made: &mut Vec<PathBuf>,
    ) -> Result<Directory, ExtractError> {
        for path in &self.missing {
            std::fs::create_dir(path).map_err(|error| ExtractError::io(path, error))?;
            made.push(path.clone());
        }
        Directory::open(&self.destination)
            .map_err(|error| ExtractError::io(&self.destination, error))
    }

    /// The destination as far as it is there.
    pub(super) fn look_at_destination(&self) -> Result<Option<Directory>, ExtractError> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        let opened = Directory::open(&self.destination);
        opened.map(Some).map_err(|error| ExtractError::io(&self.destination, error))
    }

    /// Where something in the destination lies.
    pub(super) fn locate(&self, inner: &Path) -> PathBuf {
        self.destination.join(inner)
    }

    pub(super) fn tree(&self) -> Result<Directory, ExtractError> {
        self.part(TREE)
    }

    pub(super) fn swap(&self) -> Result<Directory, ExtractError> {
        self.part(SWAP)
    }

    /// A file for notes that nobody sees.
    pub(super) fn notes(&self) -> Result<std::fs::File, ExtractError> {
        tempfile::tempfile_in(self.hidden.path())
            .map_err(|error| ExtractError::io(self.hidden.path(), error))
    }

    #[cfg(test)]
    pub(super) fn hidden(&self) -> &Path {
        self.hidden.path()
    }

    fn part(&self, name: &str) -> Result<Directory, ExtractError> {
        let opened = Directory::open(self.hidden.path());
        let part = opened.and_then(|hidden| hidden.child(OsStr::new(name)));
        part.map_err(|error| ExtractError::io(self.hidden.path(), error))
    }
}

/// The directory itself if it exists, else the nearest above it that does. What is there must be a directory.
pub fn nearest_directory(path: &Path) -> io::Result<PathBuf> {
    let mut path = path;
    loop {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Ok(path.to_owned()),
            Ok(_) => return Err(Errno::NOTDIR.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        path = path.parent().ok_or(Errno::NOENT)?;
    }
}

/// Each directory that must be made, outermost first. A path that climbs out of one that is not there means nothing.
fn missing_below(existing: &Path, destination: &Path) -> io::Result<Vec<PathBuf>> {
    let rest = destination.strip_prefix(existing).map_err(|_| Errno::NOENT)?;
    let mut path = existing.to_owned();
    let mut missing = Vec::new();
    for component in rest.components() {
        if !matches!(component, Component::Normal(_)) {
            return Err(Errno::NOENT.into());
        }
        path.push(component);
        missing.push(path.clone());
    }
    Ok(missing)
}

/// Beside the directory where that is the same file system and may be written to, so that nobody who looks into the
/// directory sees half an archive; else within it.
fn beside(directory: &Path) -> io::Result<TempDir> {
    let real = directory.canonicalize()?;
    if let Some(parent) = real.parent()
        && on_one_mount(parent, &real)
        && let Ok(hidden) = hide_in(parent)
    {
        return Ok(hidden);
    }
    hide_in(&real)
}

fn on_one_mount(one: &Path, other: &Path) -> bool {
    let mount = |path| Directory::open(path).and_then(|directory| directory.mount());
    matches!((mount(one), mount(other)), (Ok(one), Ok(other)) if one == other)
}

fn hide_in(directory: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix(".atoll-extract-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_waits_beside_its_destination() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let inner = root.join("a");
        std::fs::create_dir(&inner).unwrap();
        let place = Place::prepare(&inner).unwrap();
        assert_eq!(place.hidden.path().parent(), Some(root.as_path()));
        drop(place);
        let place = Place::prepare(&inner.join("x/y")).unwrap();
        assert_eq!(place.hidden.path().parent(), Some(inner.as_path()));
        assert_eq!(place.missing, [inner.join("x"), inner.join("x/y")]);
        drop(place);
        assert_eq!(std::fs::read_dir(&inner).unwrap().count(), 0);
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 1);
    }

    #[test]
    fn a_destination_that_cannot_be_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("file"), "").unwrap();
        for path in ["file", "file/below", "none/../x"] {
            assert!(Place::prepare(&directory.path().join(path)).is_err(), "{path}");
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn another_file_system_is_not_beside() {
        // Wherever these are mounted, they are mounted apart.
        let (proc, sys) = (Path::new("/proc"), Path::new("/sys"));
        assert!(!on_one_mount(proc, sys));
        assert!(on_one_mount(proc, proc));
    }
}
