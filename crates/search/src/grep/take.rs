//! What is taken of one file's matches: counted all, kept those asked for, each with the lines round it.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use memchr::{memchr, memchr_iter, memrchr};

use super::lines::{show, without_break};
use super::{GrepQuery, LineMatch};
use crate::cancel::Cancel;

/// What all threads of a search share.
#[derive(Debug)]
pub(super) struct Shared<'a> {
    pub(super) query: &'a GrepQuery,
    pub(super) cancel: &'a Cancel,
    /// Enough is known.
    pub(super) done: AtomicBool,
    /// Bytes of text kept by all threads.
    pub(super) held: AtomicUsize,
}

impl Shared<'_> {
    /// Whether there is no use in going on.
    pub(super) fn is_over(&self) -> bool {
        self.done.load(Ordering::Relaxed) || self.cancel.is_set()
    }

    /// Text the threads may keep together; beyond it they only count.
    fn most_held(&self) -> usize {
        self.query.max_bytes.saturating_mul(2)
    }
}

/// Which matches of a file are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Want {
    /// Matches before those to keep.
    pub(super) skip: u64,
    /// Matches to keep after that.
    pub(super) keep: u64,
    /// Matches after which there is no need to go on.
    pub(super) stop: u64,
    /// What to do when there is no room for more text.
    pub(super) when_full: WhenFull,
}

/// What to do when there is no room for more text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenFull {
    /// Keep nothing of this file and only count: it can be searched again.
    Count,
    /// Keep what fits and end the search of this file.
    Stop,
}

/// Takes the matches of one file.
pub(super) struct Take<'a> {
    shared: &'a Shared<'a>,
    matcher: &'a RegexMatcher,
    want: Want,
    /// Matches so far.
    pub(super) count: u64,
    /// Those wanted.
    pub(super) kept: Vec<LineMatch>,
    /// Whether there was no room for more.
    pub(super) full: bool,
    /// Whether the file holds no text.
    pub(super) binary: bool,
    /// Number of the last line of each match kept.
    ends: Vec<u64>,
    /// The latest lines, for matches to come.
    recent: VecDeque<(u64, String)>,
    held: usize,
}

impl<'a> Take<'a> {
    pub(super) fn new(shared: &'a Shared<'a>, matcher: &'a RegexMatcher, want: Want) -> Self {
        Self {
            shared,
            matcher,
            want,
            count: 0,
            kept: Vec::new(),
            full: false,
            binary: false,
            ends: Vec::new(),
            recent: VecDeque::new(),
            held: 0,
        }
    }

    /// One match: the whole lines it lies in, and where in them it is if that is known.
    fn take(&mut self, line: u64, lines: &[u8], focus: Option<Range<usize>>) {
        let query = self.shared.query;
        let wanted = !self.full
            && self.count >= self.want.skip
            && self.count - self.want.skip < self.want.keep;
        self.count += 1;
        let before = if wanted { self.lines_before(line) } else { Vec::new() };
        let mut last = line;
        if query.context_before + query.context_after > 0 {
            for (number, one) in (line..).zip(lines.split_inclusive(|byte| *byte == b'\n')) {
                self.pass(number, one);
                last = number;
            }
        }
        if !wanted {
            return;
        }
        let text = show(without_break(lines), query.max_line_length, |shown| {
            focus.unwrap_or_else(|| match self.matcher.find(shown) {
                Ok(Some(found)) => found.start()..found.end(),
                _ => 0..0,
            })
        });
        self.hold(text.len() + before.iter().map(String::len).sum::<usize>());
        // The match that fills the room is kept where that is the end of it, so that there is always one.
        if !self.full || self.want.when_full == WhenFull::Stop {
            self.ends.push(last);
            self.kept.push(LineMatch { line, text, before, after: Vec::new() });
        }
    }

    fn lines_before(&self, line: u64) -> Vec<String> {
        let first = line.saturating_sub(self.shared.query.context_before as u64);
        let near = self.recent.iter().filter(|(number, _)| *number >= first);
        near.map(|(_, text)| text.clone()).collect()
    }

