//! Threads of one search.

use std::thread::{Builder, available_parallelism, scope};

/// Threads one search uses at most.
const MOST_THREADS: usize = 8;

/// The threads a search uses.
pub(crate) fn threads() -> usize {
    available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// Runs the same work on this thread and on others, `count` in all, until each has ended. Work that takes its tasks from a
/// common place gets done with any number of threads, so it is no trouble when the system grants fewer.
pub(crate) fn together(count: usize, work: &(dyn Fn() + Sync)) {
    scope(|scope| {
        for _ in 1..count {
            if Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
}
