//! A watcher in the table: what it was asked for, and who reads from it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atoll_api::file::{CreateWatch, FileEvent, FileEventKind, WatchEvents, Watcher};
use atoll_watch::{Batch, Change, Event};
use jiff::Timestamp;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::file::paths::show;

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) watcher: atoll_watch::Watcher,
    pub(super) created: Timestamp,
    /// Cancelled when the watcher is stopped: whoever waits for it leaves.
    pub(super) ended: CancellationToken,
    /// What was asked for, with the path that was meant.
    request: CreateWatch,
    readers: Mutex<Readers>,
    _place: OwnedSemaphorePermit,
}

#[derive(Debug)]
struct Readers {
    now: usize,
    /// When the last one left.
    left: Instant,
}

/// Someone who reads from a watcher, as long as it lives.
#[derive(Debug)]
pub(super) struct Reader(Arc<Entry>);

impl Entry {
    pub(super) fn new(
        id: String,
        request: CreateWatch,
        watcher: atoll_watch::Watcher,
        place: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            id,
            watcher,
            created: Timestamp::now(),
            ended: CancellationToken::new(),
            request,
            readers: Mutex::new(Readers { now: 0, left: Instant::now() }),
            _place: place,
        }
    }

    /// Counts someone as a reader until the returned value is dropped.
    pub(super) fn reader(self: &Arc<Self>) -> Reader {
        self.readers().now += 1;
        Reader(Arc::clone(self))
    }

    /// Time since someone read from it.
    pub(super) fn unread(&self) -> Duration {
        let readers = self.readers();
        if readers.now > 0 { Duration::ZERO } else { readers.left.elapsed() }
    }

    pub(super) fn describe(&self) -> Watcher {
        let progress = self.watcher.progress();
        Watcher {
            watcher_id: self.id.clone(),
            path: self.request.path.clone(),
            recursive: self.request.recursive,
            exclude: self.request.exclude.clone(),
            debounce: self.request.debounce,
            include_patterns: self.request.include_patterns.clone(),
            created_at: self.created.to_string(),
            cursor: progress.latest,
            buffered: progress.kept as u64,
            directories: progress.directories,
        }
    }

    /// Events as they are answered.
    pub(super) fn events(&self, batch: Batch) -> WatchEvents {
        WatchEvents {
            watcher_id: self.id.clone(),
            events: batch.events.into_iter().map(file_event).collect(),
            cursor: batch.cursor,
            overflow: batch.lost,
            has_more: batch.more,
        }
    }

    fn readers(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    pub(super) fn entry(&self) -> &Arc<Entry> {
        &self.0
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut readers = self.0.readers();
        readers.now -= 1;
        readers.left = Instant::now();
    }
}

/// A change as it is answered.
pub(super) fn file_event(event: Event) -> FileEvent {
    FileEvent {
        seq: event.seq,
        kind: match event.change {
            Change::Create => FileEventKind::Create,
            Change::Write => FileEventKind::Write,
            Change::Remove => FileEventKind::Remove,
            Change::Rename => FileEventKind::Rename,
            Change::Chmod => FileEventKind::Chmod,
        },
        path: show(&event.path),
        relative_path: show(&event.relative),
        old_path: event.old_path.map(|path| show(&path)),
        is_dir: event.is_dir,
        timestamp: event.timestamp,
        mtime: event.look.mtime,
        size: event.look.size,
        inode: event.look.inode,
    }
}
