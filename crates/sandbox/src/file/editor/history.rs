//! What can be undone: for each file the texts it had before the latest edits.
//!
//! Bounded per file by steps and for all files together by bytes; the oldest steps are forgotten first.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use atoll_api::system::Limits;

use crate::file::desk::length;
use crate::file::store::Place;

/// Memory a step takes beside its text, roughly.
const OVERHEAD: usize = 256;

/// Tells a text from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint {
    length: usize,
    hash: u64,
}

impl Fingerprint {
    pub(super) fn of(text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self { length: text.len(), hash: hasher.finish() }
    }
}

/// One edit.
#[derive(Debug)]
pub(super) struct Step {
    /// The text before; `None` when the edit made the file.
    pub(super) before: Option<String>,
    /// What the edit left.
    pub(super) after: Fingerprint,
    number: u64,
}

impl Step {
    fn bytes(&self) -> usize {
        self.before.as_ref().map_or(0, String::len) + OVERHEAD
    }
}

/// The edits that can be undone.
#[derive(Debug)]
pub(in crate::file) struct History {
    steps: HashMap<Place, VecDeque<Step>>,
    /// The files by the age of their steps.
    ages: BTreeMap<u64, Place>,
    next: u64,
    bytes: usize,
    max_steps: usize,
    max_bytes: usize,
}

impl History {
    pub(in crate::file) fn new(limits: &Limits) -> Self {
        Self {
            steps: HashMap::new(),
            ages: BTreeMap::new(),
            next: 0,
            bytes: 0,
            max_steps: length(limits.editor_undo_steps),
            max_bytes: length(limits.editor_undo_bytes),
        }
    }

    /// Remembers an edit; `false` when it is too large for that, and what came before it can no longer be undone.
    pub(super) fn record(&mut self, place: &Place, before: Option<String>, after: &str) -> bool {
        let step = Step { before, after: Fingerprint::of(after), number: self.next };
        self.next += 1;
        if step.bytes() > self.max_bytes || self.max_steps == 0 {
            while self.take_first(place).is_some() {}
            return false;
        }
        self.put_back(place, step);
        if self.steps.get(place).is_some_and(|steps| steps.len() > self.max_steps) {
            self.take_first(place);
        }
        while self.bytes > self.max_bytes
            && let Some((_, oldest)) = self.ages.first_key_value()
        {
            let oldest = oldest.clone();
            self.take_first(&oldest);
        }
        true
    }

    /// Takes the latest edit of a file.
    pub(super) fn take(&mut self, place: &Place) -> Option<Step> {
        let step = self.steps.get_mut(place)?.pop_back();
        self.forget(place, step)
    }

    /// Puts back what was taken, or adds to it.
    pub(super) fn put_back(&mut self, place: &Place, step: Step) {
        self.bytes += step.bytes();
        self.ages.insert(step.number, place.clone());
        self.steps.entry(place.clone()).or_default().push_back(step);
    }

    fn take_first(&mut self, place: &Place) -> Option<Step> {
        let step = self.steps.get_mut(place)?.pop_front();
        self.forget(place, step)
    }

    fn forget(&mut self, place: &Place, step: Option<Step>) -> Option<Step> {
        if self.steps.get(place).is_some_and(VecDeque::is_empty) {
            self.steps.remove(place);
        }
        let step = step?;
        self.bytes -= step.bytes();
        self.ages.remove(&step.number);
        Some(step)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn history(steps: u64, bytes: u64) -> History {
        let limits =
            Limits { editor_undo_steps: steps, editor_undo_bytes: bytes, ..Limits::default() };
        History::new(&limits)
    }

    fn place(name: &str) -> Place {
        Place::unseen(Path::new(name))
    }

    fn before(step: Option<Step>) -> Option<String> {
        step.unwrap().before
    }

    #[test]
    fn the_latest_steps_of_each_file_are_kept() {
        let mut history = history(2, 1 << 20);
        for text in ["1", "2", "3"] {
            assert!(history.record(&place("a"), Some(text.to_owned()), "x"));
        }
        history.record(&place("b"), None, "x");
        assert_eq!(before(history.take(&place("a"))).as_deref(), Some("3"));
        let step = history.take(&place("a")).unwrap();
        history.put_back(&place("a"), step);
        assert_eq!(before(history.take(&place("a"))).as_deref(), Some("2"));
        assert!(history.take(&place("a")).is_none());
        assert_eq!(before(history.take(&place("b"))), None);
        assert_eq!((history.bytes, history.ages.len(), history.steps.len()), (0, 0, 0));
    }

    #[test]
    fn all_files_together_keep_to_their_bytes() {
        let mut history = history(100, 10_000);
        for number in 0..50 {
            let text = "x".repeat(1000);
            assert!(history.record(&place(&format!("f{}", number % 10)), Some(text), "y"));
            assert!(history.bytes <= 10_000);
        }
        assert!(history.take(&place("f9")).is_some());
        // What is too large is not kept, and what came before it makes no sense any more.
        assert!(history.steps.contains_key(&place("f8")));
        assert!(!history.record(&place("f8"), Some("x".repeat(20_000)), "y"));
        assert!(history.take(&place("f8")).is_none());
    }
}
