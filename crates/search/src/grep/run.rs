//! Files searched in order by several threads, until enough is known.
//!
//! Threads take blocks of files in turn and may finish them in any order; results count only once all blocks before them
//! are in. What is known by then tells threads how much they still need to look for. A file that was only counted,
//! because it was not yet known whether its matches are among those asked for, is searched again at the end.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use grep_regex::RegexMatcher;

use super::file::{FileSearch, Searched};
use super::take::{Shared, Take, Want, WhenFull};
use super::{FileMatches, GrepOutcome, GrepQuery, LineMatch, PassedOver};
use crate::cancel::{Cancel, Interruption};
use crate::found::Found;
use crate::parallel::{threads, together};

/// Files a thread takes at once.
const LARGEST_BLOCK: usize = 32;

/// Time to fetch what was already counted when the time for the search is over.
const GRACE: Duration = Duration::from_secs(1);

/// One search in progress.
pub(super) struct Run<'a> {
    shared: Shared<'a>,
    matcher: &'a RegexMatcher,
    tally: Tally,
    interrupted: Option<Interruption>,
}

impl<'a> Run<'a> {
    pub(super) fn new(query: &'a GrepQuery, matcher: &'a RegexMatcher, cancel: &'a Cancel) -> Self {
        let done = AtomicBool::new(false);
        let shared = Shared { query, cancel, done, held: AtomicUsize::new(0) };
        Self { shared, matcher, tally: Tally::default(), interrupted: None }
    }

    /// Searches files that follow, in order, those searched before.
    pub(super) fn search(&mut self, files: &[Found]) {
        let threads = threads().min(files.len());
        let sequence = Sequence {
            shared: &self.shared,
            files,
            block: (files.len() / (threads.max(1) * 8)).clamp(1, LARGEST_BLOCK),
            next: AtomicUsize::new(0),
            found: AtomicU64::new(self.tally.found),
            results: Mutex::new(Results {
                tally: mem::take(&mut self.tally),
                ..Results::default()
            }),
        };
        together(threads, &|| sequence.work(self.matcher));
        self.tally = sequence.results.into_inner().unwrap_or_else(PoisonError::into_inner).tally;
        if let Some(interruption) = self.shared.cancel.interruption()
            && !self.tally.is_enough(self.shared.query)
        {
            self.interrupt(interruption);
        }
    }

    /// Remembers that the search is not complete.
    pub(super) fn interrupt(&mut self, interruption: Interruption) {
        self.interrupted = Some(interruption);
    }

    /// Whether there is no use in more files.
    pub(super) fn is_over(&self) -> bool {
        self.interrupted.is_some() || self.tally.is_enough(self.shared.query)
    }

    pub(super) fn count_unreadable(&mut self, entries: u64) {
        self.tally.passed_over.unreadable += entries;
    }

    /// Puts the answer together.
    pub(super) fn finish(self) -> GrepOutcome {
        let query = self.shared.query;
        let cancel = self.shared.cancel.with_at_least(GRACE);
        let mut truncated = self.tally.is_enough(query);
        let (mut files, mut bytes) = (Vec::new(), 0);
        for hit in self.tally.hits {
            let (mut matches, more) = match hit.matches {
                Some(matches) => (matches, false),
                None => search_again(query, &cancel, self.matcher, &hit),
            };
            let fitting = fitting(&matches, &mut bytes, query.max_bytes, files.is_empty());
            let cut = more || fitting < matches.len();
            matches.truncate(fitting);
            if !matches.is_empty() {
                files.push(FileMatches { path: hit.path, matches });
            }
            if cut {
                truncated = true;
                break;
            }
        }
        GrepOutcome {
            files,
            truncated,
            searched: self.tally.searched,
            passed_over: self.tally.passed_over,
            interrupted: self.interrupted,
        }
    }
}

/// How many matches still fit into the answer; the first of all does in any case.
fn fitting(matches: &[LineMatch], bytes: &mut usize, most: usize, first: bool) -> usize {
    let fits = |(index, one): &(usize, &LineMatch)| {
        *bytes += one.bytes();
        *bytes <= most || (first && *index == 0)
    };
    matches.iter().enumerate().take_while(fits).count()
}

/// Fetches matches that were only counted, and tells whether there was no room for all of them.
fn search_again(
    query: &GrepQuery,
    cancel: &Cancel,
    matcher: &RegexMatcher,
    hit: &Hit,
) -> (Vec<LineMatch>, bool) {
    let done = AtomicBool::new(false);
    let shared = Shared { query, cancel, done, held: AtomicUsize::new(0) };
    let want = Want {
        skip: hit.range.start,
        keep: hit.range.end - hit.range.start,
        stop: hit.range.end,
        when_full: WhenFull::Stop,
    };
    let Take { kept, full, .. } = FileSearch::new(&shared, matcher).search(&hit.path, want).1;
    let more = full && (kept.len() as u64) < want.keep;
    (kept, more)
}

/// What is known about the files up to some point of the order.
#[derive(Debug, Default)]
struct Tally {
    /// Matches.
    found: u64,
    /// Files with matches asked for.
    hits: Vec<Hit>,
    /// Bytes of text in them.
    bytes: usize,
    /// Files searched.
    searched: u64,
    passed_over: PassedOver,
}

