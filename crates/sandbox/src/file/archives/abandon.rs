//! The word to blocking work that nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sets the flag that blocking work looks at when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Abandon(Arc<AtomicBool>);

impl Abandon {
    /// The flag, for the work.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
