//! Going through a tree with several threads.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ignore::{DirEntry, ParallelVisitor, ParallelVisitorBuilder, WalkBuilder, WalkState};

use crate::cancel::Cancel;
use crate::filter::Filter;
use crate::found::Found;
use crate::parallel::threads;
use crate::selection::Selection;

/// Things found that a thread keeps to itself before it hands them over.
const BATCH: usize = 1024;

/// A way through a tree. Links are not followed, but for the start itself.
#[derive(Debug)]
pub(crate) struct Walk {
    /// Directory to begin in.
    pub(crate) start: PathBuf,
    /// Levels below it to go through.
    pub(crate) depth: Option<usize>,
    /// Whether `.gitignore` and `.ignore` files count, those above the start included.
    pub(crate) gitignore: bool,
    /// What to look at.
    pub(crate) filter: Arc<Filter>,
}

impl Walk {
    /// Goes through the tree once and adds what `pick` makes of the entries. Returns how many could not be read.
    pub(crate) fn run(
        &self,
        cancel: &Cancel,
        selection: &Selection,
        pick: &(dyn Fn(DirEntry) -> Option<Found> + Sync),
    ) -> u64 {
        let (filter, filter_cancel) = (Arc::clone(&self.filter), cancel.clone());
        let walk = WalkBuilder::new(&self.start)
            .standard_filters(false)
            .ignore(self.gitignore)
            .git_ignore(self.gitignore)
            .parents(self.gitignore)
            .require_git(false)
            .min_depth(Some(1))
            .max_depth(self.depth)
            .threads(threads())
            // An entry turned away here is never queued, which is most of the work for entries nobody wants.
            .filter_entry(move |entry| !filter_cancel.is_set() && filter.admits(entry))
            .build_parallel();
        let unreadable = AtomicU64::new(0);
        walk.visit(&mut Visitors { cancel, selection, pick, unreadable: &unreadable });
        unreadable.into_inner()
    }
}

#[derive(Clone, Copy)]
struct Visitors<'a> {
    cancel: &'a Cancel,
    selection: &'a Selection,
    pick: &'a (dyn Fn(DirEntry) -> Option<Found> + Sync),
    unreadable: &'a AtomicU64,
}

impl<'a> ParallelVisitorBuilder<'a> for Visitors<'a> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 'a> {
        Box::new(Visitor { shared: *self, batch: Vec::new() })
    }
}

/// What one thread has found.
struct Visitor<'a> {
    shared: Visitors<'a>,
    batch: Vec<Found>,
}

impl ParallelVisitor for Visitor<'_> {
    fn visit(&mut self, entry: Result<DirEntry, ignore::Error>) -> WalkState {
        if self.shared.cancel.is_set() {
            return WalkState::Quit;
        }
        match entry {
            Ok(entry) => self.batch.extend((self.shared.pick)(entry)),
            // What vanished meanwhile is no trouble, and a bad line in an ignore file is none of ours.
            Err(error) => {
                let trouble = error
                    .io_error()
                    .is_some_and(|error| error.kind() != std::io::ErrorKind::NotFound);
                self.shared.unreadable.fetch_add(u64::from(trouble), Ordering::Relaxed);
            }
        }
        if self.batch.len() >= BATCH {
            self.shared.selection.add(&mut self.batch);
        }
        WalkState::Continue
    }
}

impl Drop for Visitor<'_> {
    fn drop(&mut self) {
        self.shared.selection.add(&mut self.batch);
    }
}
