//! Finding paths by a glob from a directory, with sizes, times and any order.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::DirEntry;

use crate::cancel::{Cancel, Interruption};
use crate::error::{Argument, SearchError};
use crate::filter::{Filter, below};
use crate::found::{Found, Metadata, Order};
use crate::parallel::{threads, together};
use crate::pattern::{Pattern, Scope};
use crate::selection::Selection;
use crate::walk::Walk;

/// Entries a thread looks at in one go.
const SHARE: usize = 256;

/// What to find.
#[derive(Debug, Clone)]
pub struct GlobQuery {
    /// Directory to look in.
    pub root: PathBuf,
    /// Glob relative to it: `*.py` is a file in it, `**/*.py` one at any depth.
    pub pattern: String,
    /// Names or globs of what to leave out, with everything below.
    pub exclude: Vec<String>,
    /// Whether names with a dot in front match everywhere, not only where the pattern has the dot too.
    pub hidden: bool,
    /// Whether to leave out what `.gitignore` and `.ignore` files name.
    pub gitignore: bool,
    /// Whether only files are wanted: ordinary ones, and links to such.
    pub files_only: bool,
    /// Whether sizes and times are wanted.
    pub metadata: bool,
    /// The order of the answer.
    pub order: Order,
    /// Entries to return at most.
    pub max_results: usize,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct GlobOutcome {
    /// The first entries, in the order asked for.
    pub entries: Vec<Found>,
    /// How many entries match.
    pub total: u64,
    /// Entries passed over because of the dot in front of their name.
    pub hidden: u64,
    /// Entries that could not be read.
    pub unreadable: u64,
    /// Why the search is not complete, if it is not.
    pub interrupted: Option<Interruption>,
}

/// Finds paths.
pub fn glob(query: &GlobQuery, cancel: &Cancel) -> Result<GlobOutcome, SearchError> {
    let pattern = pattern(query)?;
    let directories = pattern.common_directories().into_iter().map(<[u8]>::to_vec).collect();
    let depth = pattern.depth();
    let filter =
        Arc::new(Filter::new(&query.root, Some(pattern), &query.exclude, None, query.hidden)?);
    drop(fs::read_dir(&query.root)?);

    let selection = Selection::new(query.order, query.max_results, None);
    let mut unreadable = 0;
    if let Some((start, skipped)) = start(query, &filter, directories) {
        let depth = depth.map(|depth| depth - skipped);
        let walk = Walk { start, depth, gitignore: query.gitignore, filter: Arc::clone(&filter) };
        unreadable = walk.run(cancel, &selection, &|entry| pick(query, &filter, entry));
    }
    let interrupted = cancel.interruption();
    let (mut entries, total) = selection.finish();
    if query.metadata && !query.order.needs_metadata() {
        look_at(&mut entries, cancel);
    }
    Ok(GlobOutcome { entries, total, hidden: filter.passed_hidden(), unreadable, interrupted })
}

fn pattern(query: &GlobQuery) -> Result<Pattern, SearchError> {
    let refuse = |message: String| Argument::Pattern.refuse(message);
    let glob = below(&query.root, &query.pattern);
    if query.pattern.starts_with('/') && glob == query.pattern && query.root != Path::new("/") {
        return Err(refuse(format!(
            "{glob:?} does not lie below {}; give a pattern relative to it",
            query.root.display()
        )));
    }
    if query.files_only && glob.ends_with('/') {
        return Err(refuse(format!(
            "{glob:?} ends in a slash, so it names directories, but only files are asked for"
        )));
    }
    Pattern::new([glob], Scope::Path).map_err(refuse)
}

/// Where to begin: as far down as the pattern says by name, and how far that is. Nothing when there is no such
/// directory, or it is left out. Ignore files above decide about each directory on the way, so then all are walked.
fn start(
    query: &GlobQuery,
    filter: &Filter,
    directories: Vec<Vec<u8>>,
) -> Option<(PathBuf, usize)> {
    if query.gitignore || directories.is_empty() {
        return Some((query.root.clone(), 0));
    }
    let skipped = directories.len();
    let mut start = query.root.clone();
    for directory in directories {
        start.push(OsStr::from_bytes(&directory));
        if filter.excludes(filter.relative(&start)) {
            return None;
        }
    }
    start.is_dir().then_some((start, skipped))
}

fn pick(query: &GlobQuery, filter: &Filter, entry: DirEntry) -> Option<Found> {
    let kind = entry.file_type()?;
    let (is_directory, is_file) = if kind.is_symlink() {
        fs::metadata(entry.path())
            .map_or((false, false), |target| (target.is_dir(), target.is_file()))
    } else {
        (kind.is_dir(), kind.is_file())
    };
    let wanted =
        if query.files_only { is_file } else { is_directory || !query.pattern.ends_with('/') };
    if !wanted || !filter.includes(filter.relative(entry.path())) {
        return None;
    }
    let path = entry.into_path();
    let metadata = if query.order.needs_metadata() { Metadata::read(&path) } else { None };
    Some(Found { path, is_directory, metadata })
}

/// Fetches sizes and times of what will be returned.
fn look_at(entries: &mut [Found], cancel: &Cancel) {
    let count = entries.len().div_ceil(SHARE).min(threads());
    let shares = Mutex::new(entries.chunks_mut(SHARE));
    let next = || shares.lock().unwrap_or_else(PoisonError::into_inner).next();
    together(count, &|| {
        while let Some(share) = next() {
            // When only the time ran out, what was found is still worth a complete answer.
            if cancel.interruption() == Some(Interruption::Cancelled) {
                return;
            }
            for found in share {
                found.metadata = Metadata::read(&found.path);
            }
        }
    });
}
