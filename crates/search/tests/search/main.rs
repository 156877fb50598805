//! Searches over real trees of files.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod ending;
mod find;
mod glob;
mod grep;
mod grep_files;
mod paging;
mod tree;
