//! Lines with their numbers, as `cat -n` shows them.

use std::fmt::Write;

/// Lines shown before and after a change.
const CONTEXT: usize = 4;
/// Lines of a change that are shown.
const SHOWN: usize = 80;

/// Lines numbered from `first` on.
pub(super) fn numbered<'a>(lines: impl Iterator<Item = &'a str>, first: u64) -> String {
    let mut text = String::new();
    for (number, line) in (first..).zip(lines) {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        // Writing to a string cannot fail.
        let _never = writeln!(text, "{number:6}\t{line}");
    }
    text
}

/// The new lines round what differs between two texts.
pub(super) fn around_change(old: &str, new: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(one, other)| one == other).count()
    };
    let before = same(&mut old.iter().zip(&new));
    let most = old.len().min(new.len()) - before;
    let after = same(&mut old.iter().rev().zip(new.iter().rev()).take(most));
    let start = before.saturating_sub(CONTEXT);
    let end = (new.len() - after + CONTEXT).min(new.len());
    let shown = end.min(start + SHOWN);
    let lines = new.get(start..shown).unwrap_or_default();
    let mut text = numbered(lines.iter().copied(), start as u64 + 1);
    if shown < end {
        let _never = writeln!(text, "   ...\t({} more lines)", end - shown);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_as_cat_does() {
        assert_eq!(
            numbered("a\r\n\nb".split_inclusive('\n'), 9),
            "     9\ta\n    10\t\n    11\tb\n"
        );
    }

    #[test]
    fn a_change_is_shown_with_the_lines_round_it() {
        let old: String = (1..=20).map(|number| format!("{number}\n")).collect();
        let new = old.replace("\n10\n", "\nten\n");
        let shown = around_change(&old, &new);
        assert!(shown.starts_with("     6\t6\n") && shown.ends_with("    14\t14\n"), "{shown}");
        assert!(shown.contains("    10\tten\n"));
        assert_eq!(around_change("a\n", "a\na\n"), "     1\ta\n     2\ta\n");
        assert_eq!(around_change("a\nb\n", ""), "");
        let long = "x\n".repeat(1000);
        assert!(around_change("", &long).ends_with("(920 more lines)\n"));
    }
}
