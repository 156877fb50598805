//! Real input: what is sent here reaches a page as a person's would, with trusted events.

mod key;
mod keyboard;
mod mouse;
mod names;

pub use key::Key;
pub use mouse::Button;
