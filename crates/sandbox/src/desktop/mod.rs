//! The desktop: pictures of the screen, mouse and keyboard, clipboard, windows, recordings, viewers.
//!
//! [`Desktops`] answers everything. What a desktop can do is the business of `atoll-desktop`; here inputs become calls and
//! what went wrong becomes an answer that says what to do. The desktop starts on first need, and the browser is
//! brought onto it.

mod act;
mod bring;
mod error;
mod look;
mod record;
mod service;
mod stage;
mod viewer;

pub use service::{DesktopSettings, Desktops};
pub(crate) use stage::DesktopStage;
