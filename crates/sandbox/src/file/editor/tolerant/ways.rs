//! The ways to look for a text.

use std::ops::Range;

use atoll_api::file::EditMatch;

use super::Place;
use super::alike::alike;

/// Lines a text must have for its first and last to stand for it.
const LINES: usize = 3;
/// How much the lines between two anchors must be alike.
const ALIKE: f64 = 0.7;
/// Blocks that are compared line by line at most, and lines of each: what keeps a hostile file from taking for ever.
const BLOCKS: usize = 200;
const BLOCK_LINES: usize = 400;

/// A way to look for a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    Exact,
    LineTrimmed,
    BlockAnchor,
    WhitespaceNormalized,
    IndentationFlexible,
    EscapeNormalized,
    TrimmedBoundary,
    ContextAware,
}

/// All of them, in the order they are tried. The ninth, several exact occurrences, is the first one with leave to repeat.
pub(super) const ORDER: [Way; 8] = [
    Way::Exact,
    Way::LineTrimmed,
    Way::BlockAnchor,
    Way::WhitespaceNormalized,
    Way::IndentationFlexible,
    Way::EscapeNormalized,
    Way::TrimmedBoundary,
    Way::ContextAware,
];

impl Way {
    pub(super) fn matched(self) -> EditMatch {
        match self {
            Way::Exact => EditMatch::Exact,
            Way::LineTrimmed => EditMatch::LineTrimmed,
            Way::BlockAnchor => EditMatch::BlockAnchor,
            Way::WhitespaceNormalized => EditMatch::WhitespaceNormalized,
            Way::IndentationFlexible => EditMatch::IndentationFlexible,
            Way::EscapeNormalized => EditMatch::EscapeNormalized,
            Way::TrimmedBoundary => EditMatch::TrimmedBoundary,
            Way::ContextAware => EditMatch::ContextAware,
        }
    }

    /// Whether everything it finds may be replaced at once: only what is surely the same text.
    pub(super) fn may_repeat(self) -> bool {
        !matches!(self, Way::BlockAnchor | Way::ContextAware)
    }

    /// Where the text is by this way of looking, and what to put there; in order, without overlaps.
    pub(super) fn places(self, text: &str, old: &str, new: &str) -> Vec<Place> {
        match self {
            Way::Exact => exact(text, old, new),
            Way::LineTrimmed => by_lines(text, old, new, |window, wanted| {
                window.iter().zip(wanted).all(|(line, wanted)| line.trim() == wanted.trim())
            }),
            Way::IndentationFlexible => by_lines(text, old, new, |window, wanted| {
                window[0].trim() == wanted[0].trim() && outdented(window) == outdented(wanted)
            }),
            Way::ContextAware => by_lines(text, old, new, shares_context),
            Way::BlockAnchor => block_anchor(text, old, new),
            Way::WhitespaceNormalized => whitespace_normalized(text, old, new),
            Way::EscapeNormalized => {
                let (plain, new) = (unescape(old), unescape(new));
                if plain == old { Vec::new() } else { exact(text, &plain, &new) }
            }
            Way::TrimmedBoundary => {
                let trimmed = old.trim();
                if trimmed == old || trimmed.is_empty() {
                    return Vec::new();
                }
                exact(text, trimmed, new.trim())
            }
        }
    }
}

fn exact(text: &str, old: &str, new: &str) -> Vec<Place> {
    let places = text.match_indices(old);
    places.map(|(at, _)| Place { range: at..at + old.len(), new: new.to_owned() }).collect()
}

/// A text as lines without their breaks, with where each begins.
struct Lines<'a> {
    lines: Vec<&'a str>,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let mut starts = Vec::new();
        let mut lines = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            starts.push(at);
            at += line.len();
            lines.push(line.strip_suffix('\n').unwrap_or(line));
        }
        Self { lines, starts }
    }

    /// The bytes of these lines; the last line's break is included when `whole`.
    fn range(&self, lines: Range<usize>, whole: bool, text: &str) -> Range<usize> {
        let start = self.starts.get(lines.start).copied().unwrap_or(text.len());
        let next = self.starts.get(lines.end).copied().unwrap_or(text.len());
        let last = lines.end.saturating_sub(1);
        let end = self.starts.get(last).zip(self.lines.get(last));
        let end = end.map_or(text.len(), |(start, line)| start + line.len());
        start..if whole { next } else { end }
    }
}

/// Windows of as many lines as `old` has, for which `same` holds.
fn by_lines(
    text: &str,
    old: &str,
    new: &str,
    same: impl Fn(&[&str], &[&str]) -> bool,
) -> Vec<Place> {
    let (Lines { lines: wanted, .. }, have) = (Lines::of(old), Lines::of(text));
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return Vec::new();
    }
    let mut places = Vec::new();
    let mut free = 0;
    for (at, window) in have.lines.windows(wanted.len()).enumerate() {
        if at >= free && same(window, &wanted) {
            let range = have.range(at..at + wanted.len(), old.ends_with('\n'), text);
            places.push(Place { range, new: indented(new, &wanted, window) });
            free = at + wanted.len();
        }
    }
    places
}

fn shares_context(window: &[&str], wanted: &[&str]) -> bool {
    let [first, between @ .., last] = wanted else {
        return false;
    };
    let [window_first, window_between @ .., window_last] = window else {
        return false;
    };
    if wanted.len() < LINES
        || first.trim().is_empty()
        || first.trim() != window_first.trim()
        || last.trim() != window_last.trim()
    {
        return false;
    }
    let lines = between.iter().filter(|line| !line.trim().is_empty()).count();
    let same = between.iter().zip(window_between);
    let same = same.filter(|(a, b)| !a.trim().is_empty() && a.trim() == b.trim()).count();
    2 * same >= lines
}

