//! A watcher: a thread that takes what the kernel tells, and a log anyone may read.
//!
//! Each watcher has an inotify instance and a thread of its own. A tree that takes long to look through, or one where so
//! much happens that the kernel drops notices, then harms no other watcher, and closing the instance frees everything.

use std::io;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::engine::{Engine, Shared, Wake};
use crate::error::Error;
use crate::event::Event;
use crate::filter::Filter;
use crate::kernel::Inotify;
use crate::log::Log;
use crate::place::Place;
use crate::stop::{StopOnDrop, StopSignal};

/// Bytes taken from the kernel in one go: one to two thousand notices.
const BUFFER: usize = 64 << 10;

/// What to watch, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// A directory or a file, as an absolute path. It must exist; a symbolic link is followed.
    pub path: PathBuf,
    /// Whether everything below a directory is watched.
    pub recursive: bool,
    /// Names and globs to leave out.
    pub exclude: Vec<String>,
    /// Names and globs to restrict to; everything when empty.
    pub include: Vec<String>,
    /// Files that are not finished yet, by how their names begin: they are not told of until they have their place.
    pub unfinished: Unfinished,
    /// Time within which writes of one file count once. Events come that much later.
    pub debounce: Duration,
    /// Events kept for reading.
    pub kept: usize,
}

/// How the names of files begin that are made beside where they belong, to be renamed when they are complete.
#[derive(Debug, Clone, Copy)]
pub struct Unfinished {
    /// All of them.
    pub any: &'static str,
    /// Those that take the place of another file, whose arrival is a write and not a new file.
    pub replacing: &'static str,
}

/// Events read.
#[derive(Debug)]
pub struct Batch {
    /// In order.
    pub events: Vec<Event>,
    /// Where to go on reading.
    pub cursor: u64,
    /// Whether events before these were lost.
    pub lost: bool,
    /// Whether more are waiting.
    pub more: bool,
}

/// How far a watcher has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Number of the latest event; 0 before the first.
    pub latest: u64,
    /// Events kept.
    pub kept: usize,
    /// Directories watched.
    pub directories: u64,
}

/// Something that is watched. Dropping it ends the watching and frees everything.
#[derive(Debug)]
pub struct Watcher {
    shared: Arc<Shared>,
    stop: StopOnDrop,
    /// Its sender is gone when the thread is.
    running: watch::Receiver<()>,
}

impl Watcher {
    /// Begins to watch: what happens after this returns is told. Walks through the directories, so keep it off threads
    /// that must not wait.
    pub fn start(settings: &Settings) -> Result<Self, Error> {
        let place = Place::find(&settings.path)?;
        let Settings { exclude, include, unfinished, .. } = settings;
        let mut filter = Filter::new(place.shown_directory(), exclude, include, *unfinished)?;
        if place.file().is_some() {
            // Whoever names a file wants to hear of it.
            filter = Filter::new(place.shown_directory(), &[], &[], *unfinished)?;
        }
        // First, since for want of descriptors the kernel refuses an instance with the same word as for want of those.
        let (stop, signal) = StopOnDrop::new()?;
        let kernel = Inotify::new()?;
        let log = Log::new(settings.kept);
        let shared = Arc::new(Shared { log, place, directories: AtomicU64::new(0) });
        let engine = Engine::start(
            Arc::clone(&shared),
            kernel,
            filter,
            settings.recursive,
            settings.debounce,
        )?;
        let (ended, running) = watch::channel(());
        thread::Builder::new()
            .name("atoll-watch".to_owned())
            .spawn(move || {
                run(engine, &signal);
                drop((signal, ended));
            })
            .map_err(Error::Resources)?;
        Ok(Self { shared, stop, running })
    }

    /// Reads up to `limit` events after the cursor, which is the number of the last event seen.
    pub fn read(&self, cursor: u64, limit: usize) -> Batch {
        let reading = self.shared.log.read(cursor, limit);
        let place = &self.shared.place;
        let events = reading.records.into_iter().map(|(seq, record)| Event {
            seq,
            change: record.change,
            path: place.shown(&record.relative),
            relative: place.relative(&record.relative),
            old_path: record.old.map(|old| place.shown(&old)),
            is_dir: record.is_dir,
            timestamp: record.seen,
            look: record.look,
        });
        Batch {
            events: events.collect(),
            cursor: reading.cursor,
            lost: reading.lost,
            more: reading.more,
        }
    }

    /// Waits until there is something to read after the cursor.
    pub async fn past(&self, cursor: u64) {
        self.shared.log.past(cursor).await;
    }

    /// Ends the watching, and returns when everything is freed. What was told can still be read.
    pub async fn stop(&self) {
        self.stop.stop();
        let mut running = self.running.clone();
        while running.changed().await.is_ok() {}
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        let (latest, kept) = self.shared.log.progress();
        let directories = self.shared.directories.load(Ordering::Relaxed);
        Progress { latest, kept, directories }
    }
}

fn run(mut engine: Engine, signal: &StopSignal) {
    let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
    loop {
        let until = match engine.wake() {
            Wake::Now => Some(Instant::now()),
            Wake::At(due) => Some(due),
            Wake::WhenNoticed => None,
        };
        let turn = match signal.wait(engine.kernel(), until) {
            Ok(true) => return,
            Ok(false) => engine.turn(&mut buffer).map_err(io::Error::from),
            Err(error) => Err(error),
        };
        if let Err(error) = turn {
            tracing::error!(%error, "a watcher ends: the kernel tells nothing more");
            engine.give_up();
            return;
        }
    }
}
