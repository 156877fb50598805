//! Changes to a text, without a file in sight.

use atoll_api::file::ReplaceMode;

/// Places named when a text is not unique.
const PLACES_NAMED: usize = 20;

/// How the lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endings {
    Lf,
    CrLf,
    Mixed,
}

/// Why a text was not replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotReplaced {
    /// It does not occur; these lines differ only in the space round their text.
    Missing { similar: Vec<usize> },
    /// It occurs more than once.
    Several {
        count: usize,
        /// The lines where it begins, from 1.
        lines: Vec<usize>,
    },
}

/// The text with `old` replaced, and how often. Without a mode `old` must occur exactly once. Where it is missing only
/// because lines end differently, the endings of the text count, for what is put in its place too.
pub(super) fn replace(
    text: &str,
    old: &str,
    new: &str,
    mode: Option<ReplaceMode>,
) -> Result<(String, usize), NotReplaced> {
    let forms = match endings(text) {
        Endings::CrLf => vec![(crlf(old), crlf(new))],
        Endings::Lf => vec![(old.to_owned(), new.to_owned()), (lf(old), lf(new))],
        Endings::Mixed => {
            vec![(old.to_owned(), new.to_owned()), (crlf(old), crlf(new)), (lf(old), lf(new))]
        }
    };
    let Some((old, new)) = forms.into_iter().find(|(old, _)| text.contains(old.as_str())) else {
        return Err(NotReplaced::Missing { similar: similar(text, old) });
    };
    match mode {
        Some(ReplaceMode::All) => Ok((text.replace(&old, &new), text.matches(&old).count())),
        Some(ReplaceMode::First) => Ok((text.replacen(&old, &new, 1), 1)),
        Some(ReplaceMode::Last) => {
            let (before, after) = text.rsplit_once(&old).unwrap_or((text, ""));
            Ok((format!("{before}{new}{after}"), 1))
        }
        None => match text.matches(&old).count() {
            0 | 1 => Ok((text.replacen(&old, &new, 1), 1)),
            count => Err(NotReplaced::Several { count, lines: places(text, &old) }),
        },
    }
}

/// The text with lines put after line `after` (0 for the top), which must be there.
pub(super) fn insert(text: &str, after: usize, new: &str) -> String {
    let (ending, new) = match endings(text) {
        Endings::CrLf => ("\r\n", crlf(new)),
        Endings::Lf | Endings::Mixed => ("\n", lf(new)),
    };
    let lines = new.strip_suffix(ending).unwrap_or(&new);
    let at: usize = text.split_inclusive('\n').take(after).map(str::len).sum();
    let (before, behind) = text.split_at(at);
    if behind.is_empty() && !before.is_empty() && !before.ends_with('\n') {
        return format!("{before}{ending}{lines}");
    }
    format!("{before}{lines}{ending}{behind}")
}

pub(super) fn endings(text: &str) -> Endings {
    let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    match text.matches("\r\n").count() {
        0 => Endings::Lf,
        count if count == breaks => Endings::CrLf,
        _ => Endings::Mixed,
    }
}

pub(super) fn lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

pub(super) fn crlf(text: &str) -> String {
    lf(text).replace('\n', "\r\n")
}

/// The lines where a text begins, from 1; the first few.
fn places(text: &str, old: &str) -> Vec<usize> {
    let (mut line, mut counted) = (1, 0);
    let mut places = Vec::new();
    for (at, _) in text.match_indices(old).take(PLACES_NAMED) {
        let between = text.get(counted..at).unwrap_or_default();
        line += memchr::memchr_iter(b'\n', between.as_bytes()).count();
        counted = at;
        places.push(line);
    }
    places.dedup();
    places
}

/// Lines with the text of the first line looked for, but other space round it.
fn similar(text: &str, old: &str) -> Vec<usize> {
    let Some(first) = old.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return Vec::new();
    };
    let lines = text.lines().enumerate().filter(|(_, line)| line.trim() == first);
    lines.map(|(number, _)| number + 1).take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str, old: &str, new: &str, mode: Option<ReplaceMode>) -> String {
        replace(text, old, new, mode).unwrap().0
    }

    #[test]
    fn one_occurrence_is_replaced_and_several_only_when_told_which() {
        assert_eq!(replaced("a b c", "b", "x", None), "a x c");
        let text = "b\nb\na b";
        assert_eq!(
            replace(text, "b", "x", None),
            Err(NotReplaced::Several { count: 3, lines: vec![1, 2, 3] })
        );
        assert_eq!(replaced(text, "b", "x", Some(ReplaceMode::First)), "x\nb\na b");
        assert_eq!(replaced(text, "b", "x", Some(ReplaceMode::Last)), "b\nb\na x");
        assert_eq!(
            replace(text, "b", "bb", Some(ReplaceMode::All)),
            Ok(("bb\nbb\na bb".to_owned(), 3))
        );
    }

    #[test]
    fn a_missing_text_is_missed_in_every_mode_and_its_likeness_named() {
        let modes =
            [None, Some(ReplaceMode::All), Some(ReplaceMode::First), Some(ReplaceMode::Last)];
        for mode in modes {
            assert_eq!(
                replace("if x:\n    y()\n", "y()\nz()", "", mode),
                Err(NotReplaced::Missing { similar: vec![2] })
            );
        }
    }

    #[test]
    fn line_endings_of_the_file_win() {
        let text = "one\r\ntwo\r\nthree";
        assert_eq!(replaced(text, "one\ntwo", "1\n2", None), "1\r\n2\r\nthree");
        assert_eq!(replaced(text, "\ntwo", "\n2", None), "one\r\n2\r\nthree");
        assert_eq!(replaced(text, "one\r\ntwo", "1\r\n2", None), "1\r\n2\r\nthree");
        assert_eq!(replaced(text, "three", "3\n4", None), "one\r\ntwo\r\n3\r\n4");
        assert_eq!(replaced("one\ntwo\n", "one\r\ntwo", "1\r\n2", None), "1\n2\n");
        assert_eq!(replaced("a\r\nb\nc\r\n", "a\nb", "x\ny", None), "x\r\ny\nc\r\n");
        assert_eq!(replaced("a\r\nb\nc\r\n", "b\nc", "x\ny", None), "a\r\nx\ny\r\n");
    }

    #[test]
    fn lines_are_inserted_whole() {
        for (text, after, new, expected) in [
            ("a\nb\n", 0, "x", "x\na\nb\n"),
            ("a\nb\n", 1, "x\n", "a\nx\nb\n"),
            ("a\nb\n", 2, "x\ny", "a\nb\nx\ny\n"),
            ("a\nb", 2, "x", "a\nb\nx"),
            ("a\nb", 1, "x", "a\nx\nb"),
            ("a\nb", 2, "x\n", "a\nb\nx"),
            ("", 0, "x", "x\n"),
            ("a\n", 1, "", "a\n\n"),
            ("a\n", 1, "x\n\n", "a\nx\n\n"),
            ("a\r\nb", 1, "x\ny", "a\r\nx\r\ny\r\nb"),
            ("a\r\nb", 2, "x", "a\r\nb\r\nx"),
        ] {
            assert_eq!(insert(text, after, new), expected, "{text:?} {after} {new:?}");
        }
    }
}
