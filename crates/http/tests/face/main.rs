//! The face over a real socket, with a fake service behind it.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail loudly"
)]

mod audit;
mod auth;
mod client;
mod downloads;
mod fake;
mod fuzz;
mod guard;
mod hostile;
mod log;
mod pages;
mod requests;
mod stop;
mod store;
mod streams;
mod support;
mod uploads;
mod visits;
mod websockets;
