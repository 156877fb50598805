//! Observation: what the sandbox uses now and over time, what happened to it, and reports of both.
//!
//! A guardrail looks seldom and keeps what it saw in memory; a capture looks often and keeps it in a file. Both are
//! bounded in time or in size, and each look reads the kernel's files on a thread where that is fine.

mod export;
mod live;
mod reports;
mod service;
mod session;
mod start;
mod store;

pub use service::{ObserveSettings, Observers};
