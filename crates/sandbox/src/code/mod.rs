//! Code: what runs it, language by language.

pub mod jupyter;
pub mod nodejs;
pub mod unified;
