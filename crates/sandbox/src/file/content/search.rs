//! Searching in one file, line by line.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use atoll_api::file::{FileSearchResult, SearchInFile};
use atoll_operation::{Context, Error, Handle};
use memchr::memchr;
use regex::bytes::{Regex, RegexBuilder};

use super::lines::BUFFER;
use super::open::Source;
use super::text::refuse_foreign;
use crate::file::desk::{Desk, Interest, length};
use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::Files;
use crate::file::sudo::{Privileged, Task};

/// Memory a compiled expression may take, and the cache it works with.
const EXPRESSION_BYTES: usize = 8 << 20;
/// Brackets within brackets; deeper ones could exhaust the stack.
const NESTING: u32 = 100;

impl Handle<SearchInFile> for Files {
    async fn handle(&self, cx: &Context, input: SearchInFile) -> Result<FileSearchResult, Error> {
        self.carry_out(cx, input).await
    }
}

impl Privileged for SearchInFile {
    const NAME: &'static str = "search";
    const CHANGES: bool = false;

    fn sudo(&self) -> bool {
        self.sudo
    }

    fn file(&mut self) -> &mut String {
        &mut self.file
    }

    fn check(&self) -> Result<(), Error> {
        compile(&self.regex).map(drop)
    }

    fn task(self) -> Task {
        Task::Search(self)
    }

    fn run(self, desk: &Desk, path: &Path) -> Result<FileSearchResult, Error> {
        let attempt = Attempt::new(Self::NAME, path);
        let expression = compile(&self.regex)?;
        let source = Source::open(attempt, path)?;
        let mut search = Search {
            lines: Lines::new(BufReader::with_capacity(BUFFER, source.file), desk),
            found: Found::new(desk),
        };
        let start = search.lines.source.fill_buf().map_err(|error| attempt.failed(&error))?;
        refuse_foreign(attempt, start)?;
        search.run(attempt, &expression, desk)?;
        let Found { matches, line_numbers, full, .. } = search.found;
        let mut hints = Vec::new();
        if full {
            let count = matches.len();
            hints.push(format!("there is more than these {count} matches; use a narrower regex"));
        }
        if search.lines.cut {
            let longest = search.lines.longest;
            hints.push(format!("only the first {longest} bytes of each line were searched"));
        }
        if !hints.is_empty() {
            desk.cx.hint(hints.join("; "));
        }
        let truncated = full || search.lines.cut;
        Ok(FileSearchResult { file: show(path), matches, line_numbers, truncated })
    }
}

fn compile(expression: &str) -> Result<Regex, Error> {
    RegexBuilder::new(expression)
        .size_limit(EXPRESSION_BYTES)
        .dfa_size_limit(EXPRESSION_BYTES)
        .nest_limit(NESTING)
        .build()
        .map_err(|error| Error::field("regex", "regex", format!("is not valid: {error}")))
}

struct Search<R> {
    lines: Lines<R>,
    found: Found,
}

impl<R: Read> Search<R> {
    fn run(&mut self, attempt: Attempt<'_>, expression: &Regex, desk: &Desk) -> Result<(), Error> {
        let mut number = 0;
        while self.lines.next(attempt, &desk.interest)? {
            for found in expression.find_iter(&self.lines.line) {
                if !self.found.take(found.as_bytes(), number) {
                    return Ok(());
                }
            }
            number += 1;
        }
        Ok(())
    }
}

/// Matches, as many as one answer carries.
struct Found {
    matches: Vec<String>,
    line_numbers: Vec<u64>,
    full: bool,
    most: usize,
    room: usize,
}

impl Found {
    fn new(desk: &Desk) -> Self {
        Self {
            matches: Vec::new(),
            line_numbers: Vec::new(),
            full: false,
            most: length(desk.limits.file_search_matches),
            room: length(desk.limits.file_read_bytes),
        }
    }

    /// Takes a match, if there is room for it.
    fn take(&mut self, text: &[u8], line: u64) -> bool {
        if self.matches.len() >= self.most || text.len() > self.room {
            self.full = true;
            return false;
        }
        self.room -= text.len();
        self.matches.push(String::from_utf8_lossy(text).into_owned());
        self.line_numbers.push(line);
        true
    }
}

/// One line after the other, without its line break; of very long ones only the start.
struct Lines<R> {
    source: BufReader<R>,
    line: Vec<u8>,
    longest: usize,
    cut: bool,
}

impl<R: Read> Lines<R> {
    fn new(source: BufReader<R>, desk: &Desk) -> Self {
        Self { source, line: Vec::new(), longest: length(desk.limits.file_read_bytes), cut: false }
    }

    /// Goes on to the next line; `false` at the end.
    fn next(&mut self, attempt: Attempt<'_>, interest: &Interest) -> Result<bool, Error> {
        self.line.clear();
        let mut any = false;
        loop {
            interest.check()?;
            let piece = match self.source.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                piece => piece.map_err(|error| attempt.failed(&error))?,
            };
            if piece.is_empty() {
                break;
            }
            any = true;
            let end = memchr(b'\n', piece);
            let part = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            let fits = part.len().min(self.longest - self.line.len());
            self.cut |= fits < part.len();
            self.line.extend_from_slice(part.get(..fits).unwrap_or_default());
            let used = end.map_or(piece.len(), |end| end + 1);
            self.source.consume(used);
            if end.is_some() {
                break;
            }
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(any)
    }
}
