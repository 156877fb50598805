//! What is watched: where it lies, and under which name it is shown.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The watched directory, or the directory of the one watched file. A symbolic link at the end of the path given is
/// followed, and paths are shown as if what it leads to lay there.
#[derive(Debug)]
pub(crate) struct Place {
    shown: PathBuf,
    real: PathBuf,
    file: Option<FileName>,
}

#[derive(Debug)]
struct FileName {
    shown: OsString,
    real: OsString,
}

impl Place {
    /// Finds what lies at an absolute path.
    pub(crate) fn find(path: &Path) -> Result<Self, Error> {
        let fault = |error| Error::from_io(path, error);
        let real = std::fs::canonicalize(path).map_err(fault)?;
        if std::fs::metadata(&real).map_err(fault)?.is_dir() {
            return Ok(Self { shown: path.to_owned(), real, file: None });
        }
        let split = |path: &Path| Some((path.parent()?.to_owned(), path.file_name()?.to_owned()));
        match (split(path), split(&real)) {
            (Some((shown, shown_name)), Some((real, real_name))) => {
                let file = Some(FileName { shown: shown_name, real: real_name });
                Ok(Self { shown, real, file })
            }
            _ => Err(Error::Path {
                path: path.to_owned(),
                reason: "the path does not end in the name of a file".to_owned(),
            }),
        }
    }

    /// The directory on disk.
    pub(crate) fn directory(&self) -> &Path {
        &self.real
    }

    /// The directory as it is shown.
    pub(crate) fn shown_directory(&self) -> &Path {
        &self.shown
    }

    /// Name on disk of the one watched file.
    pub(crate) fn file(&self) -> Option<&OsStr> {
        self.file.as_ref().map(|file| file.real.as_os_str())
    }

    /// Where something lies on disk.
    pub(crate) fn real(&self, relative: &Path) -> PathBuf {
        join(&self.real, relative)
    }

    /// The path something is shown with.
    pub(crate) fn shown(&self, relative: &Path) -> PathBuf {
        match &self.file {
            Some(file) => self.shown.join(&file.shown),
            None => join(&self.shown, relative),
        }
    }

    /// The same from the watched directory on.
    pub(crate) fn relative(&self, relative: &Path) -> PathBuf {
        match &self.file {
            Some(file) => PathBuf::from(&file.shown),
            None if relative.as_os_str().is_empty() => PathBuf::from("."),
            None => relative.to_owned(),
        }
    }
}

/// Without a `/` after a directory that is meant itself.
fn join(directory: &Path, relative: &Path) -> PathBuf {
    if relative.as_os_str().is_empty() { directory.to_owned() } else { directory.join(relative) }
}
