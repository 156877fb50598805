//! Code in any language: one pair of operations over the runtimes beside it.
//!
//! Python, and every other language with a kernel, runs in Jupyter; JavaScript and TypeScript in Node.js; what has only
//! an interpreter is given a file. Without a session each call gets what nobody used before and nobody will after: a
//! kernel (the one that stands ready, if one does), or a process.

mod answer;
mod execute;
mod info;
mod interpreter;
mod language;
mod service;

pub use service::Codes;
