//! What a file system refuses, said the way agents know it: the system's error number and name, the exception Python
//! would raise, and a word to decide on.

use std::io;
use std::path::Path;

use atoll_api::file::FileOperationError;
use atoll_operation::{Error, Kind};
use rustix::io::Errno;
use serde_json::json;

use super::paths::show;

/// Something attempted with a path, which may fail.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt<'a> {
    operation: &'static str,
    path: &'a Path,
}

/// A kind of fault: the word, what it is to a caller, and its stable code.
#[derive(Debug, Clone, Copy)]
struct Fault {
    error_type: &'static str,
    kind: Kind,
    code: &'static str,
}

const fn fault(error_type: &'static str, kind: Kind, code: &'static str) -> Fault {
    Fault { error_type, kind, code }
}

const NOT_FOUND: Fault = fault("not_found", Kind::NotFound, "file.not_found");
const DENIED: Fault = fault("permission_denied", Kind::PermissionDenied, "file.permission_denied");
const INVALID_TARGET: Fault = fault("invalid_target", Kind::InvalidArgument, "file.invalid_target");
const EXISTS: Fault = fault("already_exists", Kind::Conflict, "file.already_exists");
const INVALID_PATH: Fault = fault("invalid_path", Kind::InvalidArgument, "file.invalid_path");
const READ_ONLY: Fault =
    fault("read_only_filesystem", Kind::FailedPrecondition, "file.read_only_filesystem");
const NO_SPACE: Fault = fault("no_space_left", Kind::ResourceExhausted, "file.no_space_left");
const DECODE: Fault = fault("decode_error", Kind::InvalidArgument, "file.decode_error");
const TOO_LARGE: Fault = fault("too_large", Kind::TooLarge, "file.too_large");
const IO: Fault = fault("io_error", Kind::Unavailable, "file.io_error");

impl<'a> Attempt<'a> {
    /// `operation` is a short verb: `read`, `write`, `list`, …
    pub(super) fn new(operation: &'static str, path: &'a Path) -> Self {
        Self { operation, path }
    }

    /// The system said no.
    pub(super) fn failed(self, error: &io::Error) -> Error {
        self.explain(error, "")
    }

    fn explain(self, error: &io::Error, meaning: &str) -> Error {
        let Some(number) = number_of(error) else {
            let fault = match error.kind() {
                io::ErrorKind::InvalidInput => INVALID_PATH,
                _ => IO,
            };
            return self.report(fault, &format!("{error}{meaning}"), None, "OSError");
        };
        let errno = Errno::from_raw_os_error(number);
        let (fault, exception) = classify(errno);
        let text = io::Error::from_raw_os_error(number).to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        let reason = format!("[Errno {number}] {text}: '{}'{meaning}", show(self.path));
        self.report(fault, &reason, Some(errno), exception)
    }

    /// The system said no, and this is what it means here.
    pub(super) fn failed_with(self, error: &io::Error, meaning: &str) -> Error {
        self.explain(error, &format!(". {meaning}"))
    }

    /// The path itself cannot be meant.
    pub(super) fn invalid_path(self, reason: &str) -> Error {
        self.report(INVALID_PATH, reason, None, "ValueError")
    }

    /// What is there is not what is wanted: a directory, a device, a pipe.
    pub(super) fn invalid_target(self, reason: &str) -> Error {
        self.report(INVALID_TARGET, reason, None, "OSError")
    }

    /// The right to it cannot be had.
    pub(super) fn denied(self, reason: &str) -> Error {
        self.report(DENIED, reason, None, "PermissionError")
    }

    /// What is there must not be replaced.
    pub(super) fn already_exists(self) -> Error {
        self.failed(&Errno::EXIST.into())
    }

    /// It is no text in the encoding wanted.
    pub(super) fn undecodable(self, reason: &str) -> Error {
        self.report(DECODE, reason, None, "UnicodeDecodeError")
    }

    /// It is over a limit.
    pub(super) fn too_large(self, reason: &str) -> Error {
        self.report(TOO_LARGE, reason, None, "OverflowError")
    }

    fn report(
        self,
        fault: Fault,
        reason: &str,
        errno: Option<Errno>,
        exception: &'static str,
    ) -> Error {
        let message = format!("Failed to {}: {reason}", phrase(self.operation));
        let details = FileOperationError {
            path: show(self.path),
            operation: self.operation.to_owned(),
            message: message.clone(),
            error_type: fault.error_type.to_owned(),
            retryable: errno.is_some_and(is_retryable),
            errno: errno.map(Errno::raw_os_error),
            errno_name: errno.and_then(name).map(str::to_owned),
            exception_type: Some(exception.to_owned()),
        };
        Error::new(fault.kind, fault.code, message).with_details(json!(details))
    }
}

