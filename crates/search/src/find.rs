//! Finding paths as Python's `glob.glob(os.path.join(root, pattern), recursive=True)` does.
//!
//! One level a component, any depth for `**`, names with a dot in front only where the pattern has it too. Names in the
//! pattern are looked up, not searched for, so they lead through links and `..`. `**` enters links to directories as
//! Python does, but never one that leads back to where it came from.

use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::cancel::{Cancel, Interruption};
use crate::error::{Argument, SearchError};
use crate::found::{Found, Order};
use crate::parallel::{threads, together};
use crate::pattern::{Name, Part, bit, entered, python_parts};
use crate::selection::Selection;

/// Paths a thread keeps to itself before it hands them over.
const BATCH: usize = 1024;

/// What to find.
#[derive(Debug, Clone)]
pub struct FindQuery {
    /// Directory to look in.
    pub root: PathBuf,
    /// The pattern: `*`, `?`, `[…]`, `**`. One that begins with a slash begins at the root of the file system.
    pub pattern: String,
    /// Paths to return at most.
    pub max_results: usize,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct FindOutcome {
    /// The first paths in order; those of directories end in a slash where the pattern says that it means directories.
    pub paths: Vec<PathBuf>,
    /// Whether there are more.
    pub truncated: bool,
    /// Directories that could not be read.
    pub unreadable: u64,
    /// Why the search is not complete, if it is not.
    pub interrupted: Option<Interruption>,
}

/// Finds paths.
pub fn find(query: &FindQuery, cancel: &Cancel) -> Result<FindOutcome, SearchError> {
    let parts =
        python_parts(&query.pattern).map_err(|message| Argument::Pattern.refuse(message))?;
    drop(fs::read_dir(&query.root)?);
    let absolute = query.pattern.starts_with('/');
    let start = if absolute { PathBuf::from("/") } else { query.root.clone() };
    let search = Search {
        directories_only: matches!(query.pattern.rsplit('/').next(), Some("" | ".")),
        states: entered(&parts, 0),
        parts,
        start,
        queue: Queue::default(),
        selection: Selection::new(Order::default(), query.max_results, None),
        unreadable: AtomicU64::new(0),
        cancel,
    };
    search.begin();
    together(threads(), &|| search.work());
    let interrupted = cancel.interruption();
    let (found, total) = search.selection.finish();
    Ok(FindOutcome {
        truncated: total > found.len() as u64,
        paths: found.into_iter().map(|found| found.path).collect(),
        unreadable: search.unreadable.into_inner(),
        interrupted,
    })
}

/// A directory to look in, and how much of the pattern is matched by then.
#[derive(Debug)]
struct Task {
    directory: PathBuf,
    states: u64,
}

struct Search<'a> {
    parts: Vec<Part>,
    /// The states before anything is matched.
    states: u64,
    directories_only: bool,
    start: PathBuf,
    queue: Queue,
    selection: Selection,
    unreadable: AtomicU64,
    cancel: &'a Cancel,
}

/// What a name is to the pattern.
#[derive(Debug, Default, Clone, Copy)]
struct Step {
    /// States reached because a component names it.
    named: u64,
    /// States reached because `**` passes through it.
    passed: u64,
}

