//! A watcher's events by number, the latest of them kept, for any number of readers.
//!
//! A reader's cursor is the number of the last event it has seen. Where events were lost, before they reached this log
//! or because the reader came too late, a reader is told once: its cursor moves past the loss.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::event::{Change, Look};

/// A change as it is kept.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) change: Change,
    pub(crate) relative: Arc<Path>,
    pub(crate) old: Option<Arc<Path>>,
    pub(crate) is_dir: bool,
    pub(crate) seen: f64,
    pub(crate) look: Look,
}

/// What has a number.
#[derive(Debug, Clone)]
pub(crate) enum Slot {
    Event(Record),
    /// Here events were lost that nobody ever saw.
    Lost,
}

/// What a reader gets.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) records: Vec<(u64, Record)>,
    pub(crate) cursor: u64,
    pub(crate) lost: bool,
    pub(crate) more: bool,
}

#[derive(Debug)]
pub(crate) struct Log {
    kept: Mutex<Kept>,
    latest: watch::Sender<u64>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct Kept {
    slots: VecDeque<Slot>,
    latest: u64,
}

impl Log {
    pub(crate) fn new(capacity: usize) -> Self {
        let (latest, _) = watch::channel(0);
        Self { kept: Mutex::default(), latest, capacity: capacity.max(1) }
    }

    /// Adds what happened, forgets the oldest when there is no more room, and wakes the readers.
    pub(crate) fn append(&self, slots: impl IntoIterator<Item = Slot>) {
        let latest = {
            let mut kept = self.lock();
            for slot in slots {
                if kept.slots.len() == self.capacity {
                    kept.slots.pop_front();
                }
                kept.slots.push_back(slot);
                kept.latest += 1;
            }
            kept.latest
        };
        self.latest.send_if_modified(|seen| std::mem::replace(seen, latest) != latest);
    }

    /// Number of the latest event, and how many are kept.
    pub(crate) fn progress(&self) -> (u64, usize) {
        let kept = self.lock();
        (kept.latest, kept.slots.len())
    }

    /// Waits until something is past the cursor.
    pub(crate) async fn past(&self, cursor: u64) {
        let mut latest = self.latest.subscribe();
        let cursor = cursor.min(*latest.borrow());
        // The sender lives as long as `self`.
        let _sender_gone = latest.wait_for(|latest| *latest > cursor).await.map(|_| ());
    }

    /// Reads up to `limit` events after the cursor. A reading ends before a loss, so that a loss always lies before
    /// the events it comes with.
    pub(crate) fn read(&self, cursor: u64, limit: usize) -> Reading {
        let kept = self.lock();
        let gone = kept.latest - kept.slots.len() as u64;
        let cursor = cursor.min(kept.latest);
        let mut reading = Reading {
            records: Vec::new(),
            cursor: cursor.max(gone),
            lost: cursor < gone,
            more: false,
        };
        let skip = usize::try_from(reading.cursor - gone).unwrap_or(usize::MAX);
        for slot in kept.slots.iter().skip(skip) {
            match slot {
                Slot::Lost if reading.records.is_empty() => reading.lost = true,
                Slot::Event(record) if reading.records.len() < limit => {
                    reading.records.push((reading.cursor + 1, record.clone()));
                }
                Slot::Lost | Slot::Event(_) => {
                    reading.more = true;
                    break;
                }
            }
            reading.cursor += 1;
        }
        reading
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Slot {
        Slot::Event(Record {
            change: Change::Create,
            relative: Path::new("x").into(),
            old: None,
            is_dir: false,
            seen: 0.0,
            look: Look::default(),
        })
    }

    fn read(log: &Log, cursor: u64, limit: usize) -> (Vec<u64>, u64, bool, bool) {
        let reading = log.read(cursor, limit);
        let numbers = reading.records.iter().map(|(seq, _)| *seq).collect();
        (numbers, reading.cursor, reading.lost, reading.more)
    }

    #[test]
    fn a_reader_goes_on_from_its_cursor() {
        let log = Log::new(10);
        assert_eq!(read(&log, 0, 5), (vec![], 0, false, false));
        log.append([event(), event(), event()]);
        assert_eq!(read(&log, 0, 2), (vec![1, 2], 2, false, true));
        assert_eq!(read(&log, 2, 2), (vec![3], 3, false, false));
        assert_eq!(read(&log, 3, 2), (vec![], 3, false, false));
        assert_eq!(read(&log, 99, 2), (vec![], 3, false, false));
        assert_eq!(log.progress(), (3, 3));
    }

    #[test]
    fn a_reader_that_comes_too_late_is_told_once() {
        let log = Log::new(2);
        log.append([event(), event(), event(), event(), event()]);
        assert_eq!(read(&log, 1, 9), (vec![4, 5], 5, true, false));
        assert_eq!(read(&log, 1, 1), (vec![4], 4, true, true));
        assert_eq!(read(&log, 3, 9), (vec![4, 5], 5, false, false));
        assert_eq!(read(&log, 5, 9), (vec![], 5, false, false));
    }

    #[test]
    fn a_loss_has_a_place_and_is_told_before_what_follows_it() {
        let log = Log::new(10);
        log.append([event(), Slot::Lost, Slot::Lost, event(), Slot::Lost]);
        assert_eq!(read(&log, 0, 9), (vec![1], 1, false, true));
        assert_eq!(read(&log, 1, 9), (vec![4], 4, true, true));
        assert_eq!(read(&log, 4, 9), (vec![], 5, true, false));
        assert_eq!(read(&log, 5, 9), (vec![], 5, false, false));
    }

    #[tokio::test]
    async fn whoever_waits_is_woken_and_a_cursor_from_the_future_waits_for_what_comes_next() {
        let log = Arc::new(Log::new(10));
        log.append([event()]);
        log.past(0).await;
        for cursor in [1, 77] {
            let waiting = tokio::spawn({
                let log = Arc::clone(&log);
                async move { log.past(cursor).await }
            });
            tokio::task::yield_now().await;
            log.append([event()]);
            waiting.await.unwrap();
        }
    }
}
