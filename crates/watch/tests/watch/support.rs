//! A reader that follows a watcher, and short names for what the tests do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atoll_watch::{Change, Event, Settings, Unfinished, Watcher};
use tempfile::TempDir;

/// Long enough for any machine.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// A directory, a watcher on it, and everything read so far.
pub(crate) struct Scene {
    pub(crate) home: TempDir,
    pub(crate) watcher: Watcher,
    pub(crate) events: Vec<Event>,
    pub(crate) losses: usize,
    cursor: u64,
    fences: usize,
}

/// Windows are long, so that a test that gets no processor for a while still finds together what belongs together.
pub(crate) fn settings(path: &Path) -> Settings {
    Settings {
        path: path.to_owned(),
        recursive: true,
        exclude: Vec::new(),
        include: Vec::new(),
        unfinished: Unfinished { any: ".part-", replacing: ".part-over-" },
        debounce: Duration::from_millis(300),
        kept: 100_000,
    }
}

impl Scene {
    /// Watches an empty directory.
    pub(crate) fn new() -> Self {
        Self::with(|_, _| {})
    }

    /// Watches `home/root` after `prepare` has filled it and changed the settings.
    pub(crate) fn with(prepare: impl FnOnce(&Path, &mut Settings)) -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let mut settings = settings(&root);
        prepare(&root, &mut settings);
        let watcher = Watcher::start(&settings).unwrap();
        Self { home, watcher, events: Vec::new(), losses: 0, cursor: 0, fences: 0 }
    }

    /// A path in the watched directory.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.home.path().join("root").join(relative)
    }

    /// A path beside it.
    pub(crate) fn beside(&self, relative: &str) -> PathBuf {
        self.home.path().join(relative)
    }

    pub(crate) fn make(&self, relative: &str) {
        std::fs::create_dir_all(self.path(relative)).unwrap();
    }

    pub(crate) fn write(&self, relative: &str, text: &str) {
        std::fs::write(self.path(relative), text).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        std::fs::rename(self.path(from), self.path(to)).unwrap();
    }

    /// Reads until the condition holds.
    pub(crate) async fn until(&mut self, what: &str, holds: impl Fn(&[Event]) -> bool) {
        let reading = async {
            while !holds(&self.events) {
                self.watcher.past(self.cursor).await;
                self.read();
            }
        };
        let happened = tokio::time::timeout(LONG, reading).await.is_ok();
        assert!(happened, "{what} never happened; told was {:#?}", self.told());
    }

    /// Reads what there is.
    pub(crate) fn read(&mut self) {
        loop {
            let batch = self.watcher.read(self.cursor, 1000);
            let mut expected = if batch.lost { None } else { Some(self.cursor + 1) };
            for event in &batch.events {
                assert!(expected.is_none_or(|seq| event.seq == seq), "a gap in the numbers");
                expected = Some(event.seq + 1);
            }
            self.cursor = batch.cursor;
            self.losses += usize::from(batch.lost);
            self.events.extend(batch.events);
            if !batch.more {
                return;
            }
        }
    }

    /// Reads until everything that happened before has been told: events come in order.
    pub(crate) async fn fence(&mut self) {
        let name = format!("fence-{}", self.fences);
        self.fences += 1;
        std::fs::write(self.path(&name), "").unwrap();
        self.until("the fence", |events| count(events, Change::Create, &name) == 1).await;
    }

    /// Everything told but fences and writes: kind, path, where it came from. A new file counts once with its content
    /// unless whoever writes it takes long.
    pub(crate) fn told(&self) -> Vec<String> {
        let told = |event: &&Event| !is_fence(event) && event.change != Change::Write;
        let shown = self.events.iter().filter(told);
        shown.map(describe).collect()
    }

    /// How often each file was told of as created.
    pub(crate) fn creations(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for event in &self.events {
            if event.change == Change::Create && !is_fence(event) {
                *counts.entry(event.relative.display().to_string()).or_default() += 1;
            }
        }
        counts
    }
}

pub(crate) fn is_fence(event: &Event) -> bool {
    event.relative.to_string_lossy().starts_with("fence-")
}

pub(crate) fn describe(event: &Event) -> String {
    let from = event.old_path.as_ref().and_then(|old| old.file_name());
    let from = from.map(|old| format!(" from {}", old.display())).unwrap_or_default();
    let slash = if event.is_dir { "/" } else { "" };
    format!("{:?} {}{slash}{from}", event.change, event.relative.display())
}

pub(crate) fn count(events: &[Event], change: Change, relative: &str) -> usize {
    let same = |event: &&Event| event.change == change && event.relative == Path::new(relative);
    events.iter().filter(same).count()
}

pub(crate) fn has(events: &[Event], change: Change, relative: &str) -> bool {
    count(events, change, relative) > 0
}