impl Search<'_> {
    /// Every part is matched.
    fn end(&self) -> u64 {
        bit(self.parts.len())
    }

    fn begin(&self) {
        if self.states & self.end() != 0 {
            self.selection.add(&mut vec![directory(self.start.clone())]);
        }
        self.queue
            .add(vec![Task { directory: self.start.clone(), states: self.states & !self.end() }]);
    }

    /// Does tasks until none is left.
    fn work(&self) {
        let mut found = Vec::new();
        while let Some(mut turn) = self.queue.next(self.cancel) {
            if let Err(error) = self.expand(&mut turn, &mut found) {
                // What is not there, or is no directory, simply has nothing below.
                use io::ErrorKind::{NotADirectory, NotFound};
                let trouble = !matches!(error.kind(), NotFound | NotADirectory);
                self.unreadable.fetch_add(u64::from(trouble), Ordering::Relaxed);
            }
            if found.len() >= BATCH {
                self.selection.add(&mut found);
            }
        }
        self.selection.add(&mut found);
    }

    fn expand(&self, turn: &mut Turn<'_>, found: &mut Vec<Found>) -> io::Result<()> {
        let states = turn.task.states;
        let literals = self.parts.iter().enumerate().filter_map(|(index, part)| match part {
            Part::Name(Name::Literal(name)) if states & bit(index) != 0 => Some(name.as_slice()),
            _ => None,
        });
        let mut names: Vec<_> = literals.collect();
        let listed = names.len() < states.count_ones() as usize;
        if listed {
            // No list has it.
            names.retain(|name| *name == b"..");
        }
        names.sort_unstable();
        names.dedup();
        for name in names {
            let path = turn.task.directory.join(OsStr::from_bytes(name));
            if let Ok(metadata) = fs::symlink_metadata(&path) {
                self.arrive(turn, self.step(states, name), path, metadata.file_type(), found);
            }
        }
        if !listed {
            return Ok(());
        }
        for entry in fs::read_dir(&turn.task.directory)? {
            if self.cancel.is_set() {
                break;
            }
            let entry = entry?;
            let step = self.step(states, entry.file_name().as_bytes());
            if step.named | step.passed != 0 {
                self.arrive(turn, step, entry.path(), entry.file_type()?, found);
            }
        }
        Ok(())
    }

    /// Takes a path if it matches, and goes on below it if something there could.
    fn arrive(
        &self,
        turn: &mut Turn<'_>,
        step: Step,
        path: PathBuf,
        kind: FileType,
        found: &mut Vec<Found>,
    ) {
        let is_directory = if kind.is_symlink() { path.is_dir() } else { kind.is_dir() };
        let ends = |states: u64| states & self.end() != 0;
        // `**` at the end of a pattern stands for the directory before it, too.
        let before_any_depth = ends(step.named) && self.parts.last() == Some(&Part::AnyDepth);
        let is_match = ends(step.passed) || (ends(step.named) && !before_any_depth);
        if is_match && !self.directories_only {
            found.push(plain(path.clone()));
        }
        if !is_directory {
            return;
        }
        if before_any_depth || (is_match && self.directories_only) {
            found.push(directory(path.clone()));
        }
        let mut states = step.named;
        if step.passed != 0 && !(kind.is_symlink() && self.leads_back(&path)) {
            states |= step.passed;
        }
        if states & !self.end() != 0 {
            turn.new.push(Task { directory: path, states: states & !self.end() });
        }
    }

    fn step(&self, states: u64, name: &[u8]) -> Step {
        let hidden = name.starts_with(b".");
        let mut step = Step::default();
        for (index, part) in
            self.parts.iter().enumerate().filter(|(index, _)| states & bit(*index) != 0)
        {
            match part {
                Part::AnyDepth if !hidden => step.passed |= entered(&self.parts, index),
                Part::Name(pattern)
                    if (!hidden || pattern.begins_with_dot()) && pattern.matches(name) =>
                {
                    step.named |= entered(&self.parts, index + 1);
                }
                _ => {}
            }
        }
        step
    }

    /// Whether a link leads to a directory it lies in.
    fn leads_back(&self, link: &Path) -> bool {
        let identity =
            |path: &Path| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
        let target = identity(link);
        link.ancestors()
            .skip(1)
            .take_while(|ancestor| ancestor.starts_with(&self.start))
            .any(|ancestor| identity(ancestor) == target)
    }
}

fn plain(path: PathBuf) -> Found {
    Found { path, is_directory: false, metadata: None }
}

/// A path that says itself that it is a directory's.
fn directory(mut path: PathBuf) -> Found {
    path.push("");
    Found { path, is_directory: true, metadata: None }
}

/// Directories still to be looked in. Threads wait for one another's findings.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    tasks: Vec<Task>,
    /// Threads at work, which may still find more.
    working: usize,
}

/// A task taken, and what it leads to. Ends when dropped.
struct Turn<'a> {
    queue: &'a Queue,
    task: Task,
    new: Vec<Task>,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, mut tasks: Vec<Task>) {
        self.state().tasks.append(&mut tasks);
    }

    /// The next task; nothing when all are done, or the search shall end.
    fn next(&self, cancel: &Cancel) -> Option<Turn<'_>> {
        let mut state = self.state();
        loop {
            if cancel.is_set() {
                return None;
            }
            if let Some(task) = state.tasks.pop() {
                state.working += 1;
                return Some(Turn { queue: self, task, new: Vec::new() });
            }
            if state.working == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.tasks.append(&mut self.new);
        state.working -= 1;
        self.queue.changed.notify_all();
    }
}
