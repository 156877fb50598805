//! Why a search cannot be made.

use std::io;

use thiserror::Error;

/// A search that cannot be made.
#[derive(Debug, Error)]
pub enum SearchError {
    /// Where to search is not there, or cannot be read.
    #[error("the place to search cannot be read: {0}")]
    Root(#[from] io::Error),
    /// Where to search is neither a directory nor an ordinary file: a pipe, a device, a socket.
    #[error("it is neither a directory nor an ordinary file")]
    Special,
    /// Part of the question makes no sense.
    #[error("{message}")]
    Argument {
        /// Which part.
        argument: Argument,
        /// What is wrong with it, and what to write instead.
        message: String,
    },
}

/// A part of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// The expression or glob searched for.
    Pattern,
    /// The globs files must match.
    Include,
    /// The globs of what is left out.
    Exclude,
    /// The type of files.
    FileType,
    /// The size of files.
    FileSize,
}

impl Argument {
    pub(crate) fn refuse(self, message: impl Into<String>) -> SearchError {
        SearchError::Argument { argument: self, message: message.into() }
    }
}
