//! Watchers on real directories. Nothing here sleeps: every test waits for what must come.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod directories;
mod files;
mod moves;
mod random;
mod support;
mod wait;
