//! Going through a directory and those below it.

use std::collections::VecDeque;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use atoll_operation::Error;

use crate::file::desk::Interest;
use crate::file::fault::Attempt;

/// Entries looked at for each one that may be kept: a search for what is rare ends too.
const LOOKS_PER_ENTRY: usize = 20;

/// How far to go.
#[derive(Debug)]
pub(in crate::file) struct Walk {
    /// Levels; 1 is the directory itself.
    pub(in crate::file) depth: u64,
    /// Whether names that begin with a dot count.
    pub(in crate::file) hidden: bool,
    /// Entries to keep.
    pub(in crate::file) room: usize,
}

/// Something in a directory.
#[derive(Debug)]
pub(in crate::file) struct Entry {
    pub(in crate::file) path: PathBuf,
    pub(in crate::file) name: String,
    pub(in crate::file) is_link: bool,
    /// Of what a link leads to; of the link itself when it leads nowhere.
    pub(in crate::file) metadata: Metadata,
}

/// What was found, in no particular order.
#[derive(Debug, Default)]
pub(in crate::file) struct Found {
    pub(in crate::file) entries: Vec<Entry>,
    /// Whether there was more.
    pub(in crate::file) truncated: bool,
    /// Directories that could not be read.
    pub(in crate::file) unreadable: u64,
    pub(in crate::file) first_unreadable: Option<PathBuf>,
    /// Entries left out because of their names.
    pub(in crate::file) hidden: u64,
    /// Whether a name is not UTF-8 and shown with replacements.
    pub(in crate::file) lossy: bool,
}

impl Walk {
    /// Goes through `top`, level by level, keeping what is wanted. Links are never followed.
    pub(in crate::file) fn run(
        &self,
        attempt: Attempt<'_>,
        top: &Path,
        interest: &Interest,
        wanted: impl Fn(&Entry) -> bool,
    ) -> Result<Found, Error> {
        let mut found = Found::default();
        let mut waiting = VecDeque::from([(top.to_owned(), 1)]);
        let mut looks = self.room.saturating_mul(LOOKS_PER_ENTRY);
        while let Some((directory, level)) = waiting.pop_front() {
            let entries = match fs::read_dir(&directory) {
                Ok(entries) => entries,
                Err(error) if directory == top => return Err(attempt.failed(&error)),
                Err(_) => {
                    found.unreadable += 1;
                    found.first_unreadable.get_or_insert(directory);
                    continue;
                }
            };
            // What vanishes while we look was not there.
            for entry in entries.flatten() {
                interest.check()?;
                let name = entry.file_name();
                if !self.hidden && name.as_encoded_bytes().starts_with(b".") {
                    found.hidden += 1;
                    continue;
                }
                let Some(entry) = look(&entry) else { continue };
                if level < self.depth && entry.metadata.is_dir() && !entry.is_link {
                    waiting.push_back((entry.path.clone(), level + 1));
                }
                let wanted = wanted(&entry);
                looks = looks.saturating_sub(1);
                if looks == 0 || wanted && found.entries.len() >= self.room {
                    found.truncated = true;
                    return Ok(found);
                }
                if wanted {
                    found.lossy |= name.to_str().is_none();
                    found.entries.push(entry);
                }
            }
        }
        Ok(found)
    }
}

fn look(entry: &fs::DirEntry) -> Option<Entry> {
    let itself = entry.metadata().ok()?;
    let path = entry.path();
    let is_link = itself.is_symlink();
    let metadata = if is_link { fs::metadata(&path).unwrap_or(itself) } else { itself };
    Some(Entry { path, name: entry.file_name().to_string_lossy().into_owned(), is_link, metadata })
}