/// A file with matches asked for.
#[derive(Debug)]
struct Hit {
    path: PathBuf,
    /// Which of its matches.
    range: Range<u64>,
    /// The matches, unless they were only counted.
    matches: Option<Vec<LineMatch>>,
}

/// What a thread found out about one file with matches.
#[derive(Debug)]
struct Counted {
    file: usize,
    count: u64,
    /// Number of the first match kept.
    first: u64,
    kept: Vec<LineMatch>,
}

impl Tally {
    /// Whether more than the matches asked for are known, or as many as an answer carries.
    fn is_enough(&self, query: &GrepQuery) -> bool {
        self.found > query.end() || self.bytes > query.max_bytes
    }

    /// Adds the file that comes next.
    fn add(&mut self, query: &GrepQuery, files: &[Found], mut counted: Counted) {
        let start = query.offset.saturating_sub(self.found).min(counted.count);
        let end = query.end().saturating_sub(self.found).min(counted.count);
        self.found += counted.count;
        if start >= end {
            return;
        }
        let kept = counted.first..counted.first + counted.kept.len() as u64;
        let matches = (kept.start <= start && end <= kept.end).then(|| {
            counted.kept.truncate(index(end - kept.start));
            counted.kept.drain(..index(start - kept.start));
            counted.kept
        });
        self.bytes += matches.iter().flatten().map(LineMatch::bytes).sum::<usize>();
        let path = files[counted.file].path.clone();
        self.hits.push(Hit { path, range: start..end, matches });
    }
}

/// A number of matches that are in memory.
fn index(matches: u64) -> usize {
    usize::try_from(matches).unwrap_or(usize::MAX)
}

impl GrepQuery {
    /// The number of the first match that is no longer asked for.
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.max_results)
    }
}

impl LineMatch {
    fn bytes(&self) -> usize {
        let context = self.before.iter().chain(&self.after).map(String::len).sum::<usize>();
        self.text.len() + context
    }
}

/// Files in order, and what is known about them.
struct Sequence<'a> {
    shared: &'a Shared<'a>,
    files: &'a [Found],
    /// Files in a block.
    block: usize,
    /// The next block to search.
    next: AtomicUsize,
    /// Matches known to come before any file not yet searched.
    found: AtomicU64,
    results: Mutex<Results>,
}

#[derive(Debug, Default)]
struct Results {
    /// Blocks that are in the tally.
    complete: usize,
    /// Blocks that wait for one before them.
    waiting: BTreeMap<usize, Vec<Counted>>,
    tally: Tally,
}

impl Sequence<'_> {
    /// Searches blocks until none is left or enough is known.
    fn work(&self, matcher: &RegexMatcher) {
        // Threads that share a matcher would wait for one another.
        let matcher = matcher.clone();
        let mut search = FileSearch::new(self.shared, &matcher);
        while !self.shared.is_over() {
            let block = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(start) =
                block.checked_mul(self.block).filter(|start| *start < self.files.len())
            else {
                return;
            };
            let end = (start + self.block).min(self.files.len());
            self.search_block(block, start..end, &mut search);
        }
    }

    fn search_block(&self, block: usize, files: Range<usize>, search: &mut FileSearch<'_>) {
        let (mut searched, mut passed_over) = (0, PassedOver::default());
        let mut counted = Vec::new();
        for file in files {
            if self.shared.is_over() {
                break;
            }
            let want = self.want();
            let (outcome, take) = search.search(&self.files[file].path, want);
            match outcome {
                Searched::Done => searched += 1,
                Searched::TooLarge => passed_over.too_large += 1,
                Searched::Unreadable => passed_over.unreadable += 1,
                Searched::Gone => {}
            }
            passed_over.binary += u64::from(take.binary);
            let Take { count, kept, .. } = take;
            if count > 0 {
                counted.push(Counted { file, count, first: want.skip, kept });
            }
        }
        let mut results = self.results();
        results.tally.searched += searched;
        results.tally.passed_over.add(passed_over);
        results.waiting.insert(block, counted);
        self.settle(&mut results);
    }

    /// Adds the blocks whose turn it is.
    fn settle(&self, results: &mut Results) {
        while let Some(counted) = results.waiting.remove(&results.complete) {
            results.complete += 1;
            for counted in counted {
                if results.tally.is_enough(self.shared.query) {
                    break;
                }
                results.tally.add(self.shared.query, self.files, counted);
            }
        }
        self.found.store(results.tally.found, Ordering::Relaxed);
        if results.tally.is_enough(self.shared.query) {
            self.shared.done.store(true, Ordering::Relaxed);
        }
    }

    fn results(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to look for in the next file, given what is known about those before it: at least so many matches.
    fn want(&self) -> Want {
        let query = self.shared.query;
        let found = self.found.load(Ordering::Relaxed);
        let skip = query.offset.saturating_sub(found);
        let (skip, keep) = match skip {
            0 => (0, query.end().saturating_sub(found)),
            _ if self.files.len() == 1 => (skip, query.max_results),
            // Matches of files that are still being searched may come before, so nobody knows which to keep.
            _ => (0, 0),
        };
        let stop = query.end().saturating_sub(found).saturating_add(1);
        Want { skip, keep, stop, when_full: WhenFull::Count }
    }
}

impl PassedOver {
    fn add(&mut self, other: Self) {
        self.hidden += other.hidden;
        self.too_large += other.too_large;
        self.binary += other.binary;
        self.unreadable += other.unreadable;
    }
}
