//! What lies where, and moving it about.
//!
//! Nothing here follows a symbolic link out of what it was told to list, copy, move or delete, and what is made of
//! several steps appears in one: trees are built under another name beside their place and renamed into it.

mod copier;
mod copy;
mod delete;
mod guard;
mod known;
mod list;
mod look;
mod make;
mod names;
mod relocate;
mod remove;
mod rename;
mod walk;

pub(super) use walk::{Found, Walk};

#[cfg(test)]
mod tests;
