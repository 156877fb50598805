//! The command line of a running sandbox: what people and scripts type to use one.
//!
//! Every declared operation is a verb here without a line written for it: its flags, its help and its shape follow from
//! its declaration (`generate`). What needs more than one call or a terminal is written by hand above that: `exec`,
//! `file cp` and `file edit`, `code run`, `doctor`. Commands are built only for the word that was typed, since a short
//! command must not pay for two hundred others.

mod call;
mod code;
mod connection;
mod doctor;
mod exec;
mod failure;
mod file;
mod generate;
mod globals;
mod guide;
mod logs;
mod mcp;
mod open;
mod output;
mod profile;
mod program;
mod progress;
mod registry;
mod render;
mod stdin;
mod sugar;
mod tree;

pub use program::{Program, knows, run};
