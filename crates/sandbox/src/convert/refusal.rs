//! Why there is no Markdown, for whoever asked.

use atoll_api::system::Limits;
use atoll_convert::ConvertError;
use atoll_convert::worker::{Failure, Job};
use atoll_operation::{Error, Kind};
use atoll_process::{Exit, size};
use rustix::io::Errno;

use super::converter::{Content, Document};

/// How documents that are too large can be read all the same.
const SMALLER: &str = "Take it apart with a program in the shell, and convert the parts.";

pub(super) fn busy(limits: &Limits) -> Error {
    let (count, seconds) = (limits.convert_workers, limits.convert_timeout_seconds);
    let message = format!(
        "{count} documents are being converted, and none was done within {seconds} s; try again later"
    );
    Error::new(Kind::ResourceExhausted, "convert.busy", message)
}

pub(super) fn timeout(limits: &Limits) -> Error {
    let seconds = limits.convert_timeout_seconds;
    let message = format!("the document was not converted within {seconds} s");
    Error::new(Kind::DeadlineExceeded, "convert.timeout", message).with_hint(SMALLER)
}

pub(super) fn unavailable(reason: String) -> Error {
    Error::new(Kind::Unavailable, "convert.unavailable", reason)
}

pub(super) fn died(exit: Exit, job: &Job) -> Error {
    match exit {
        Exit::OutOfMemory { limit } => {
            let most = size(limit);
            let message = format!("converting the document takes more memory than {most}");
            Error::new(Kind::TooLarge, "convert.too_large", message).with_hint(SMALLER)
        }
        exit => {
            let name = job.source.name.as_deref().unwrap_or("the document");
            let message = format!(
                "{name} cannot be converted: its converter {exit}, so the document is damaged or hostile"
            );
            Error::new(Kind::InvalidArgument, "convert.failed", message)
        }
    }
}

/// A worker's refusal.
pub(super) fn of(failure: &Failure, document: &Document) -> Error {
    match failure {
        Failure::File { errno, message } => file(*errno, message, document),
        Failure::Document(error) => of_document(error),
    }
}

pub(super) fn of_document(error: &ConvertError) -> Error {
    let message = error.to_string();
    let (kind, code) = match error {
        ConvertError::Unsupported { .. } => (Kind::InvalidArgument, "convert.unsupported"),
        ConvertError::Broken { .. } => (Kind::InvalidArgument, "convert.failed"),
        ConvertError::Protected { .. } => (Kind::InvalidArgument, "convert.protected"),
        ConvertError::NoText { .. } => (Kind::InvalidArgument, "convert.no_text"),
        ConvertError::TooLarge { .. } => (Kind::TooLarge, "convert.too_large"),
        ConvertError::NoSuchPart(_) => (Kind::InvalidArgument, "convert.no_such_part"),
    };
    let error = Error::new(kind, code, message);
    if kind == Kind::TooLarge { error.with_hint(SMALLER) } else { error }
}

fn file(errno: Option<i32>, message: &str, document: &Document) -> Error {
    let path = match &document.content {
        Content::File(path) => path.display().to_string(),
        Content::Bytes(_) => String::new(),
    };
    let (kind, code) = match errno.map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR) => (Kind::NotFound, "file.not_found"),
        Some(Errno::ACCESS | Errno::PERM) => (Kind::PermissionDenied, "file.permission_denied"),
        None | Some(Errno::ISDIR) => (Kind::InvalidArgument, "file.invalid_target"),
        Some(Errno::NAMETOOLONG | Errno::INVAL) => (Kind::InvalidArgument, "file.invalid_path"),
        Some(_) => (Kind::Unavailable, "file.io_error"),
    };
    Error::new(kind, code, format!("Failed to read {path}: {message}"))
}
