//! What searches find, and the order it comes in.

use std::cmp::Ordering;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::pattern::last_component;

/// A file or directory found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where: the path searched, continued.
    pub path: PathBuf,
    /// Whether it is a directory, or a link to one.
    pub is_directory: bool,
    /// Size and time, where they were asked for or needed, and could be had.
    pub metadata: Option<Metadata>,
}

/// What is known about a file's content without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// Bytes.
    pub size: u64,
    /// When it last changed.
    pub modified: SystemTime,
}

/// What to order by. What is equal otherwise is ordered by path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The bytes of the path.
    #[default]
    Path,
    /// The bytes of the last component.
    Name,
    /// Bytes of content.
    Size,
    /// Time of the last change.
    Modified,
}

/// An order of things found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Order {
    /// What to order by.
    pub by: Sort,
    /// Whether the order is turned round.
    pub descending: bool,
}

impl Order {
    /// Whether it needs what only a look at each file tells.
    pub(crate) fn needs_metadata(self) -> bool {
        matches!(self.by, Sort::Size | Sort::Modified)
    }

    /// Which of two comes first; equal only for the same path.
    pub(crate) fn compare(self, one: &Found, other: &Found) -> Ordering {
        let by_key = match self.by {
            Sort::Path => Ordering::Equal,
            Sort::Name => last_component(bytes(&one.path)).cmp(last_component(bytes(&other.path))),
            Sort::Size => {
                let size = |found: &Found| found.metadata.map(|metadata| metadata.size);
                size(one).cmp(&size(other))
            }
            Sort::Modified => {
                let modified = |found: &Found| found.metadata.map(|metadata| metadata.modified);
                modified(one).cmp(&modified(other))
            }
        };
        let order = by_key.then_with(|| bytes(&one.path).cmp(bytes(&other.path)));
        if self.descending { order.reverse() } else { order }
    }
}

impl Metadata {
    /// Of what a path leads to; of the link itself when it leads nowhere.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).or_else(|_| std::fs::symlink_metadata(path)).ok()?;
        Some(Self { size: metadata.len(), modified: metadata.modified().ok()? })
    }
}

/// The bytes of a path.
pub(crate) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}
