//! Files: their content, the tree they lie in, searching, editing, watching, and moving them in and out.
//!
//! [`Files`] answers everything but watching, which keeps state of its own in [`Watches`]. Every path goes through
//! [`paths`], every refusal of the file system through [`fault`].

mod archives;
mod content;
mod desk;
mod editor;
mod fault;
#[cfg(test)]
mod fixture;
mod inflow;
mod paths;
mod search;
mod service;
mod store;
mod sudo;
mod transfer;
mod tree;
mod watch;

pub use service::Files;
pub use sudo::as_root_main;
pub use watch::Watches;