/// Blocks that begin and end with the lines `old` does, with nearly as many lines between them, much alike.
fn block_anchor(text: &str, old: &str, new: &str) -> Vec<Place> {
    let (Lines { lines: wanted, .. }, have) = (Lines::of(old), Lines::of(text));
    let [first, between @ .., last] = wanted.as_slice() else {
        return Vec::new();
    };
    let (first, last) = (first.trim(), last.trim());
    if between.is_empty() || first.is_empty() || last.is_empty() || wanted.len() > BLOCK_LINES {
        return Vec::new();
    }
    let slack = (wanted.len() / 4).max(1);
    let shortest = wanted.len().saturating_sub(slack).max(2);
    let begins = have.lines.iter().enumerate().filter(|(_, line)| line.trim() == first);
    let mut places: Vec<Place> = Vec::new();
    for (at, _) in begins.take(BLOCKS) {
        let ends = (at + shortest - 1)..(at + wanted.len() + slack).min(have.lines.len());
        let fits = ends.filter(|end| have.lines[*end].trim() == last).filter_map(|end| {
            let block = &have.lines[at..=end];
            let score = likeness(&block[1..block.len() - 1], between);
            (score >= ALIKE).then_some((score, end))
        });
        let Some((_, end)) = fits.max_by(|one, other| one.0.total_cmp(&other.0)) else {
            continue;
        };
        let block = &have.lines[at..=end];
        let range = have.range(at..end + 1, old.ends_with('\n'), text);
        if places.last().is_none_or(|place| place.range.end <= range.start) {
            places.push(Place { range, new: indented(new, &wanted, block) });
        }
    }
    places
}

/// How much two runs of lines are alike, line by line; a line too many counts as unlike.
fn likeness(have: &[&str], wanted: &[&str]) -> f64 {
    let longer = have.len().max(wanted.len());
    if longer == 0 {
        return 1.0;
    }
    let sum: f64 = have.iter().zip(wanted).map(|(one, other)| alike(one, other)).sum();
    sum / f64::from(u32::try_from(longer).unwrap_or(u32::MAX))
}

/// A text with each run of white space as one blank, and where each of its bytes was.
struct Normalized {
    text: String,
    starts: Vec<usize>,
    ends: Vec<usize>,
}

impl Normalized {
    fn of(text: &str) -> Self {
        let (mut normal, mut starts, mut ends) = (String::new(), Vec::new(), Vec::new());
        let mut in_space = false;
        for (at, char) in text.char_indices() {
            let end = at + char.len_utf8();
            if char.is_whitespace() {
                if in_space {
                    if let Some(last) = ends.last_mut() {
                        *last = end;
                    }
                    continue;
                }
                in_space = true;
                normal.push(' ');
                starts.push(at);
                ends.push(end);
            } else {
                in_space = false;
                normal.push(char);
                starts.extend(std::iter::repeat_n(at, char.len_utf8()));
                ends.extend(std::iter::repeat_n(end, char.len_utf8()));
            }
        }
        Self { text: normal, starts, ends }
    }
}

fn whitespace_normalized(text: &str, old: &str, new: &str) -> Vec<Place> {
    let wanted = Normalized::of(old.trim()).text;
    if wanted.is_empty() {
        return Vec::new();
    }
    let have = Normalized::of(text);
    let mut places = Vec::new();
    for (at, _) in have.text.match_indices(&wanted) {
        let last = at + wanted.len() - 1;
        if let (Some(start), Some(end)) = (have.starts.get(at), have.ends.get(last)) {
            places.push(Place { range: *start..*end, new: new.trim().to_owned() });
        }
    }
    places
}

/// Lines without the indentation all of them have.
fn outdented<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let indentation = |line: &&str| line.len() - line.trim_start().len();
    let written = lines.iter().filter(|line| !line.trim().is_empty());
    let common = written.map(indentation).min().unwrap_or_default();
    lines
        .iter()
        .map(|line| if line.trim().is_empty() { "" } else { line.get(common..).unwrap_or(line) })
        .map(str::trim_end)
        .collect()
}

/// The new text moved from the indentation the old one was given with to the one it has in the file.
fn indented(new: &str, given: &[&str], found: &[&str]) -> String {
    let first = |lines: &[&str]| {
        let line = lines.iter().find(|line| !line.trim().is_empty()).copied().unwrap_or_default();
        line.get(..line.len() - line.trim_start().len()).unwrap_or_default().to_owned()
    };
    let (given, found) = (first(given), first(found));
    if given == found {
        return new.to_owned();
    }
    let moved = |line: &str| match line.strip_prefix(given.as_str()) {
        Some(rest) if !rest.trim().is_empty() => format!("{found}{rest}"),
        _ => line.to_owned(),
    };
    new.split_inclusive('\n').map(moved).collect()
}

/// The text with the escapes of programming languages taken for what they stand for.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let stands_for = match (char, chars.peek()) {
            ('\\', Some('n' | '\n')) => '\n',
            ('\\', Some('t')) => '\t',
            ('\\', Some('r')) => '\r',
            ('\\', Some(quoted @ ('\'' | '"' | '`' | '\\' | '$'))) => *quoted,
            _ => {
                plain.push(char);
                continue;
            }
        };
        chars.next();
        plain.push(stands_for);
    }
    plain
}
