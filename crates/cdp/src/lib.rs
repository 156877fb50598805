//! The wire to a Chromium: commands, their answers, and events of the DevTools protocol.
//!
//! One WebSocket carries every session ("flat" sessions: each message names its own). Messages are JSON values read
//! leniently, so a newer browser with more fields or kinds is no problem. An [`Observer`] sees each event in order
//! before any answer that came after it; a [`Subscription`] gets its share of the events without loss, within a bound.
//! When the line breaks, whatever waits fails with the reason. This crate knows nothing of pages or tabs.

mod connection;
mod error;
mod event;
mod session;

pub use connection::{Connection, Observer};
pub use error::CdpError;
pub use event::{Event, Subscription};
pub use session::{Reply, Session};
