//! What end-to-end tests stand on: a real server in a home of its own, and waiting for conditions instead of sleeping.

#![expect(
    clippy::panic,
    clippy::expect_used,
    reason = "test code: a failure here is a failed test"
)]

pub mod fuzz;
pub mod raw;

mod server;
mod wait;

pub use server::{Server, ServerBuilder};
pub use wait::{LONG, eventually, eventually_some};
