//! How a search is told to end: by whoever asked for it, or by its deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Ends a search early. Clones share the flag; each may have a deadline of its own.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

/// Why a search ended before it was through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// Nobody wants the answer any more.
    Cancelled,
    /// The time ran out.
    TimedOut,
}

impl Cancel {
    /// One that ends a search when [`cancel`](Self::cancel) is called, and not before.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, which also ends the search at this time.
    #[must_use]
    pub fn with_deadline(&self, deadline: Instant) -> Self {
        Self { flag: Arc::clone(&self.flag), deadline: Some(deadline) }
    }

    /// The same with the deadline after this much of the time that is left.
    pub(crate) fn with_share(&self, numerator: u32, denominator: u32) -> Self {
        let now = Instant::now();
        let deadline = self.deadline.map(|deadline| {
            now + deadline.saturating_duration_since(now) / denominator * numerator
        });
        Self { flag: Arc::clone(&self.flag), deadline }
    }

    /// The same with at least this much time left.
    pub(crate) fn with_at_least(&self, time: Duration) -> Self {
        let soonest = Instant::now() + time;
        let deadline = self.deadline.map(|deadline| deadline.max(soonest));
        Self { flag: Arc::clone(&self.flag), deadline }
    }

    /// Ends the search.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether the search shall end, and why. Cheap enough to ask for each file.
    pub fn interruption(&self) -> Option<Interruption> {
        if self.flag.load(Ordering::Relaxed) {
            return Some(Interruption::Cancelled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Some(Interruption::TimedOut),
            _ => None,
        }
    }

    /// Whether the search shall end.
    pub(crate) fn is_set(&self) -> bool {
        self.interruption().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_flag_but_not_the_deadline() {
        let cancel = Cancel::new();
        let expired = cancel.with_deadline(Instant::now());
        assert_eq!(cancel.interruption(), None);
        assert_eq!(expired.interruption(), Some(Interruption::TimedOut));
        let later = cancel.with_deadline(Instant::now() + Duration::from_hours(1));
        assert_eq!(later.with_share(3, 4).interruption(), None);
        later.cancel();
        assert_eq!(cancel.interruption(), Some(Interruption::Cancelled));
    }
}