/// The system's number for a failure. Libraries that wrap it in words of their own keep at least its kind.
fn number_of(error: &io::Error) -> Option<i32> {
    let errno = match error.kind() {
        io::ErrorKind::NotFound => Errno::NOENT,
        io::ErrorKind::PermissionDenied => Errno::ACCESS,
        io::ErrorKind::AlreadyExists => Errno::EXIST,
        io::ErrorKind::IsADirectory => Errno::ISDIR,
        io::ErrorKind::NotADirectory => Errno::NOTDIR,
        io::ErrorKind::DirectoryNotEmpty => Errno::NOTEMPTY,
        io::ErrorKind::InvalidFilename => Errno::NAMETOOLONG,
        io::ErrorKind::ReadOnlyFilesystem => Errno::ROFS,
        io::ErrorKind::StorageFull => Errno::NOSPC,
        io::ErrorKind::QuotaExceeded => Errno::DQUOT,
        io::ErrorKind::FileTooLarge => Errno::FBIG,
        _ => return error.raw_os_error(),
    };
    Some(error.raw_os_error().unwrap_or(errno.raw_os_error()))
}

fn phrase(operation: &str) -> String {
    match operation {
        "read" | "write" | "append" | "upload" | "download" => format!("{operation} file"),
        "replace" | "search" => format!("{operation} in file"),
        "find" | "grep" | "glob" => format!("{operation} files"),
        "list" | "move" | "copy" | "delete" | "stat" | "resolve" => format!("{operation} path"),
        "mkdir" => "make directory".to_owned(),
        "exists" => "look for path".to_owned(),
        "create_temp" => "create temporary file".to_owned(),
        "str_replace_editor" => "use the editor".to_owned(),
        other => other.replace('_', " "),
    }
}

fn classify(errno: Errno) -> (Fault, &'static str) {
    match errno {
        Errno::NOENT => (NOT_FOUND, "FileNotFoundError"),
        Errno::ACCESS | Errno::PERM => (DENIED, "PermissionError"),
        Errno::ISDIR => (INVALID_TARGET, "IsADirectoryError"),
        Errno::NOTDIR => (INVALID_TARGET, "NotADirectoryError"),
        Errno::NOTEMPTY | Errno::NXIO | Errno::XDEV => (INVALID_TARGET, "OSError"),
        Errno::EXIST => (EXISTS, "FileExistsError"),
        Errno::INVAL | Errno::NAMETOOLONG | Errno::LOOP => (INVALID_PATH, "OSError"),
        Errno::ROFS => (READ_ONLY, "OSError"),
        Errno::NOSPC | Errno::DQUOT => (NO_SPACE, "OSError"),
        Errno::FBIG => (TOO_LARGE, "OSError"),
        _ => (IO, "OSError"),
    }
}

fn is_retryable(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::AGAIN | Errno::BUSY | Errno::INTR | Errno::MFILE | Errno::NFILE | Errno::TXTBSY
    )
}

fn name(errno: Errno) -> Option<&'static str> {
    Some(match errno {
        Errno::PERM => "EPERM",
        Errno::NOENT => "ENOENT",
        Errno::INTR => "EINTR",
        Errno::IO => "EIO",
        Errno::NXIO => "ENXIO",
        Errno::BADF => "EBADF",
        Errno::AGAIN => "EAGAIN",
        Errno::NOMEM => "ENOMEM",
        Errno::ACCESS => "EACCES",
        Errno::BUSY => "EBUSY",
        Errno::EXIST => "EEXIST",
        Errno::XDEV => "EXDEV",
        Errno::NODEV => "ENODEV",
        Errno::NOTDIR => "ENOTDIR",
        Errno::ISDIR => "EISDIR",
        Errno::INVAL => "EINVAL",
        Errno::NFILE => "ENFILE",
        Errno::MFILE => "EMFILE",
        Errno::TXTBSY => "ETXTBSY",
        Errno::FBIG => "EFBIG",
        Errno::NOSPC => "ENOSPC",
        Errno::ROFS => "EROFS",
        Errno::MLINK => "EMLINK",
        Errno::NAMETOOLONG => "ENAMETOOLONG",
        Errno::NOTEMPTY => "ENOTEMPTY",
        Errno::LOOP => "ELOOP",
        Errno::STALE => "ESTALE",
        Errno::DQUOT => "EDQUOT",
        Errno::OPNOTSUPP => "EOPNOTSUPP",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_told_as_python_tells_it() {
        let error = std::fs::read("/nowhere/at/all").unwrap_err();
        let error = Attempt::new("read", Path::new("/nowhere/at/all")).failed(&error);
        assert_eq!(
            error.message(),
            "Failed to read file: [Errno 2] No such file or directory: '/nowhere/at/all'"
        );
        assert_eq!((error.kind(), error.code()), (Kind::NotFound, "file.not_found"));
        let details: FileOperationError =
            serde_json::from_value(error.details().unwrap().clone()).unwrap();
        assert_eq!(details.error_type, "not_found");
        assert_eq!(details.errno, Some(2));
        assert_eq!(details.errno_name.as_deref(), Some("ENOENT"));
        assert_eq!(details.exception_type.as_deref(), Some("FileNotFoundError"));
        assert_eq!(details.message, error.message());
    }

    #[test]
    fn a_number_wrapped_in_a_librarys_words_is_found() {
        let missing = Path::new("/nowhere/at/all");
        let wrapped = tempfile::NamedTempFile::new_in(missing).unwrap_err();
        assert_eq!(wrapped.raw_os_error(), None);
        assert_eq!(Attempt::new("write", missing).failed(&wrapped).code(), "file.not_found");
    }
}
