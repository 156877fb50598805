//! Snapshots: a page as elements, source, text, Markdown or an outline of roles, as large as the caller wants.
//!
//! Each is read in one call per frame and remembered for a while, so that a later one can say what changed. What is
//! cut off is always told.

mod changes;
mod elements;
mod find;
mod outline;
mod text;

pub use elements::ElementsSnapshot;
pub use find::Found;
pub use text::TextSnapshot;

/// How much of a page a snapshot is to tell.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Only what is in the first element this finds.
    pub selector: Option<String>,
    /// At most this many characters.
    pub max_chars: Option<usize>,
    /// Only what is new since the snapshot with this token.
    pub since: Option<String>,
}
