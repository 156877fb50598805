//! zip, read by its table of contents, line by line: neither the table nor anything in it is kept in memory.
//!
//! Names must be the same in the table and before the data, sizes and checksums must be true, and entries must not
//! share data, so that this archive is the same to every reader.

mod entry;
mod fields;
mod name;
mod table;

pub(super) use self::entry::unpack;
