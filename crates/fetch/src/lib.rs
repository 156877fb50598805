//! Documents and answers fetched from the web: one request, its redirects, its body, each with a bound.
//!
//! [`Fetcher`] speaks HTTP/1.1 and TLS over connections that a [`Dial`] opens, so that whoever decides what may be
//! reached from this machine decides it here too. It keeps nothing between requests. Time, size, redirects and what a
//! compressed body may unpack to are bounded; an answer that goes past one is an error that says which.

mod dial;
mod error;
mod fetch;
mod request;
mod tls;
mod unpack;

pub use dial::{Dial, DialError, Dialing, Direct};
pub use error::FetchError;
pub use fetch::{Fetched, Fetcher};
pub use request::{Redirects, Request};
