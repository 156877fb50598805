//! Archives: a directory packed while it is sent, and an archive unpacked without trusting it.
//!
//! Everything here blocks, works in constant memory whatever the archive holds, and looks at a flag to break off. Paths
//! inside a tree are walked by directory handles, one component at a time and never through a link, so that neither an
//! archive nor a program that changes the tree meanwhile can lead the work elsewhere.
//!
//! Both formats are read by code of our own: the readers at hand keep an archive's table of contents, or a name as long
//! as the archive says it is, in memory.

mod directory;
mod error;
mod extract;
mod format;
mod pack;

pub use error::{ExtractError, Limit, PackError};
pub use extract::{Existing, Extracted, Limits, extract, nearest_directory};
pub use format::Format;
pub use pack::{Packed, Tree, pack};

/// How many directories may lie within one another. Each costs an open handle or two while a tree is walked.
const DEPTH: usize = 128;
