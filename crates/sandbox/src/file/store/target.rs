//! The file a path leads to, whether it is there yet or not.

use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use atoll_operation::Error;
use rustix::io::Errno;

use super::turns::Place;
use crate::file::fault::Attempt;

/// Links followed before they count as a circle, as in the kernel.
const LINKS: usize = 40;

/// What to do about missing directories on the way to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::file) enum Parents {
    /// Make them.
    Make,
    /// They must be there.
    Require,
}

/// The file at the end of a path's links: replacing it leaves the links as they are.
#[derive(Debug)]
pub(in crate::file) struct Target {
    path: PathBuf,
    place: Place,
}

impl Target {
    pub(in crate::file) fn find(
        attempt: Attempt<'_>,
        path: &Path,
        parents: Parents,
    ) -> Result<Self, Error> {
        find(path, parents).map_err(|error| attempt.failed(&error))
    }

    /// Where it is, without a link at the end.
    pub(in crate::file) fn path(&self) -> &Path {
        &self.path
    }

    /// What to take turns at.
    pub(in crate::file) fn place(&self) -> &Place {
        &self.place
    }

    /// What is there; it must be a regular file.
    pub(in crate::file) fn existing(
        &self,
        attempt: Attempt<'_>,
    ) -> Result<Option<Metadata>, Error> {
        match fs::metadata(&self.path) {
            Ok(metadata) => regular(attempt, &metadata).map(|()| Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(attempt.failed(&error)),
        }
    }
}

fn find(path: &Path, parents: Parents) -> io::Result<Target> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let directory = path.parent().unwrap_or(Path::new("/"));
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                path = directory.join(fs::read_link(&path)?);
                continue;
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if parents == Parents::Make && !directory.is_dir() {
                    fs::create_dir_all(directory)?;
                }
            }
            Err(error) => return Err(error),
        }
        // `/` and what ends in `..` can only be directories.
        let name = path.file_name().ok_or(Errno::ISDIR)?.to_owned();
        let at = fs::metadata(directory)?;
        let place = Place { device: at.dev(), directory: at.ino(), name };
        return Ok(Target { path, place });
    }
    Err(Errno::LOOP.into())
}

/// Refuses what is not a regular file: a directory cannot be read or written, and anything else may never end.
pub(in crate::file) fn regular(attempt: Attempt<'_>, metadata: &Metadata) -> Result<(), Error> {
    match metadata.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(attempt.failed(&Errno::ISDIR.into())),
        kind => Err(attempt.invalid_target(&format!(
            "it is a {}, and only regular files can be read and written; use the shell for it",
            word(kind)
        ))),
    }
}

fn word(kind: FileType) -> &'static str {
    if kind.is_fifo() {
        "named pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_to_the_file_even_when_it_is_missing_and_circles_end() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        symlink("sub/second", at("first")).unwrap();
        symlink("../missing", at("sub/second")).unwrap();
        symlink("round", at("circle")).unwrap();
        symlink("circle", at("round")).unwrap();

        let through = find(&at("first"), Parents::Require).unwrap();
        let direct = find(&at("missing"), Parents::Require).unwrap();
        assert_eq!(through.place, direct.place);
        let error = find(&at("circle"), Parents::Require).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
    }

    #[test]
    fn missing_directories_are_made_only_when_asked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/file");
        let error = find(&path, Parents::Require).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        find(&path, Parents::Make).unwrap();
        assert!(directory.path().join("a/b").is_dir());
    }
}
