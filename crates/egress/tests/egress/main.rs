//! The proxy over real sockets: what clients get, what servers and other proxies see, and what liars achieve.

#![expect(clippy::unwrap_used, reason = "test code")]

mod bounds;
mod liars;
mod plain;
mod policy;
mod scene;
mod socks;
mod tunnels;
mod upstream;
