//! Watching files: watchers that keep their events for readers, and waits for one file.
//!
//! [`Watches`] owns the watchers. A watcher nobody reads from for long is stopped; all of them, and everyone who waits,
//! stop with the server.

mod fault;
mod follow;
mod poll;
mod service;
#[cfg(test)]
mod tests;
mod wait;
mod watcher;

pub use service::Watches;
