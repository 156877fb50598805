//! Skills: directories whose `SKILL.md` teaches a model something. They are registered by path or from an archive, found
//! below a directory that is watched, and what they need is installed.
//!
//! [`Skills`] knows them by name. Files belong to whoever made them: what was unpacked here is listed beside it
//! ([`manifest`]), and nothing else is ever removed.

mod discover;
mod error;
mod front_matter;
mod install;
mod manage;
mod manifest;
mod register;
mod service;
#[cfg(test)]
mod tests;
mod unpack;
mod watch;

pub use service::{SkillSettings, Skills};
