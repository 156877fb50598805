//! Node.js: which ones this machine has, sessions that keep their state, and programs that run once.
//!
//! Both run in processes of their own that die with whatever they started. Code talks to its streams as ever; we talk
//! to our part of the process over pipes of our own, which what the code prints cannot be mistaken for. This crate
//! knows nothing of the API.

mod error;
mod execution;
mod installation;
mod message;
mod node;
mod output;
mod packages;
mod place;
mod record;
mod script;
mod traffic;
mod version;
mod worker;

pub use error::NodeError;
pub use execution::{Finish, Status};
pub use installation::{Installation, Installations, Search};
pub use node::{Node, NodeSettings};
pub use output::{Channel, Output, Outputs};
pub use packages::{Package, PackageRoots, packages_in};
pub use script::{RunningScript, Script, is_confined, write_files};
pub use version::{Version, VersionWish};
pub use worker::{Code, Running, Worker};
