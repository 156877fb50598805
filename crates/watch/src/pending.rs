//! Changes on their way to the log.
//!
//! Every change waits for one window, in the order it was seen, so that what belongs together can come together: writes
//! of one file count once, and the two halves of a move become one event. What is told at the end describes the file as
//! it is then. The number of changes that wait is bounded: the oldest are let go before their time.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::event::Change;
use crate::tree::NodeId;

/// When something was seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp {
    pub(crate) now: Instant,
    /// In seconds since 1970.
    pub(crate) seen: f64,
}

/// A change that has waited long enough.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Delivery {
    Event { change: Change, relative: Arc<Path>, old: Option<Arc<Path>>, is_dir: bool, seen: f64 },
    Lost,
}

/// What is about to move.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    pub(crate) is_dir: bool,
    /// Whether it leaves a place that is told of.
    pub(crate) shown: bool,
    /// Whether it is to take another file's place.
    pub(crate) replaces: bool,
}

/// The first half of a move, whose second half has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departure {
    position: u64,
    /// Whether it left a place that is told of.
    pub(crate) shown: bool,
    /// Whether it is to take another file's place.
    pub(crate) replaces: bool,
    /// The directory that moved, when it is watched.
    pub(crate) node: Option<NodeId>,
}

#[derive(Debug)]
pub(crate) struct Pending {
    entries: VecDeque<Entry>,
    /// Position of the first entry; positions are never used twice.
    first: u64,
    /// For each file, what can still take in another change.
    open: HashMap<Arc<Path>, Open>,
    /// First halves of moves, by cookie.
    departures: HashMap<u32, Departure>,
    /// Whether a loss waits to be told. Whoever is told of it looks afresh later than all that is lost meanwhile.
    lost: bool,
    window: Duration,
    capacity: usize,
}

#[derive(Debug)]
struct Entry {
    what: What,
    relative: Arc<Path>,
    old: Option<Arc<Path>>,
    is_dir: bool,
    seen: f64,
    due: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Change(Change),
    /// Moved to where nobody looks, unless the other half comes.
    Departed(u32),
    /// The same of something that is not told of.
    DepartedUnseen(u32),
    Lost,
}

/// Positions of a file's changes since it last came or went.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    create: Option<u64>,
    write: Option<u64>,
    chmod: Option<u64>,
}

