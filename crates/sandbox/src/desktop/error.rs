//! What went wrong with the desktop, as callers are told.

use atoll_desktop::Error as Fault;
use atoll_operation::{Error, Kind};

use crate::programs::spawn_failure;

const NOT_INSTALLED: &str = "no desktop is installed in this sandbox; install it with: apt-get install tigervnc-standalone-server openbox fonts-noto-cjk fonts-noto-color-emoji";
const NO_FFMPEG: &str =
    "ffmpeg, which makes the recording, is not installed; install it with: apt-get install ffmpeg";

/// The answer to a failure.
pub(super) fn failure(fault: Fault) -> Error {
    let message = fault.to_string();
    let (kind, code) = match fault {
        Fault::Spawn(error) => return spawn_failure(error, "desktop.start_failed"),
        Fault::NotInstalled { program: "ffmpeg" } => {
            return Error::new(Kind::Unavailable, "desktop.ffmpeg_missing", NO_FFMPEG);
        }
        Fault::NotInstalled { .. } => {
            return Error::new(Kind::Unavailable, "desktop.unavailable", NOT_INSTALLED);
        }
        Fault::NotReady { .. } | Fault::Write { .. } => (Kind::Unavailable, "desktop.start_failed"),
        Fault::Gone { .. } => (Kind::Unavailable, "desktop.gone"),
        Fault::Timeout { .. } => (Kind::DeadlineExceeded, "desktop.timeout"),
        Fault::Refused { .. } => (Kind::FailedPrecondition, "desktop.refused"),
        Fault::OffScreen { .. } => (Kind::InvalidInput, "desktop.off_screen"),
        Fault::UnknownKey { .. } => (Kind::InvalidInput, "desktop.unknown_key"),
        Fault::Mode { .. } => (Kind::InvalidInput, "desktop.unknown_resolution"),
        Fault::Picture { .. } => (Kind::FailedPrecondition, "desktop.picture_failed"),
        Fault::ClipboardSize { .. } => (Kind::TooLarge, "desktop.clipboard_too_large"),
        Fault::Clipboard { .. } => (Kind::FailedPrecondition, "desktop.clipboard_failed"),
        Fault::NoSuchWindow { .. } => (Kind::NotFound, "desktop.window_not_found"),
        Fault::NotFocused { .. } => (Kind::FailedPrecondition, "desktop.window_not_focused"),
        Fault::AlreadyRecording { .. } => (Kind::Conflict, "desktop.recording_state"),
        Fault::NotRecording => (Kind::FailedPrecondition, "desktop.recording_state"),
        Fault::Recording { .. } => (Kind::FailedPrecondition, "desktop.recording_failed"),
    };
    Error::new(kind, code, message)
}
