//! The engine's core against a real Chromium: its life, tabs, contexts, frames, and what can be done with a page.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../support/mod.rs"]
mod support;

mod contexts;
mod evaluating;
mod events;
mod frames;
mod life;
mod navigating;
mod pictures;
mod protocol;
mod waiting;