impl Pending {
    pub(crate) fn new(window: Duration, capacity: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
            open: HashMap::new(),
            departures: HashMap::new(),
            lost: false,
            window,
            capacity: capacity.max(1),
        }
    }

    /// How long a change waits.
    pub(crate) fn window(&self) -> Duration {
        self.window
    }

    /// Whether something must be let go before anything is added.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= self.capacity
    }

    /// When the next change will have waited long enough.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.entries.front().map(|entry| entry.due)
    }

    pub(crate) fn create(&mut self, relative: &Arc<Path>, is_dir: bool, stamp: Stamp) {
        let position = self.push(What::Change(Change::Create), relative, is_dir, stamp);
        self.open.insert(Arc::clone(relative), Open { create: Some(position), ..Open::default() });
    }

    pub(crate) fn write(&mut self, relative: &Arc<Path>, stamp: Stamp) {
        let open = self.open.get(relative).copied().unwrap_or_default();
        if let Some(position) = open.create.or(open.write) {
            self.refresh(position, stamp);
        } else {
            let position = self.push(What::Change(Change::Write), relative, false, stamp);
            self.open.entry(Arc::clone(relative)).or_default().write = Some(position);
        }
    }

    /// Whether a write of this file would count with a change that waits.
    pub(crate) fn is_written(&self, relative: &Path) -> bool {
        self.open.get(relative).is_some_and(|open| open.create.or(open.write).is_some())
    }

    pub(crate) fn chmod(&mut self, relative: &Arc<Path>, is_dir: bool, stamp: Stamp) {
        let open = self.open.get(relative).copied().unwrap_or_default();
        if let Some(position) = open.create.or(open.chmod) {
            self.refresh(position, stamp);
        } else {
            let position = self.push(What::Change(Change::Chmod), relative, is_dir, stamp);
            self.open.entry(Arc::clone(relative)).or_default().chmod = Some(position);
        }
    }

    pub(crate) fn remove(&mut self, relative: &Arc<Path>, is_dir: bool, stamp: Stamp) {
        self.open.remove(relative);
        self.push(What::Change(Change::Remove), relative, is_dir, stamp);
    }

    /// Something left; where it goes may follow.
    pub(crate) fn depart(
        &mut self,
        cookie: u32,
        relative: &Arc<Path>,
        leaving: Leaving,
        node: Option<NodeId>,
        stamp: Stamp,
    ) {
        let Leaving { is_dir, shown, replaces } = leaving;
        self.open.remove(relative);
        let what = if shown { What::Departed(cookie) } else { What::DepartedUnseen(cookie) };
        let position = self.push(what, relative, is_dir, stamp);
        self.departures.insert(cookie, Departure { position, shown, replaces, node });
    }

    /// Where something came from that arrived now. Unless it is told otherwise, it counts as gone from there.
    pub(crate) fn arrive(&mut self, cookie: u32) -> Option<Departure> {
        self.departures.remove(&cookie)
    }

    /// What left is here now.
    pub(crate) fn rename(&mut self, departure: &Departure, relative: &Arc<Path>) {
        self.open.remove(relative);
        if let Some(entry) = self.entry(departure.position) {
            entry.what = What::Change(Change::Rename);
            entry.old = Some(std::mem::replace(&mut entry.relative, Arc::clone(relative)));
        }
    }

    pub(crate) fn lose(&mut self, stamp: Stamp) {
        if !std::mem::replace(&mut self.lost, true) {
            self.push(What::Lost, &Path::new("").into(), false, stamp);
        }
    }

    /// The next change that has waited long enough.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Delivery> {
        while self.next_due()? <= now {
            if let Some(delivery) = self.take() {
                return Some(delivery);
            }
        }
        None
    }

    /// The oldest change, however long it has waited; none when it is not to be told.
    pub(crate) fn take(&mut self) -> Option<Delivery> {
        let entry = self.entries.pop_front()?;
        let position = self.first;
        self.first += 1;
        let change = match entry.what {
            What::Change(change) => {
                self.close(&entry.relative, position);
                change
            }
            What::Departed(cookie) => {
                self.departures.remove(&cookie);
                Change::Remove
            }
            What::DepartedUnseen(cookie) => {
                self.departures.remove(&cookie);
                return None;
            }
            What::Lost => {
                self.lost = false;
                return Some(Delivery::Lost);
            }
        };
        let Entry { relative, old, is_dir, seen, .. } = entry;
        Some(Delivery::Event { change, relative, old, is_dir, seen })
    }

    fn push(&mut self, what: What, relative: &Arc<Path>, is_dir: bool, stamp: Stamp) -> u64 {
        self.entries.push_back(Entry {
            what,
            relative: Arc::clone(relative),
            old: None,
            is_dir,
            seen: stamp.seen,
            due: stamp.now + self.window,
        });
        self.first + self.entries.len() as u64 - 1
    }

    fn entry(&mut self, position: u64) -> Option<&mut Entry> {
        let index = usize::try_from(position.checked_sub(self.first)?).ok()?;
        self.entries.get_mut(index)
    }

    fn refresh(&mut self, position: u64, stamp: Stamp) {
        if let Some(entry) = self.entry(position) {
            entry.seen = stamp.seen;
        }
    }

    /// Nothing more is taken in by the change at this position.
    fn close(&mut self, relative: &Arc<Path>, position: u64) {
        let Some(open) = self.open.get_mut(relative) else {
            return;
        };
        for slot in [&mut open.create, &mut open.write, &mut open.chmod] {
            if *slot == Some(position) {
                *slot = None;
            }
        }
        if open.create.or(open.write).or(open.chmod).is_none() {
            self.open.remove(relative);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_millis(100);

    struct Story {
        pending: Pending,
        start: Instant,
    }

    impl Story {
        fn new() -> Self {
            Self { pending: Pending::new(WINDOW, 100), start: Instant::now() }
        }

        fn at(&self, milliseconds: u32) -> Stamp {
            let now = self.start + Duration::from_millis(milliseconds.into());
            Stamp { now, seen: f64::from(milliseconds) }
        }

        fn told(&mut self, milliseconds: u32) -> Vec<String> {
            let now = self.at(milliseconds).now;
            let told = std::iter::from_fn(|| self.pending.take_due(now));
            told.map(|delivery| match delivery {
                Delivery::Lost => "lost".to_owned(),
                Delivery::Event { change, relative, old, seen, .. } => {
                    let from = old.map(|old| format!("{} to ", old.display())).unwrap_or_default();
                    format!("{change:?} {from}{} {seen}", relative.display())
                }
            })
            .collect()
        }
    }

    fn leaving(shown: bool) -> Leaving {
        Leaving { is_dir: false, shown, replaces: false }
    }

    fn path(text: &str) -> Arc<Path> {
        Path::new(text).into()
    }

    #[test]
    fn writes_within_the_window_count_once_and_later_ones_anew() {
        let mut story = Story::new();
        let file = path("f");
        for time in [0, 50, 99] {
            let stamp = story.at(time);
            story.pending.write(&file, stamp);
        }
        assert!(story.told(99).is_empty());
        assert_eq!(story.told(100), ["Write f 99"]);
        let stamp = story.at(120);
        story.pending.write(&file, stamp);
        assert_eq!(story.told(300), ["Write f 120"]);
        assert!(story.pending.open.is_empty() && story.pending.entries.is_empty());
    }

    #[test]
    fn a_new_file_is_told_with_its_content_and_one_that_is_gone_again_with_both() {
        let mut story = Story::new();
        let (file, stamp) = (path("f"), story.at(0));
        story.pending.create(&file, false, stamp);
        story.pending.write(&file, stamp);
        story.pending.chmod(&file, false, stamp);
        story.pending.remove(&file, false, stamp);
        story.pending.create(&file, false, stamp);
        story.pending.write(&file, stamp);
        assert_eq!(story.told(100), ["Create f 0", "Remove f 0", "Create f 0"]);
    }

    #[test]
    fn modes_and_content_are_told_apart_each_once() {
        let mut story = Story::new();
        let (file, stamp) = (path("f"), story.at(0));
        for _ in 0..10 {
            story.pending.chmod(&file, false, stamp);
            story.pending.write(&file, stamp);
        }
        assert_eq!(story.told(100), ["Chmod f 0", "Write f 0"]);
    }

    #[test]
    fn halves_of_a_move_become_one_and_a_lone_half_a_removal() {
        let mut story = Story::new();
        let stamp = story.at(0);
        story.pending.depart(1, &path("a"), leaving(true), None, stamp);
        story.pending.depart(2, &path("out"), leaving(true), None, stamp);
        story.pending.depart(3, &path("hidden"), leaving(false), None, stamp);
        story.pending.write(&path("c"), stamp);
        let departure = story.pending.arrive(1).unwrap();
        story.pending.rename(&departure, &path("b"));
        let stamp = story.at(10);
        story.pending.write(&path("b"), stamp);
        assert_eq!(story.told(200), ["Rename a to b 0", "Remove out 0", "Write c 0", "Write b 10"]);
        assert!(story.pending.arrive(2).is_none() && story.pending.arrive(3).is_none());
    }

    #[test]
    fn losses_that_wait_are_told_once_and_later_ones_anew() {
        let mut story = Story::new();
        let stamp = story.at(0);
        story.pending.lose(stamp);
        story.pending.lose(stamp);
        assert_eq!(story.told(100), ["lost"]);
        let stamp = story.at(100);
        story.pending.lose(stamp);
        assert_eq!(story.told(200), ["lost"]);
    }

    #[test]
    fn what_waits_is_bounded_and_the_oldest_goes_first() {
        let mut story = Story::new();
        let stamp = story.at(0);
        for number in 0..100 {
            assert!(!story.pending.is_full());
            story.pending.create(&path(&number.to_string()), false, stamp);
        }
        assert!(story.pending.is_full());
        let Some(Delivery::Event { relative, .. }) = story.pending.take() else {
            panic!("an event")
        };
        assert_eq!(&*relative, Path::new("0"));
        assert!(!story.pending.is_full());
    }
}
