//! The first so many of what a search finds, in order, in bounded memory.
//!
//! Many threads add what they find in any order. Only what could still be among the first is kept; everything is counted.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering as Memory};
use std::sync::{Mutex, PoisonError};

use crate::found::{Found, Order};

/// Things kept beyond those asked for, so that sorting out is rare.
const SLACK: usize = 4096;

/// Collects things found.
#[derive(Debug)]
pub(crate) struct Selection {
    order: Order,
    most: usize,
    /// Only what comes after this counts.
    after: Option<Found>,
    total: AtomicU64,
    kept: Mutex<Vec<Found>>,
}

impl Selection {
    /// The first `most` in this order, after `after` if given.
    pub(crate) fn new(order: Order, most: usize, after: Option<Found>) -> Self {
        Self { order, most, after, total: AtomicU64::new(0), kept: Mutex::default() }
    }

    /// Takes all of a batch.
    pub(crate) fn add(&self, batch: &mut Vec<Found>) {
        if let Some(after) = &self.after {
            batch.retain(|found| self.order.compare(found, after) == Ordering::Greater);
        }
        self.total.fetch_add(batch.len() as u64, Memory::Relaxed);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.append(batch);
        if kept.len() > self.most.saturating_mul(2).saturating_add(SLACK) {
            kept.select_nth_unstable_by(self.most, |one, other| self.order.compare(one, other));
            kept.truncate(self.most);
        }
    }

    /// The first ones in order, and how many there were in all.
    pub(crate) fn finish(self) -> (Vec<Found>, u64) {
        let mut kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        if kept.len() > self.most {
            kept.select_nth_unstable_by(self.most, |one, other| self.order.compare(one, other));
            kept.truncate(self.most);
        }
        kept.sort_unstable_by(|one, other| self.order.compare(one, other));
        (kept, self.total.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::found::Sort;

    fn numbers(selection: &Selection, numbers: impl Iterator<Item = u32>) {
        for number in numbers {
            let path = format!("{number:06}").into();
            selection.add(&mut vec![Found { path, is_directory: false, metadata: None }]);
        }
    }

    fn paths(selection: Selection) -> (Vec<String>, u64) {
        let (found, total) = selection.finish();
        (found.iter().map(|found| found.path.display().to_string()).collect(), total)
    }

    #[test]
    fn the_first_are_kept_whatever_order_they_come_in() {
        let order = Order::default();
        let forwards = Selection::new(order, 3, None);
        numbers(&forwards, 0..20_000);
        assert_eq!(
            paths(forwards),
            (["000000", "000001", "000002"].map(Into::into).into(), 20_000)
        );
        let backwards = Selection::new(order, 3, None);
        numbers(&backwards, (0..20_000).rev());
        assert_eq!(
            paths(backwards),
            (["000000", "000001", "000002"].map(Into::into).into(), 20_000)
        );
        let descending = Selection::new(Order { by: Sort::Name, descending: true }, 2, None);
        numbers(&descending, 0..20_000);
        assert_eq!(paths(descending), (["019999", "019998"].map(Into::into).into(), 20_000));
    }

    #[test]
    fn windows_follow_one_another_without_a_gap() {
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let window = Selection::new(Order::default(), 7, after.take());
            numbers(&window, (0..50).rev());
            let (found, total) = window.finish();
            seen.extend(found.iter().map(|found| found.path.clone()));
            if total == found.len() as u64 {
                break;
            }
            after = found.last().cloned();
        }
        let expected = (0..50).map(|number| PathBuf::from(format!("{number:06}")));
        assert_eq!(seen, expected.collect::<Vec<_>>());
    }
}
