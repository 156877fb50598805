//! System: what this sandbox is, what is installed in it, what its limits are.
//!
//! Everything is read from the machine when asked for, nothing at start. What costs a child process or a walk over
//! directories is kept until those directories change, and callers that ask at the same time share one look.

mod cache;
mod error;
mod machine;
mod packages;
pub(crate) mod ports;
mod probe;
mod runtimes;
mod service;
mod text;
mod tools;

pub use service::Systems;
pub(crate) use tools::find as find_program;
