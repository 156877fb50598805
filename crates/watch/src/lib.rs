//! Watching files: exact events from inotify, kept for readers that come and go.
//!
//! [`Watcher`] follows a directory, or one file, and numbers what happens in a bounded log; [`wait_for`] waits for one
//! thing to happen to one path. Nothing is lost silently: where events could not be kept or were never seen, readers
//! are told.

mod disk;
mod engine;
mod error;
mod event;
mod filter;
mod kernel;
mod log;
mod pending;
mod place;
mod stop;
mod tree;
mod wait;
mod watcher;

pub use error::{Error, PatternList};
pub use event::{Change, Event, Look};
pub use wait::wait_for;
pub use watcher::{Batch, Progress, Settings, Unfinished, Watcher};
