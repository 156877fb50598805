//! Why something cannot be watched, for the caller.

use atoll_operation::{Error, Kind};
use atoll_watch::{Error as WatchError, PatternList};

pub(super) fn fault(error: WatchError) -> Error {
    let message = error.to_string();
    let (kind, code) = match &error {
        WatchError::Pattern { list, .. } => {
            let field = match list {
                PatternList::Exclude => "exclude",
                PatternList::Include => "include_patterns",
            };
            return Error::field(field, "pattern", message);
        }
        WatchError::Missing { .. } => (Kind::NotFound, "watch.path"),
        WatchError::Denied { .. } => (Kind::PermissionDenied, "watch.path"),
        WatchError::Path { .. } => (Kind::InvalidArgument, "watch.path"),
        WatchError::System { .. } => (Kind::Unavailable, "watch.path"),
        WatchError::Directories { .. }
        | WatchError::Instances { .. }
        | WatchError::Resources(_) => (Kind::ResourceExhausted, "watch.kernel_limit"),
    };
    Error::new(kind, code, message).with_source(error)
}
