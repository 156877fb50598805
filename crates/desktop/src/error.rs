//! Why something could not be done.

use std::io;
use std::path::PathBuf;

use atoll_process::SpawnError;
use thiserror::Error;
use x11rb::errors::{ConnectError, ConnectionError, ReplyError, ReplyOrIdError};

use crate::options::Size;

/// Why something could not be done.
#[derive(Debug, Error)]
pub enum Error {
    /// A program the desktop needs is not there.
    #[error("{program} is not installed")]
    NotInstalled {
        /// The program.
        program: &'static str,
    },
    /// A program could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// A program was started, but never came up.
    #[error("{program} did not come up: {reason}")]
    NotReady {
        /// The program.
        program: &'static str,
        /// What happened.
        reason: String,
    },
    /// A file of the desktop's own could not be written.
    #[error("{path} cannot be written: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The desktop ended meanwhile. The next operation starts it again.
    #[error("the desktop ended: {reason}; the next operation starts it again")]
    Gone {
        /// Why.
        reason: String,
    },
    /// The X server did not answer in time.
    #[error(
        "the X server did not answer within {seconds} seconds and was ended; the next operation starts it again"
    )]
    Timeout {
        /// How long it was waited for.
        seconds: u64,
    },
    /// The X server refused a request.
    #[error("the X server refused: {reason}")]
    Refused {
        /// What it said.
        reason: String,
    },
    /// A place outside the screen.
    #[error("({x}, {y}) is not on the screen, which is {size} pixels large, counted from (0, 0)")]
    OffScreen {
        /// From the left.
        x: f64,
        /// From the top.
        y: f64,
        /// The screen.
        size: Size,
    },
    /// No key has this name.
    #[error(
        "no key is called {name:?}; use a character, a name such as enter, esc, ctrl, pageup or f5, or an X keysym such as Return"
    )]
    UnknownKey {
        /// What was asked for.
        name: String,
    },
    /// The screen cannot have this size.
    #[error("the screen cannot be {asked} pixels large")]
    Mode {
        /// What was asked for.
        asked: Size,
    },
    /// The picture could not be made.
    #[error("the picture could not be made: {reason}")]
    Picture {
        /// Why.
        reason: String,
    },
    /// The text is too long for the clipboard.
    #[error("{bytes} bytes are more than the clipboard takes, which is {limit}")]
    ClipboardSize {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The program that owns the clipboard does not give it out.
    #[error("the program that holds the clipboard did not hand it over: {reason}")]
    Clipboard {
        /// What happened.
        reason: String,
    },
    /// There is no such window.
    #[error("there is no window {id:#x}; list the windows to see which there are")]
    NoSuchWindow {
        /// The window.
        id: u32,
    },
    /// The window manager did not do it.
    #[error("window {id:#x} did not come to the front")]
    NotFocused {
        /// The window.
        id: u32,
    },
    /// A recording is under way.
    #[error("a recording to {path} is under way; stop it first")]
    AlreadyRecording {
        /// Its file.
        path: PathBuf,
    },
    /// No recording is under way.
    #[error("no recording is under way; start one first")]
    NotRecording,
    /// The recording could not be made.
    #[error("the recording failed: {reason}")]
    Recording {
        /// What ffmpeg said.
        reason: String,
    },
}

impl From<ConnectionError> for Error {
    fn from(error: ConnectionError) -> Self {
        Self::Gone { reason: error.to_string() }
    }
}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        Self::Gone { reason: error.to_string() }
    }
}

impl From<ReplyError> for Error {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::ConnectionError(error) => error.into(),
            ReplyError::X11Error(error) => Self::Refused {
                reason: format!("{:?} ({:?})", error.error_kind, error.request_name),
            },
        }
    }
}

impl From<ReplyOrIdError> for Error {
    fn from(error: ReplyOrIdError) -> Self {
        match error {
            ReplyOrIdError::IdsExhausted => Self::Refused { reason: "no more ids".to_owned() },
            ReplyOrIdError::ConnectionError(error) => error.into(),
            ReplyOrIdError::X11Error(error) => ReplyError::X11Error(error).into(),
        }
    }
}
