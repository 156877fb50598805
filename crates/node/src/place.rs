//! A private directory that goes with its owner, and the named pipes in it.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, mkfifoat};

use crate::error::NodeError;

/// A directory only this user can enter. Dropping it removes it with everything in it.
#[derive(Debug)]
pub(crate) struct Place(PathBuf);

impl Place {
    /// Makes a directory of a name nobody knows.
    pub(crate) fn make(parent: &Path) -> Result<Self, NodeError> {
        let path = parent.join(format!("node-{}", uuid::Uuid::new_v4().simple()));
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => Ok(Self(path)),
            Err(source) => Err(NodeError::Prepare { path, source }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Makes a directory in it.
    pub(crate) fn directory(&self, name: &str) -> Result<PathBuf, NodeError> {
        let path = self.0.join(name);
        prepared(std::fs::create_dir(&path), &path)?;
        Ok(path)
    }

    /// Writes a file in it.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<(), NodeError> {
        let path = self.0.join(name);
        prepared(std::fs::write(&path, content), &path)
    }

    /// Makes a named pipe in it.
    pub(crate) fn pipe(&self, name: &str) -> Result<PathBuf, NodeError> {
        let path = self.0.join(name);
        prepared(mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).map_err(io::Error::from), &path)?;
        Ok(path)
    }

    /// Removes it without holding up the runtime: a program may have left much in it.
    pub(crate) async fn remove(self) {
        let removed = tokio::task::spawn_blocking(move || drop(self));
        let _never_panics = removed.await;
    }
}

pub(crate) fn prepared<T>(made: io::Result<T>, path: &Path) -> Result<T, NodeError> {
    made.map_err(|source| NodeError::Prepare { path: path.to_owned(), source })
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.0.display(), %error, "a directory could not be removed");
        }
    }
}
