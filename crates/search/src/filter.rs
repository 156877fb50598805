//! What a search looks at and what it passes over.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use ignore::DirEntry;
use ignore::types::{FileTypeDef, Types, TypesBuilder};

use crate::error::{Argument, SearchError};
use crate::found::bytes;
use crate::pattern::{Name, Pattern, Scope, last_component};

/// Decides about each entry of a tree.
#[derive(Debug)]
pub(crate) struct Filter {
    /// Bytes of a path before the part that patterns see.
    root: usize,
    include: Option<Pattern>,
    exclude: Pattern,
    types: Option<Types>,
    hidden: bool,
    /// Names with a dot that a pattern asks for itself.
    asked_for: Vec<Name>,
    /// Entries passed over because of the dot in front of their name.
    passed_hidden: AtomicU64,
}

impl Filter {
    /// Below this root: what matches `include`, if given, and does not match `exclude`; names with a dot in front only
    /// if `hidden` or if `include` says so.
    pub(crate) fn new(
        root: &Path,
        include: Option<Pattern>,
        exclude: &[String],
        file_type: Option<&str>,
        hidden: bool,
    ) -> Result<Self, SearchError> {
        let root_bytes = bytes(root);
        let exclude = exclude.iter().map(|glob| below(root, glob));
        let exclude = Pattern::new(exclude, Scope::Entries)
            .map_err(|message| Argument::Exclude.refuse(message))?;
        Ok(Self {
            root: root_bytes.len() + usize::from(!root_bytes.ends_with(b"/")),
            asked_for: include.as_ref().map(Pattern::dotted_names).unwrap_or_default(),
            include,
            exclude,
            types: file_type.map(types).transpose()?,
            hidden,
            passed_hidden: AtomicU64::new(0),
        })
    }

    /// The part of a path that patterns see.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> &'a [u8] {
        bytes(path).get(self.root..).unwrap_or_default()
    }

    /// Whether to look at an entry: to take it if it is a file, to enter it if it is a directory.
    pub(crate) fn admits(&self, entry: &DirEntry) -> bool {
        let path = self.relative(entry.path());
        if self.excludes(path) {
            return false;
        }
        let name = last_component(path);
        if !self.hidden && name.starts_with(b".") && !self.asks_for(name) {
            self.passed_hidden.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        let included = self.include.as_ref().is_none_or(|include| {
            include.matches(path) || (is_directory && include.may_match_below(path))
        });
        included && (is_directory || self.is_of_type(name))
    }

    /// Whether a path is left out by name.
    pub(crate) fn excludes(&self, path: &[u8]) -> bool {
        self.exclude.matches(path)
    }

    /// Whether a path is what was asked for, not only on the way to it.
    pub(crate) fn includes(&self, path: &[u8]) -> bool {
        self.include.as_ref().is_none_or(|include| include.matches(path))
    }

    /// Entries passed over so far because of the dot in front of their name.
    pub(crate) fn passed_hidden(&self) -> u64 {
        self.passed_hidden.load(Ordering::Relaxed)
    }

    fn asks_for(&self, name: &[u8]) -> bool {
        self.asked_for.iter().any(|pattern| pattern.matches(name))
    }

    fn is_of_type(&self, name: &[u8]) -> bool {
        let name = Path::new(OsStr::from_bytes(name));
        self.types.as_ref().is_none_or(|types| !types.matched(name, false).is_ignore())
    }
}

/// A glob that was given as an absolute path below the root, as one that begins there.
pub(crate) fn below<'a>(root: &Path, glob: &'a str) -> &'a str {
    let root = root.to_str().map(|root| root.trim_end_matches('/'));
    match root.and_then(|root| glob.strip_prefix(root)) {
        Some(rest) if rest.starts_with('/') => rest,
        _ => glob,
    }
}

fn types(name: &str) -> Result<Types, SearchError> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    builder.select(name).build().map_err(|_| {
        let known = builder.definitions();
        let mut alike: Vec<_> = known.iter().map(FileTypeDef::name).collect();
        alike.sort_by_key(|known| Reverse(shared_beginning(known, name)));
        alike.truncate(12);
        Argument::FileType.refuse(format!(
            "{name:?} is no type of file known here; there are, among others, {}. Or give globs to include, such as *.py",
            alike.join(", ")
        ))
    })
}

fn shared_beginning(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}
