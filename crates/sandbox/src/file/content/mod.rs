//! What is in a file: reading, writing, appending, replacing, searching.
//!
//! Only regular files are touched, and never one that could make the server wait: pipes, sockets and devices are
//! refused before they are opened. Text is UTF-8 and kept byte for byte, a byte order mark included.

mod jsonl;
mod lines;
mod open;
mod payload;
mod read;
mod replace;
mod search;
mod temporary;
mod text;
mod write;

pub(super) use lines::{count_lines, read_lines};
pub(super) use open::{Source, read_all};
pub(super) use text::{decode, refuse_foreign};

#[cfg(test)]
mod disk_tests;
#[cfg(test)]
mod tests;
