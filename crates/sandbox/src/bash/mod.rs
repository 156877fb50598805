//! Bash: each command is a process of its own on three pipes; a session is a working directory and the commands run in it.

mod attach;
mod command;
mod control;
mod exec;
mod follow;
mod output;
mod service;
mod session;
mod stream;

pub use service::Bashes;
