//! Searching files by name and by content.
//!
//! [`grep`] searches content, [`glob`] and [`find`] search names. All are synchronous, use several threads, answer in a
//! stable order, in bounded memory, and end soon after [`Cancel`] says so. They know nothing of requests and answers.

mod cancel;
mod error;
mod filter;
mod find;
mod found;
mod glob;
mod grep;
mod parallel;
mod pattern;
mod selection;
mod size;
mod walk;

pub use cancel::{Cancel, Interruption};
pub use error::{Argument, SearchError};
pub use find::{FindOutcome, FindQuery, find};
pub use found::{Found, Metadata, Order, Sort};
pub use glob::{GlobOutcome, GlobQuery, glob};
pub use grep::{FileMatches, GrepOutcome, GrepQuery, LineMatch, PassedOver, grep};
pub use size::parse_size;
