//! Why something cannot be watched, for the caller.

use atoll_operation::{Error, Kind};
use atoll_watch::{Error as WatchError, PatternList};

pub(super) fn refused(error: WatchError) -> Error {
    let message = error.to_string();
    match error {
        WatchError::Missing { .. } => Error::new(Kind::NotFound, "watch.path", message),
        WatchError::Denied { .. } => Error::new(Kind::PermissionDenied, "watch.path", message),
        WatchError::Path { .. } => Error::new(Kind::InvalidArgument, "watch.path", message),
        WatchError::Pattern { list, .. } => {
            let field = match list {
                PatternList::Exclude => "exclude",
                PatternList::Include => "include_patterns",
            };
            Error::field(field, "glob", message)
        }
        WatchError::Directories { .. } | WatchError::Instances { .. } => {
            Error::new(Kind::ResourceExhausted, "watch.kernel_limit", message)
        }
        WatchError::Resources(_) => {
            Error::new(Kind::ResourceExhausted, "watch.kernel_limit", message).with_source(error)
        }
        WatchError::System { .. } => {
            Error::new(Kind::Unavailable, "watch.path", message).with_source(error)
        }
    }
}

pub(super) fn exhausted(limit: u64) -> Error {
    Error::new(
        Kind::ResourceExhausted,
        "watch.watchers_exhausted",
        format!(
            "all {limit} watchers are in use; stop one with DELETE /v1/file/watch/{{watcher_id}}, or raise the number \
             with AIO_FILE_WATCH_MAX_WATCHERS"
        ),
    )
}

pub(super) fn unknown(id: &str) -> Error {
    Error::new(
        Kind::NotFound,
        "watch.not_found",
        format!(
            "Watcher {id} not found; watchers end when they are stopped, when nobody has read from them for long, and \
             with the server"
        ),
    )
}
