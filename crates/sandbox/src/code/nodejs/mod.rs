//! Node.js: sessions that keep their state and programs that run once.
//!
//! Every piece of code runs in a task of its own that outlives its caller just long enough to stop it: who leaves has
//! their code interrupted, and the next one in a session waits until that is done.

mod error;
mod execute;
mod follow;
mod info;
mod manage;
mod outputs;
mod run;
mod service;
mod session;

pub(crate) use outputs::{execution, output};
pub(crate) use run::Request;
pub use service::Nodes;
