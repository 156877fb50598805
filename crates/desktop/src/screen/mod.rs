//! Looking at the screen: pictures of it, where the pointer is, how large it is.

mod capture;
mod encode;
mod mode;

pub(crate) use capture::Eyes;
pub use encode::{Format, Picture};
pub use mode::MODES;
