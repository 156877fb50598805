//! Whose turn it is to change a file: changes of one file happen one after the other, of different files at once.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A name in a directory, whichever path leads there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::file) struct Place {
    pub(super) device: u64,
    pub(super) directory: u64,
    pub(super) name: OsString,
}

impl Place {
    /// A path whose directory cannot be looked at.
    pub(in crate::file) fn unseen(path: &Path) -> Self {
        Self { device: 0, directory: 0, name: path.into() }
    }
}

/// The files being changed. Holds as many entries as there are changes under way.
#[derive(Debug, Default)]
pub(in crate::file) struct Turns {
    busy: Mutex<HashSet<Place>>,
    freed: Condvar,
}

/// The right to change a file, until this is dropped.
#[derive(Debug)]
pub(in crate::file) struct Turn {
    turns: Arc<Turns>,
    place: Place,
}

impl Turns {
    /// Waits until nobody else changes this file. For threads that may wait.
    pub(in crate::file) fn wait(self: &Arc<Self>, place: &Place) -> Turn {
        let busy = self.busy();
        let mut busy = self
            .freed
            .wait_while(busy, |busy| busy.contains(place))
            .unwrap_or_else(PoisonError::into_inner);
        busy.insert(place.clone());
        Turn { turns: Arc::clone(self), place: place.clone() }
    }

    fn busy(&self) -> MutexGuard<'_, HashSet<Place>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.busy().remove(&self.place);
        self.turns.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn place(name: &str) -> Place {
        Place { device: 1, directory: 2, name: name.into() }
    }

    #[test]
    fn a_file_has_one_turn_at_a_time_and_nothing_is_remembered() {
        let turns = Arc::new(Turns::default());
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let turn = turns.wait(&place("a"));
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(turn);
                    }
                });
            }
        });
        assert!(turns.busy().is_empty());
    }

    #[test]
    fn another_file_does_not_wait() {
        let turns = Arc::new(Turns::default());
        let _first = turns.wait(&place("a"));
        let _second = turns.wait(&place("b"));
        assert_eq!(turns.busy().len(), 2);
    }
}
