//! The expression: compiled within limits, refused in plain words.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

use super::GrepQuery;
use crate::error::{Argument, SearchError};

/// Bytes of an expression. Its tree takes many times that.
const LONGEST: usize = 64 << 10;

/// Bytes a compiled expression may take, and again the states each thread keeps for it.
const LARGEST: usize = 10 << 20;

/// How deep groups may lie in one another.
const DEEPEST: u32 = 200;

/// Compiles the expression of a question.
pub(super) fn compile(query: &GrepQuery) -> Result<RegexMatcher, SearchError> {
    let length = query.pattern.len();
    if length > LONGEST {
        return Err(Argument::Pattern.refuse(format!(
            "has {length} bytes; at most {LONGEST} are possible, so search for a part of it"
        )));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(query.case_insensitive)
        .fixed_strings(query.fixed_strings)
        .dot_matches_new_line(query.multiline)
        .size_limit(LARGEST)
        .dfa_size_limit(LARGEST)
        .nest_limit(DEEPEST);
    if !query.multiline {
        // What cannot match a line break can be searched for without looking at lines first.
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&query.pattern).map_err(|error| {
        Argument::Pattern.refuse(match error.kind() {
            ErrorKind::NotAllowed(_) => {
                "holds a line break, which no single line does; set multiline to search across lines"
                    .to_owned()
            }
            _ => readable(&error.to_string(), &query.pattern),
        })
    })
}

/// The parser draws its message over several lines, with a caret under the place; this makes a sentence of it.
fn readable(message: &str, pattern: &str) -> String {
    if message.contains("size limit") {
        return "is too large when compiled; use smaller repetition counts, or [0-9A-Za-z_] in place of \\w"
            .to_owned();
    }
    let lines: Vec<_> = message.lines().collect();
    let reason = lines.iter().rev().find_map(|line| line.strip_prefix("error: "));
    let reason = reason.map_or_else(|| lines.join(" "), str::to_owned);
    let place =
        place(&lines, pattern).map_or_else(String::new, |at| format!(", at character {at}"));
    format!(
        "is no valid regular expression: {reason}{place}; set fixed_strings to search for it as plain text"
    )
}

/// Which character of the pattern the caret points at: title, pattern, caret, reason. The parser saw the pattern inside a
/// group, and may point at that.
fn place(lines: &[&str], pattern: &str) -> Option<usize> {
    let &[_, drawn, caret, _] = lines else { return None };
    let before = drawn[..drawn.find(pattern)?].chars().count();
    let at = caret.chars().position(|character| character == '^')?;
    let at = at.checked_sub(before)? + 1;
    (at <= pattern.chars().count()).then_some(at)
}
