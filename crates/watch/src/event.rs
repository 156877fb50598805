//! What is told of a change.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// It appeared.
    Create,
    /// Its content changed.
    Write,
    /// It is gone.
    Remove,
    /// It was moved from a place that is watched to another.
    Rename,
    /// Its permissions, owner or times changed.
    Chmod,
}

/// A change to a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number: 1, 2, 3, …; a number is left out only where events were lost.
    pub seq: u64,
    /// What happened.
    pub change: Change,
    /// The file.
    pub path: PathBuf,
    /// The same from the watched directory on; `.` for that directory itself.
    pub relative: PathBuf,
    /// Where it was before it was moved.
    pub old_path: Option<PathBuf>,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// When it was seen, in seconds since 1970.
    pub timestamp: f64,
    /// What the file looked like when the event was delivered.
    pub look: Look,
}

/// What a file looks like; nothing of it is known when it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Look {
    /// When its content last changed, in seconds since 1970.
    pub mtime: Option<f64>,
    /// Bytes.
    pub size: Option<u64>,
    /// Its number in its file system.
    pub inode: Option<u64>,
}

impl Look {
    /// Looks at the file itself, not at what a symbolic link leads to.
    pub(crate) fn at(path: &Path) -> Self {
        std::fs::symlink_metadata(path).map(|metadata| Self::of(&metadata)).unwrap_or_default()
    }

    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            mtime: metadata.modified().ok().map(seconds),
            size: Some(metadata.len()),
            inode: Some(metadata.ino()),
        }
    }
}

/// Now, in seconds since 1970.
pub(crate) fn now() -> f64 {
    seconds(SystemTime::now())
}

fn seconds(time: SystemTime) -> f64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_secs_f64(),
        Err(before) => -before.duration().as_secs_f64(),
    }
}
