//! What is new in a text, and how much of it is shown.

use std::collections::HashMap;

/// The lines that differ, each with a sign before it: what was there and is not any more, and what is new. Lines that
/// only moved are not told.
pub(super) fn changed_lines(before: &[String], after: &[String]) -> String {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for line in before {
        *left.entry(line).or_default() += 1;
    }
    let mut added = Vec::new();
    for line in after {
        match left.get_mut(line.as_str()) {
            Some(count) if *count > 0 => *count -= 1,
            _ => added.push(line),
        }
    }
    let mut changes = String::new();
    for line in before {
        if let Some(count) = left.get_mut(line.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            push(&mut changes, "- ", line);
        }
    }
    for line in added {
        push(&mut changes, "+ ", line);
    }
    changes
}

fn push(changes: &mut String, sign: &str, line: &str) {
    if line.trim().is_empty() {
        return;
    }
    if !changes.is_empty() {
        changes.push('\n');
    }
    changes.push_str(sign);
    changes.push_str(line);
}

/// At most so many characters of a text, cut where a line or at least a word ends; and how many were left out.
pub(super) fn cut(text: String, max: Option<usize>) -> (String, usize) {
    let total = text.chars().count();
    let Some(max) = max.filter(|max| *max < total) else { return (text, 0) };
    let end = text.char_indices().nth(max).map_or(text.len(), |(at, _)| at);
    let kept = &text[..end];
    // A boundary in the first half would throw away more than it is worth.
    let boundary = kept.rfind('\n').filter(|at| *at >= end / 2);
    let boundary = boundary.or_else(|| kept.rfind(' ').filter(|at| *at >= end / 2));
    let kept = kept[..boundary.unwrap_or(end)].trim_end().to_owned();
    let shown = kept.chars().count();
    (kept, total - shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn only_lines_that_differ_are_told() {
        let before = lines("title\nstatus: draft\n\nsame\nsame");
        let after = lines("title\nsame\nstatus: saved\nsame\nsame");
        assert_eq!(changed_lines(&before, &after), "- status: draft\n+ status: saved\n+ same");
        assert_eq!(changed_lines(&before, &before), "");
    }

    #[test]
    fn a_text_is_cut_at_a_line_else_at_a_word_and_never_within_a_character() {
        let cut_at = |text: &str, max| cut(text.to_owned(), Some(max));
        assert_eq!(cut_at("one two\nthree four", 12), ("one two".to_owned(), 11));
        assert_eq!(cut_at("one two three", 9), ("one two".to_owned(), 6));
        assert_eq!(cut_at("ééééé", 3), ("ééé".to_owned(), 2));
        assert_eq!(cut_at("short", 5), ("short".to_owned(), 0));
        assert_eq!(cut("short".to_owned(), None), ("short".to_owned(), 0));
        assert_eq!(cut_at("abc", 0), (String::new(), 3));
    }
}
