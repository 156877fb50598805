//! The latest things that were refused.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::error::Refusal;

/// A log that forgets the oldest.
#[derive(Debug)]
pub(crate) struct Refusals {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    latest: VecDeque<Refusal>,
    total: u64,
}

impl Refusals {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), kept: Mutex::default() }
    }

    pub(crate) fn add(&self, refusal: Refusal) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.latest.len() == self.most {
            kept.latest.pop_front();
        }
        kept.latest.push_back(refusal);
        kept.total += 1;
    }

    /// The latest, newest first, and how many there ever were.
    pub(crate) fn latest(&self, most: usize) -> (Vec<Refusal>, u64) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.latest.iter().rev().take(most).cloned().collect(), kept.total)
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::error::Way;

    #[test]
    fn the_oldest_are_forgotten_and_still_counted() {
        let refusals = Refusals::new(2);
        for port in 1..=3 {
            refusals.add(Refusal {
                at: SystemTime::UNIX_EPOCH,
                way: Way::Http,
                host: "a.test".to_owned(),
                port,
                address: None,
                reason: String::new(),
            });
        }
        let (latest, total) = refusals.latest(10);
        assert_eq!(latest.iter().map(|each| each.port).collect::<Vec<_>>(), [3, 2]);
        assert_eq!((total, refusals.latest(1).0.len()), (3, 1));
    }
}
