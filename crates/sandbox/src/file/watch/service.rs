//! The watchers: how they are made, found, listed and stopped.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use atoll_api::file::{CreateWatch, ListWatches, StopWatch, StoppedWatch, Watcher, Watchers};
use atoll_api::system::Limits;
use atoll_operation::{Context, Error, Handle, Kind};
use atoll_watch::{Settings, Unfinished};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::fault::fault;
use super::watcher::{Entry, Reader};
use crate::file::paths::{Places, show};
use crate::file::service::blocking;
use crate::file::store::{REPLACING, UNFINISHED};
use crate::programs::Programs;

/// How often watchers nobody reads from are looked for.
const SWEEP: Duration = Duration::from_secs(15);
/// How long an answer waits for a stopped watcher to be gone; a file system that hangs can hold it up.
const FREED: Duration = Duration::from_secs(5);

/// The watching capability.
#[derive(Debug)]
pub struct Watches {
    pub(super) stop: CancellationToken,
    limits: Arc<Limits>,
    places: Places,
    /// Room for watchers and waits.
    room: Arc<Semaphore>,
    table: Mutex<HashMap<String, Arc<Entry>>>,
}

impl Watches {
    /// Starts without watchers. Needs a tokio runtime.
    pub fn new(programs: &Programs) -> Arc<Self> {
        let foundation = programs.foundation();
        let room = usize::try_from(foundation.limits.file_watchers).unwrap_or(usize::MAX);
        let watches = Arc::new(Self {
            stop: foundation.stop.clone(),
            limits: Arc::clone(&foundation.limits),
            places: Places {
                home: foundation.home.clone(),
                workspace: foundation.workspace.clone(),
            },
            room: Arc::new(Semaphore::new(room.min(Semaphore::MAX_PERMITS))),
            table: Mutex::default(),
        });
        programs.tasks().spawn(sweep(Arc::downgrade(&watches)));
        watches
    }

    /// The absolute path a caller means.
    pub(super) fn path(&self, path: &str) -> Result<PathBuf, Error> {
        if path.contains('\0') {
            return Err(Error::field("path", "characters", "cannot contain a NUL byte"));
        }
        self.places
            .resolve("watch", path)
            .map_err(|error| Error::new(Kind::InvalidArgument, "watch.path", error.message()))
    }

    /// Room for another watcher or wait.
    pub(super) fn take_room(&self) -> Result<OwnedSemaphorePermit, Error> {
        Arc::clone(&self.room).try_acquire_owned().map_err(|_| {
            let most = self.limits.file_watchers;
            Error::new(
                Kind::ResourceExhausted,
                "watch.watchers_exhausted",
                format!(
                    "all {most} watchers are in use, waits for files included; stop one, or raise \
                     AIO_FILE_WATCH_MAX_WATCHERS when starting the server"
                ),
            )
        })
    }

    /// The watcher with this id, which counts as read from as long as the reader lives.
    pub(super) fn reader(&self, id: &str) -> Result<Reader, Error> {
        let entry = self.table().get(id).map(Entry::reader);
        entry.ok_or_else(|| self.not_found(id))
    }

    pub(super) fn not_found(&self, id: &str) -> Error {
        let idle = self.limits.file_watch_idle_seconds;
        Error::new(
            Kind::NotFound,
            "watch.not_found",
            format!(
                "there is no watcher {id}; a watcher ends when it is stopped, when nobody reads from it for {idle} \
                 seconds, and when the server restarts: create another, and look at the files afresh"
            ),
        )
    }

    /// Stops every watcher. Those who wait for them leave.
    pub fn close_all(&self) {
        self.take_out(|_| true);
    }

    /// Takes watchers out of the table. They stop when the last who uses them leaves, which is now.
    fn take_out(&self, which: impl Fn(&Entry) -> bool) -> Vec<Arc<Entry>> {
        let mut table = self.table();
        let out: Vec<_> =
            table.extract_if(|_, entry| which(entry)).map(|(_, entry)| entry).collect();
        for entry in &out {
            entry.ended.cancel();
        }
        out
    }

    fn table(&self) -> MutexGuard<'_, HashMap<String, Arc<Entry>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops watchers nobody reads from, and with the server all of them.
async fn sweep(watches: Weak<Watches>) {
    let Some((stop, idle)) = watches.upgrade().map(|watches| {
        (watches.stop.clone(), Duration::from_secs(watches.limits.file_watch_idle_seconds))
    }) else {
        return;
    };
    let pause = SWEEP.min(idle).max(Duration::from_secs(1));
    loop {
        let stopped = stop.run_until_cancelled(sleep(pause)).await.is_none();
        let Some(watches) = watches.upgrade() else {
            return;
        };
        if stopped {
            watches.close_all();
            return;
        }
        for entry in watches.take_out(|entry| entry.unread() >= idle) {
            tracing::info!(watcher = entry.id, "watcher nobody reads from stopped");
        }
    }
}

impl Handle<CreateWatch> for Watches {
    async fn handle(&self, _cx: &Context, mut input: CreateWatch) -> Result<Watcher, Error> {
        let path = self.path(&input.path)?;
        input.path = show(&path);
        let room = self.take_room()?;
        let settings = Settings {
            path,
            recursive: input.recursive,
            exclude: input.exclude.clone(),
            include: input.include_patterns.clone(),
            unfinished: Unfinished { any: UNFINISHED, replacing: REPLACING },
            debounce: Duration::from_millis(input.debounce),
            kept: usize::try_from(self.limits.file_watch_events).unwrap_or(usize::MAX),
        };
        let entry = blocking(move || {
            let watcher = atoll_watch::Watcher::start(&settings).map_err(fault)?;
            let id = Uuid::new_v4().simple().to_string();
            Ok(Arc::new(Entry::new(id, input, watcher, room)))
        })
        .await?;
        let mut table = self.table();
        if self.stop.is_cancelled() {
            return Err(stopping());
        }
        table.insert(entry.id.clone(), Arc::clone(&entry));
        drop(table);
        Ok(entry.describe())
    }
}

impl Handle<ListWatches> for Watches {
    async fn handle(&self, _cx: &Context, _input: ListWatches) -> Result<Watchers, Error> {
        let mut entries: Vec<_> = self.table().values().cloned().collect();
        entries.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.id.cmp(&b.id)));
        let watchers: Vec<_> = entries.iter().map(|entry| entry.describe()).collect();
        let count = watchers.len() as u64;
        Ok(Watchers { watchers, count })
    }
}

impl Handle<StopWatch> for Watches {
    async fn handle(&self, _cx: &Context, input: StopWatch) -> Result<StoppedWatch, Error> {
        let stopped = self.take_out(|entry| entry.id == input.watcher_id).pop();
        let entry = stopped.ok_or_else(|| self.not_found(&input.watcher_id))?;
        // Whoever makes another watcher next finds the kernel's resources free.
        if timeout(FREED, entry.watcher.stop()).await.is_err() {
            tracing::warn!(watcher = entry.id, "a stopped watcher still waits for a file system");
        }
        Ok(StoppedWatch { watcher_id: input.watcher_id, stopped: true })
    }
}

pub(super) fn stopping() -> Error {
    Error::new(Kind::Cancelled, "cancelled", "the server is stopping")
}
