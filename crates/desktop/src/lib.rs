//! A desktop that a program can drive by pixels and a person can watch and take over.
//!
//! [`Desktop`] starts an X server (`Xvnc`) with a window manager on first need, on a display number nobody else has, and
//! starts it again when it died. [`Session`] is one run of it: pictures of the screen, mouse and keyboard, clipboard,
//! windows, size. The server also speaks RFB on a private unix socket, for viewers. [`Recorder`] makes films of it.
//! X11 is spoken here and nowhere else; this crate knows nothing of the API.

mod clipboard;
mod desktop;
mod error;
mod input;
mod link;
mod manager;
mod options;
mod record;
mod screen;
mod server;
mod session;
mod windows;

pub use desktop::Desktop;
pub use error::Error;
pub use input::{Action, Button, Performed, key_names};
pub use options::{Options, Point, Size};
pub use record::{Recorder, Recording, RecordingSettings};
pub use screen::{Format, MODES, Picture};
pub use session::Session;
pub use windows::WindowInfo;

/// What an operation on the desktop comes to.
pub type Result<T> = std::result::Result<T, Error>;
