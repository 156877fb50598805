//! Searching the content of files, as ripgrep does and with its parts.
//!
//! The answer comes by path and line, so that a caller can page through it: first the tree is walked and the files are put
//! in order, then they are searched in that order by several threads, until enough is known.

mod expression;
mod file;
mod lines;
mod run;
mod take;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use ignore::DirEntry;

use crate::cancel::{Cancel, Interruption};
use crate::error::{Argument, SearchError};
use crate::filter::{Filter, below};
use crate::found::{Found, Metadata, Order};
use crate::pattern::{Pattern, Scope};
use crate::selection::Selection;
use crate::walk::Walk;
use run::Run;

/// Files put in order at once. A larger tree is walked again for the files that follow.
const WINDOW: usize = 1 << 19;

/// What to search for, and where.
#[derive(Debug, Clone)]
pub struct GrepQuery {
    /// Directory or file to search.
    pub root: PathBuf,
    /// The expression.
    pub pattern: String,
    /// Whether the expression is taken literally.
    pub fixed_strings: bool,
    /// Whether upper and lower case are the same.
    pub case_insensitive: bool,
    /// Whether a match may span lines; `.` then matches line breaks too.
    pub multiline: bool,
    /// Globs of which a file must match one, if there are any.
    pub include: Vec<String>,
    /// Names or globs of what to leave out, with everything below.
    pub exclude: Vec<String>,
    /// A type of files by ripgrep's name for it.
    pub file_type: Option<String>,
    /// Whether to go into directories.
    pub recursive: bool,
    /// Whether to search names with a dot in front everywhere, not only where a glob to include has the dot too.
    pub hidden: bool,
    /// Whether to leave out what `.gitignore` and `.ignore` files name.
    pub gitignore: bool,
    /// Lines to show before each match.
    pub context_before: usize,
    /// Lines to show after each match.
    pub context_after: usize,
    /// Matches to skip.
    pub offset: u64,
    /// Matches to return at most.
    pub max_results: u64,
    /// Bytes of text to return at most; one match is returned in any case.
    pub max_bytes: usize,
    /// Size over which files are passed over.
    pub max_file_size: u64,
    /// Characters of a line to return at most.
    pub max_line_length: usize,
    /// The order of the files.
    pub order: Order,
}

/// What matched.
#[derive(Debug, Clone)]
pub struct GrepOutcome {
    /// The files with the matches asked for, in order.
    pub files: Vec<FileMatches>,
    /// Whether there are more matches.
    pub truncated: bool,
    /// Files searched.
    pub searched: u64,
    /// What was not searched.
    pub passed_over: PassedOver,
    /// Why the search is not complete, if it is not.
    pub interrupted: Option<Interruption>,
}

/// Matches in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// The file: the path searched, continued.
    pub path: PathBuf,
    /// The matches by line.
    pub matches: Vec<LineMatch>,
}

/// A line that matched, or the lines of a match that spans several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMatch {
    /// Number of the line, from 1; of the first one.
    pub line: u64,
    /// The line without its line break, cut to the length asked for.
    pub text: String,
    /// Lines before it.
    pub before: Vec<String>,
    /// Lines after it.
    pub after: Vec<String>,
}

/// How many entries were not searched, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassedOver {
    /// For the dot in front of their name.
    pub hidden: u64,
    /// For their size.
    pub too_large: u64,
    /// Because they hold no text.
    pub binary: u64,
    /// Because they could not be read.
    pub unreadable: u64,
}

/// Searches files.
pub fn grep(query: &GrepQuery, cancel: &Cancel) -> Result<GrepOutcome, SearchError> {
    grep_in_windows(query, cancel, WINDOW)
}

fn grep_in_windows(
    query: &GrepQuery,
    cancel: &Cancel,
    window: usize,
) -> Result<GrepOutcome, SearchError> {
    let matcher = expression::compile(query)?;
    let filter = filter(query)?;
    let root = fs::metadata(&query.root)?;
    let mut run = Run::new(query, &matcher, cancel);
    if root.is_file() {
        let path = query.root.clone();
        run.search(&[Found { path, is_directory: false, metadata: None }]);
    } else if root.is_dir() {
        drop(fs::read_dir(&query.root)?);
        search_tree(query, cancel, &filter, &mut run, window);
    } else {
        return Err(SearchError::Special);
    }
    let mut outcome = run.finish();
    outcome.passed_over.hidden = filter.passed_hidden();
    Ok(outcome)
}

fn filter(query: &GrepQuery) -> Result<Arc<Filter>, SearchError> {
    let globs = query.include.iter().map(|glob| below(&query.root, glob));
    let include =
        Pattern::new(globs, Scope::Files).map_err(|message| Argument::Include.refuse(message))?;
    let include = (!query.include.is_empty()).then_some(include);
    let file_type = query.file_type.as_deref();
    Filter::new(&query.root, include, &query.exclude, file_type, query.hidden).map(Arc::new)
}

fn search_tree(
    query: &GrepQuery,
    cancel: &Cancel,
    filter: &Arc<Filter>,
    run: &mut Run<'_>,
    window: usize,
) {
    let walk = Walk {
        start: query.root.clone(),
        depth: (!query.recursive).then_some(1),
        gitignore: query.gitignore,
        filter: Arc::clone(filter),
    };
    let mut after = None;
    loop {
        let selection = Selection::new(query.order, window, after);
        // Whatever the walk finds in time shall still be searched.
        let walk_time = cancel.with_share(3, 4);
        let unreadable = walk.run(&walk_time, &selection, &|entry| pick(query, entry));
        if let Some(interruption) = walk_time.interruption() {
            run.interrupt(interruption);
        }
        let (files, total) = selection.finish();
        run.search(&files);
        if run.is_over() || total == files.len() as u64 {
            run.count_unreadable(unreadable);
            return;
        }
        after = files.into_iter().next_back();
    }
}

fn pick(query: &GrepQuery, entry: DirEntry) -> Option<Found> {
    if !entry.file_type()?.is_file() {
        return None;
    }
    let path = entry.into_path();
    let metadata = if query.order.needs_metadata() { Metadata::read(&path) } else { None };
    Some(Found { path, is_directory: false, metadata })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::Sort;

    #[test]
    fn a_tree_too_large_for_one_window_is_searched_in_order_all_the_same() {
        let tree = tempfile::tempdir().unwrap();
        for number in 0..40 {
            let directory = tree.path().join(format!("{}", number % 3));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(format!("{number:02}")), "needle\n".repeat(number % 4))
                .unwrap();
        }
        for by in [Sort::Path, Sort::Modified] {
            let query = GrepQuery {
                root: tree.path().to_owned(),
                pattern: "needle".to_owned(),
                fixed_strings: false,
                case_insensitive: false,
                multiline: false,
                include: Vec::new(),
                exclude: Vec::new(),
                file_type: None,
                recursive: true,
                hidden: false,
                gitignore: false,
                context_before: 0,
                context_after: 0,
                offset: 5,
                max_results: 50,
                max_bytes: 1 << 20,
                max_file_size: 1 << 20,
                max_line_length: 100,
                order: Order { by, descending: true },
            };
            let at_once = grep(&query, &Cancel::new()).unwrap();
            assert_eq!(at_once.files.iter().map(|file| file.matches.len()).sum::<usize>(), 50);
            for window in [1, 3, 7, 40] {
                let outcome = grep_in_windows(&query, &Cancel::new(), window).unwrap();
                assert_eq!(outcome.files, at_once.files, "{window}");
                assert_eq!(outcome.truncated, at_once.truncated, "{window}");
            }
        }
    }
}
