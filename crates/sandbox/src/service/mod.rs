//! Services: programs of users that run for as long as the sandbox does, and the sandbox's own parts beside them.
//!
//! Users set theirs up in files: supervisord's `*.conf`, or our own `services.toml`. Each is watched over by a task of
//! its own that starts it again by its rules; a mistake in a file costs that service only. Parts are looked at and
//! switched through [`Part`].

mod builtin;
mod control;
mod definition;
mod expand;
mod ini;
mod launch;
mod list;
mod load;
mod logs;
mod output;
mod part;
mod ports;
mod services;
mod supervisor_conf;
mod table;
mod toml_file;
mod unit;
mod words;

pub use part::{Page, Part, PartState};
pub use services::{ServiceSettings, Services};

pub(crate) use builtin::parts;
