//! A declaration made into a command: its fields are flags, its documentation is the help.

mod command;
mod input;
mod schema;

pub(crate) use command::{FILE, FOLLOW, command};
pub(crate) use input::input;
