//! One file: opened without waiting for anything, read within bounds, searched.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::take::{Shared, Take, Want};
use crate::parallel::threads;

/// Files up to this size are read at once, larger ones in pieces of it.
const PIECE: usize = 64 << 10;

/// Memory that all threads may use for a file they must see as a whole: one long line, or matches over several.
const MEMORY: usize = 256 << 20;

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Searched {
    /// All of it, or as much as was needed.
    Done,
    /// It is larger than asked for, or than memory allows.
    TooLarge,
    /// The system refuses to read it.
    Unreadable,
    /// It is gone, or no longer a file.
    Gone,
}

/// Searches one file after another, on one thread.
pub(super) struct FileSearch<'a> {
    shared: &'a Shared<'a>,
    matcher: &'a RegexMatcher,
    searcher: Searcher,
    piece: Box<[u8]>,
    memory: u64,
}

impl<'a> FileSearch<'a> {
    pub(super) fn new(shared: &'a Shared<'a>, matcher: &'a RegexMatcher) -> Self {
        let query = shared.query;
        let memory = MEMORY / threads();
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .before_context(query.context_before)
            .after_context(query.context_after)
            .multi_line(query.multiline)
            .heap_limit(Some(memory))
            .binary_detection(BinaryDetection::quit(0))
            .build();
        let piece = vec![0; PIECE].into_boxed_slice();
        Self { shared, matcher, searcher, piece, memory: memory as u64 }
    }

    /// Searches a file. What was found before trouble came stays found.
    pub(super) fn search(&mut self, path: &Path, want: Want) -> (Searched, Take<'a>) {
        let mut take = Take::new(self.shared, self.matcher, want);
        let searched = match self.feed(path, &mut take) {
            Ok(searched) => searched,
            Err(_) if self.shared.is_over() => Searched::Done,
            Err(error) => match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::NOENT | Errno::LOOP) => Searched::Gone,
                Some(_) => Searched::Unreadable,
                // The one thing the searcher itself objects to is a line longer than its memory.
                None => Searched::TooLarge,
            },
        };
        (searched, take)
    }

    fn feed(&mut self, path: &Path, take: &mut Take<'a>) -> io::Result<Searched> {
        let query = self.shared.query;
        let mut file = open(path, path.as_os_str() == query.root.as_os_str())?;
        let metadata = file.metadata()?;
        let size = metadata.len();
        if !metadata.is_file() {
            return Ok(Searched::Gone);
        }
        if size > query.max_file_size || (query.multiline && size > self.memory) {
            return Ok(Searched::TooLarge);
        }
        let Some(piece) = usize::try_from(size).ok().and_then(|size| self.piece.get_mut(..size))
        else {
            let rest = Rest { file, left: query.max_file_size, shared: self.shared };
            self.searcher.search_reader(self.matcher, rest, take)?;
            return Ok(Searched::Done);
        };
        if size > 0 {
            let length = fill(&mut file, piece)?;
            self.searcher.search_slice(self.matcher, &piece[..length], take)?;
            return Ok(Searched::Done);
        }
        // Files the kernel makes up say that they are empty, whatever they hold.
        let length = file.read(&mut self.piece)?;
        if length > 0 {
            let left = query.max_file_size.saturating_sub(length as u64);
            let rest = Rest { file, left, shared: self.shared };
            let whole = self.piece[..length].chain(rest);
            self.searcher.search_reader(self.matcher, whole, take)?;
        }
        Ok(Searched::Done)
    }
}

/// Opens a file for reading. What turns out to be a pipe or a device meanwhile cannot make this wait.
fn open(path: &Path, follow: bool) -> io::Result<File> {
    let link = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | link;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Reads until the piece is full or the file ends.
fn fill(file: &mut File, piece: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < piece.len() {
        match file.read(&mut piece[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// The rest of a file, up to the size asked for, as long as the search goes on.
struct Rest<'a> {
    file: File,
    left: u64,
    shared: &'a Shared<'a>,
}

impl Read for Rest<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.shared.is_over() {
            return Err(io::Error::other("the search is over"));
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read(&mut buffer[..most])?;
        self.left -= read as u64;
        Ok(read)
    }
}
