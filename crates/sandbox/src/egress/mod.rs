//! The way out: which proxy programs use, what is answered elsewhere, what may be reached.
//!
//! [`Proxies`] answers everything. What a proxy does is the business of `atoll-egress`; here inputs become calls, and
//! what went wrong becomes an answer that says what to do.

mod command;
mod error;
mod lists;
mod look;
mod mappings;
mod policy;
mod service;
mod upstream;

pub use atoll_egress::{Mapping, Policy, Rule, Setup, Upstream};
pub use service::{EgressSettings, Proxies};