    /// A line goes by, matching or not: it may follow matches kept, and go before others.
    fn pass(&mut self, number: u64, line: &[u8]) {
        let query = self.shared.query;
        let after = query.context_after as u64;
        let open = self.ends.iter().rev().take_while(|end| **end + after >= number).count();
        if open == 0 && query.context_before == 0 {
            return;
        }
        let text = show(without_break(line), query.max_line_length, |_| 0..0);
        self.hold(text.len() * open);
        let first_open = self.kept.len().saturating_sub(open);
        for kept in &mut self.kept[first_open..] {
            kept.after.push(text.clone());
        }
        if query.context_before > 0 {
            if self.recent.len() == query.context_before {
                self.recent.pop_front();
            }
            self.recent.push_back((number, text));
        }
    }

    /// Accounts for text kept.
    fn hold(&mut self, bytes: usize) {
        self.held += bytes;
        let all = self.shared.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if all <= self.shared.most_held() {
            return;
        }
        self.full = true;
        if self.want.when_full == WhenFull::Count {
            self.shared.held.fetch_sub(self.held, Ordering::Relaxed);
            self.held = 0;
            self.kept.clear();
            self.ends.clear();
        }
    }

    fn goes_on(&self) -> bool {
        let complete = |last: &LineMatch| last.after.len() >= self.shared.query.context_after;
        let full = self.full && self.want.when_full == WhenFull::Stop;
        let wants_more = !full && self.count < self.want.stop;
        (wants_more || !self.kept.last().is_none_or(complete)) && !self.shared.is_over()
    }

    /// A block of lines in which matches touch one another. Those that share no line are matches of their own.
    fn take_block(&mut self, found: &SinkMatch<'_>) -> io::Result<()> {
        let (buffer, block) = (found.buffer(), found.bytes_range_in_buffer());
        let mut place = Place { line: found.line_number().unwrap_or(1), offset: block.start };
        let mut latest: Option<(Range<usize>, Range<usize>)> = None;
        let matcher = self.matcher;
        let all = matcher.find_iter_at(buffer, block.start, |one| {
            if one.start() >= block.end {
                return false;
            }
            let lines = lines_of(buffer, one.start()..one.end());
            match &mut latest {
                Some((last, _)) if lines.start < last.end => last.end = last.end.max(lines.end),
                _ => {
                    if let Some(before) = latest.replace((lines, one.start()..one.end())) {
                        self.take_lines(buffer, &mut place, before);
                    }
                }
            }
            self.goes_on()
        });
        all.map_err(io::Error::other)?;
        if let Some(last) = latest {
            self.take_lines(buffer, &mut place, last);
        }
        Ok(())
    }

    fn take_lines(
        &mut self,
        buffer: &[u8],
        place: &mut Place,
        (lines, focus): (Range<usize>, Range<usize>),
    ) {
        place.line += memchr_iter(b'\n', &buffer[place.offset..lines.start]).count() as u64;
        place.offset = lines.start;
        let focus = focus.start - lines.start..focus.end - lines.start;
        self.take(place.line, &buffer[lines], Some(focus));
    }
}

/// Where a line begins.
struct Place {
    line: u64,
    offset: usize,
}

/// The whole lines that a match lies in.
fn lines_of(buffer: &[u8], found: Range<usize>) -> Range<usize> {
    let start = memrchr(b'\n', &buffer[..found.start]).map_or(0, |at| at + 1);
    // A match that ends with a line break does not reach into the next line.
    let from = found.end.saturating_sub(1).max(found.start);
    let end = memchr(b'\n', &buffer[from..]).map_or(buffer.len(), |at| from + at + 1);
    start..end
}

impl Sink for Take<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.shared.query.multiline {
            self.take_block(found)?;
        } else {
            self.take(found.line_number().unwrap_or(1), found.bytes(), None);
        }
        Ok(self.goes_on())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.pass(context.line_number().unwrap_or(1), context.bytes());
        Ok(self.goes_on())
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }
}
