//! The editor agents know: look at a file, change it a little, look again, undo.
//!
//! What an agent asks for and cannot have (no such text, several of them, a line past the end) is an error that changes
//! nothing and says what to do, with the phrases agents and their frameworks look for. What the file system refuses
//! is a fault like any other. Line endings and a missing last line break stay as they are.

mod change;
mod command;
mod document;
mod edit;
mod history;
mod snippet;
mod tolerant;
mod view;

pub(super) use history::History;

#[cfg(test)]
mod tests;
