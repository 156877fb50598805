//! What can go wrong, told apart as far as a caller must.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a tree was not packed, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// Something in the tree could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// What.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// The root is neither a directory nor a regular file.
    #[error("{}: is neither a directory nor a regular file", path.display())]
    Special {
        /// The root.
        path: PathBuf,
    },
    /// Something in the tree has no place in this format.
    #[error("{}: {reason}", path.display())]
    Unfit {
        /// What.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// The archive could not be written.
    #[error("the archive could not be written: {0}")]
    Write(#[source] io::Error),
    /// It was told to break off.
    #[error("packing was broken off")]
    Cancelled,
}

/// Why an archive was not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// It is no archive, or one of a kind that is not read here.
    #[error("{reason}")]
    Format {
        /// What it is, and what would do.
        reason: String,
    },
    /// An entry that must not be unpacked.
    #[error("entry {entry}: {reason}")]
    Unsafe {
        /// The entry's name, fit to be shown.
        entry: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It is damaged or cut off.
    #[error("{reason}")]
    Broken {
        /// What is wrong with it.
        reason: String,
    },
    /// It holds too much.
    #[error("it holds more than {allowed} {limit}")]
    TooLarge {
        /// What there is too much of.
        limit: Limit,
        /// How much is allowed.
        allowed: u64,
    },
    /// Something is there already and must be kept.
    #[error("{}: is there already", path.display())]
    Exists {
        /// What.
        path: PathBuf,
    },
    /// Something is in the way that is never replaced.
    #[error("{}: {reason}", path.display())]
    InTheWay {
        /// What.
        path: PathBuf,
        /// Why it stays.
        reason: &'static str,
    },
    /// The archive itself could not be read.
    #[error("the archive could not be read: {0}")]
    Read(#[source] io::Error),
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was attempted with.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// It was told to break off.
    #[error("unpacking was broken off")]
    Cancelled,
}

/// A limit of an unpacking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Entries.
    Entries,
    /// Bytes, unpacked.
    Bytes,
    /// How many times the archive's own size.
    Ratio,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Entries => "entries",
            Self::Bytes => "bytes",
            Self::Ratio => "times its own size",
        })
    }
}

impl ExtractError {
    pub(crate) fn broken(reason: impl Into<String>) -> Self {
        Self::Broken { reason: reason.into() }
    }

    pub(crate) fn hazard(entry: &[u8], reason: impl Into<String>) -> Self {
        Self::Unsafe { entry: show(entry), reason: reason.into() }
    }

    pub(crate) fn io(path: impl Into<PathBuf>, source: impl Into<io::Error>) -> Self {
        Self::Io { path: path.into(), source: source.into() }
    }

    /// Places the path of something in an archive below its destination.
    pub(crate) fn below(self, destination: &Path) -> Self {
        match self {
            Self::Io { path, source } => Self::Io { path: destination.join(path), source },
            other => other,
        }
    }

    /// A failed read of the archive: the system's fault if the system said so, else the archive's.
    pub(crate) fn unreadable(error: io::Error) -> Self {
        if error.raw_os_error().is_some() {
            return Self::Read(error);
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::broken("it ends too early"),
            _ => Self::broken(format!("its compressed data is damaged ({error})")),
        }
    }
}

/// An entry's name as a message shows it: on one line, and not longer than helps.
pub(crate) fn show(name: &[u8]) -> String {
    const SHOWN: usize = 200;
    let text = String::from_utf8_lossy(name.get(..SHOWN * 4).unwrap_or(name));
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("'{shown}'")
}
