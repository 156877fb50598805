//! Events as answers show them.

use atoll_api::file::{FileEvent, FileEventKind};
use atoll_watch::{Change, Event};

use crate::file::paths::show;

pub(super) fn event(event: Event) -> FileEvent {
    FileEvent {
        seq: event.seq,
        kind: kind(event.change),
        path: show(&event.path),
        relative_path: show(&event.relative),
        old_path: event.old_path.as_deref().map(show),
        is_dir: event.is_dir,
        timestamp: event.timestamp,
        mtime: event.look.mtime,
        size: event.look.size,
        inode: event.look.inode,
    }
}

pub(super) fn change(kind: FileEventKind) -> Change {
    match kind {
        FileEventKind::Create => Change::Create,
        FileEventKind::Write => Change::Write,
        FileEventKind::Remove => Change::Remove,
        FileEventKind::Rename => Change::Rename,
        FileEventKind::Chmod => Change::Chmod,
    }
}

fn kind(change: Change) -> FileEventKind {
    match change {
        Change::Create => FileEventKind::Create,
        Change::Write => FileEventKind::Write,
        Change::Remove => FileEventKind::Remove,
        Change::Rename => FileEventKind::Rename,
        Change::Chmod => FileEventKind::Chmod,
    }
}
