//! Jupyter kernels: found, started, asked, interrupted, replaced and ended without anything left behind.
//!
//! [`Catalogue`] knows which kernels there are. A [`Host`] starts them over Unix sockets in a private directory and may
//! keep one ready. A [`Session`] is what callers keep: code run in it one after another shares state, and it outlives
//! its kernel. This crate knows nothing of the API, and nobody else knows of ZeroMQ.

mod catalogue;
mod collect;
mod content;
mod epitaph;
mod execution;
mod host;
mod kernel;
mod launch;
mod message;
mod output;
mod place;
mod progress;
mod python;
mod queue;
mod router;
mod session;
mod spec;
mod zmtp;

pub use catalogue::{Catalogue, PYTHON, kernel_for_python_version};
pub use execution::{Execution, Finished, Status};
pub use host::{Host, HostSettings};
pub use launch::StartError;
pub use output::{Event, Output, OutputLimits, Rich};
pub use session::{ExecuteError, Hold, Loss, Note, Request, Session};
pub use spec::KernelSpec;
