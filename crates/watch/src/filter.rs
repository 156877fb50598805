//! Which files are told of.
//!
//! A pattern without `/` is compared with a file's name at any depth, one with `/` with its path from the watched
//! directory on. A directory that is left out is not watched; one that is merely not asked for is, since what lies in
//! it may be.

use std::path::Path;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::error::{Error, PatternList};
use crate::watcher::Unfinished;

/// Patterns one list may hold: matching costs memory and time for each.
const MOST_PATTERNS: usize = 256;
/// Bytes one pattern may have.
const LONGEST_PATTERN: usize = 1024;

/// What to leave out and what to restrict to.
#[derive(Debug)]
pub(crate) struct Filter {
    exclude: Patterns,
    include: Option<Patterns>,
    unfinished: Unfinished,
}

#[derive(Debug)]
struct Patterns {
    names: GlobSet,
    paths: GlobSet,
}

impl Filter {
    /// `root` is taken off patterns that begin with it.
    pub(crate) fn new(
        root: &Path,
        exclude: &[String],
        include: &[String],
        unfinished: Unfinished,
    ) -> Result<Self, Error> {
        Ok(Self {
            exclude: Patterns::new(root, PatternList::Exclude, exclude)?,
            include: (!include.is_empty())
                .then(|| Patterns::new(root, PatternList::Include, include))
                .transpose()?,
            unfinished,
        })
    }

    /// Whether a file is left out, and everything below it.
    pub(crate) fn excludes(&self, relative: &Path) -> bool {
        begins(relative, self.unfinished.any) || self.exclude.matches(relative)
    }

    /// Whether a file is about to take another one's place.
    pub(crate) fn replaces(&self, relative: &Path) -> bool {
        begins(relative, self.unfinished.replacing)
    }

    /// Whether a file that is not left out is told of.
    pub(crate) fn includes(&self, relative: &Path) -> bool {
        self.include.as_ref().is_none_or(|patterns| patterns.matches(relative))
    }

    /// Whether a file is told of.
    pub(crate) fn shows(&self, relative: &Path) -> bool {
        !self.excludes(relative) && self.includes(relative)
    }

    /// Whether moving a directory can change what is left out below it.
    pub(crate) fn depends_on_place(&self) -> bool {
        !self.exclude.paths.is_empty()
    }
}

fn begins(relative: &Path, prefix: &str) -> bool {
    relative.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
}

impl Patterns {
    fn new(root: &Path, list: PatternList, patterns: &[String]) -> Result<Self, Error> {
        let fault = |pattern: &str, reason: String| Error::Pattern {
            list,
            pattern: pattern.to_owned(),
            reason,
        };
        if patterns.len() > MOST_PATTERNS {
            let reason =
                format!("{} patterns are too many, use at most {MOST_PATTERNS}", patterns.len());
            return Err(fault("…", reason));
        }
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for given in patterns {
            if given.len() > LONGEST_PATTERN {
                let start: String = given.chars().take(20).collect();
                let reason = format!("a pattern may have {LONGEST_PATTERN} bytes");
                return Err(fault(&format!("{start}…"), reason));
            }
            let pattern = trim(root, given);
            if pattern.is_empty() {
                return Err(fault(given, "an empty pattern matches nothing".to_owned()));
            }
            let glob =
                |text: &str| compile(text).map_err(|error| fault(given, error.kind().to_string()));
            if pattern.contains('/') {
                paths.add(glob(pattern)?);
                // Whoever leaves out all that lies in a directory has no use for watching it.
                if list == PatternList::Exclude
                    && let Some(directory) = pattern.strip_suffix("/**")
                    && !directory.is_empty()
                    && directory != "**"
                {
                    paths.add(glob(directory)?);
                }
            } else {
                names.add(glob(pattern)?);
            }
        }
        let build = |set: &GlobSetBuilder| {
            set.build().map_err(|error| {
                fault(error.glob().unwrap_or("all patterns together"), error.kind().to_string())
            })
        };
        Ok(Self { names: build(&names)?, paths: build(&paths)? })
    }

    fn matches(&self, relative: &Path) -> bool {
        let Some(name) = relative.file_name() else {
            return false;
        };
        self.names.is_match(Path::new(name))
            || (!self.paths.is_empty() && self.paths.is_match(relative))
    }
}

/// The pattern from the watched directory on, without what does not matter: `./` before, `/` after.
fn trim<'a>(root: &Path, pattern: &'a str) -> &'a str {
    let pattern = pattern.trim_start_matches("./");
    let below = root
        .to_str()
        .and_then(|root| pattern.strip_prefix(root))
        .and_then(|rest| rest.strip_prefix('/'));
    let pattern = below.unwrap_or(pattern);
    pattern.strip_suffix('/').unwrap_or(pattern)
}

fn compile(pattern: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(pattern).literal_separator(true).build()
}

#[cfg(test)]
mod tests {
    const UNFINISHED: Unfinished = Unfinished { any: ".part-", replacing: ".part-over-" };

    use super::*;

    fn filter(exclude: &[&str], include: &[&str]) -> Filter {
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Filter::new(Path::new("/root/dir"), &owned(exclude), &owned(include), UNFINISHED).unwrap()
    }

    #[test]
    fn names_match_at_any_depth_and_paths_from_the_watched_directory_on() {
        let filter = filter(
            &["node_modules", "*.pyc", "build/out", "./tmp/", "/root/dir/abs/x", "**/deep/**"],
            &[],
        );
        for (path, excluded) in [
            ("node_modules", true),
            ("a/b/node_modules", true),
            ("a/x.pyc", true),
            ("a/x.py", false),
            ("build/out", true),
            ("a/build/out", false),
            ("build", false),
            ("tmp", true),
            ("a/tmp", true),
            ("abs/x", true),
            ("deep", true),
            ("a/deep", true),
            ("a/deep/x", true),
            ("deeper", false),
        ] {
            assert_eq!(filter.excludes(Path::new(path)), excluded, "{path}");
        }
    }

    #[test]
    fn only_what_is_asked_for_is_shown() {
        let filter = filter(&["skip.py"], &["*.py", "docs/**/*.md"]);
        for (path, shown) in [
            ("a.py", true),
            ("x/a.py", true),
            ("skip.py", false),
            ("a.md", false),
            ("docs/a.md", true),
            ("docs/x/y/a.md", true),
            ("docs", false),
        ] {
            assert_eq!(filter.shows(Path::new(path)), shown, "{path}");
        }
    }

    #[test]
    fn a_pattern_that_cannot_be_understood_is_named() {
        let root = Path::new("/");
        let many = vec!["x".to_owned(); MOST_PATTERNS + 1];
        for patterns in [vec!["[a".to_owned()], vec!["x".repeat(2000)], vec![String::new()], many] {
            let error = Filter::new(root, &patterns, &[], UNFINISHED).unwrap_err();
            assert!(matches!(error, Error::Pattern { list: PatternList::Exclude, .. }), "{error}");
            let error = Filter::new(root, &[], &patterns, UNFINISHED).unwrap_err();
            assert!(matches!(error, Error::Pattern { list: PatternList::Include, .. }), "{error}");
        }
    }
}
