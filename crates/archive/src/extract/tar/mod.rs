//! tar, read block by block: what POSIX and GNU have added to it over the years, sparse files included.
//!
//! A name or an attribute is as long as the archive says, but never longer than a bound. What has no meaning here, or
//! one that programs disagree on, is refused rather than guessed.

mod entry;
mod pax;
mod sparse;
mod stream;

pub(super) use self::entry::unpack;
pub(super) use self::sparse::Part;
pub(super) use self::stream::Stream;
