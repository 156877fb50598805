//! Lines as they are shown: text, without a line break, no longer than asked for.

use std::ops::Range;

/// Stands for what was left out.
const MARK: char = '…';

/// A line without its line break.
pub(super) fn without_break(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A line as text of at most so many characters. Of a longer one the part round `focus`, a range of bytes, is kept, and a
/// mark stands at each end that was cut. Bytes that are no text become U+FFFD.
pub(super) fn show(line: &[u8], most: usize, focus: impl FnOnce(&[u8]) -> Range<usize>) -> String {
    let reach = most.saturating_mul(4);
    if line.len() <= reach {
        let text = String::from_utf8_lossy(line);
        if line.len() <= most || text.chars().nth(most).is_none() {
            return text.into_owned();
        }
    }
    let focus = focus(line);
    let start = focus.start.min(line.len());
    // No more bytes than this can be needed on either side.
    let from = boundary(line, start.saturating_sub(reach)).min(start);
    let to = boundary(line, start.saturating_add(reach).min(line.len()));
    let before: Vec<_> = String::from_utf8_lossy(&line[from..start]).chars().collect();
    let after: Vec<_> = String::from_utf8_lossy(&line[start..to]).chars().collect();
    let matched = String::from_utf8_lossy(&line[start..focus.end.clamp(start, to)]).chars().count();

    let room = if most > 2 { most - 2 } else { most };
    let lead = before.len().min(room.saturating_sub(matched) / 2);
    let tail = after.len().min(room - lead);
    let lead = before.len().min(room - tail);
    let (cut_before, cut_after) =
        (from > 0 || lead < before.len(), to < line.len() || tail < after.len());
    let mut text = String::new();
    text.extend((cut_before && most > 2).then_some(MARK));
    text.extend(&before[before.len() - lead..]);
    text.extend(&after[..tail]);
    text.extend((cut_after && most > 2).then_some(MARK));
    text
}

/// The next place where a character begins.
fn boundary(line: &[u8], at: usize) -> usize {
    let continues = |byte: &&u8| (0x80..0xC0).contains(*byte);
    at + line[at..].iter().take(3).take_while(continues).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(line: &str, most: usize, focus: &str) -> String {
        let start = line.find(focus).unwrap();
        let shown = show(line.as_bytes(), most, |_| start..start + focus.len());
        assert!(shown.chars().count() <= most, "{shown:?} is longer than {most}");
        shown
    }

    #[test]
    fn what_fits_is_shown_as_it_is() {
        assert_eq!(cut("short", 5, "o"), "short");
        assert_eq!(cut("äöüäö", 5, "ü"), "äöüäö");
        assert_eq!(cut("", 1, ""), "");
    }

    #[test]
    fn the_part_round_the_match_is_kept() {
        let line = format!("{}needle{}", "a".repeat(1000), "b".repeat(1000));
        assert_eq!(cut(&line, 12, "needle"), "…aaneedlebb…");
        assert_eq!(cut(&line, 12, "aaa"), "aaaaaaaaaa…");
        assert_eq!(cut(&format!("{}end", "x".repeat(1000)), 8, "end"), "…xxxend");
        assert_eq!(cut(&line, 1, "needle"), "n");
        assert_eq!(cut(&line, 3, "needle"), "…n…");
    }

    #[test]
    fn characters_are_never_split() {
        let line = format!("{}nädel{}", "ü".repeat(1000), "🦀".repeat(1000));
        assert_eq!(cut(&line, 11, "nädel"), "…üünädel🦀🦀…");
        assert_eq!(cut(&line, 5, "🦀"), "…l🦀🦀…");
        for most in 1..40 {
            assert!(!cut(&line, most, "nädel").contains('\u{FFFD}'));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(show(b"a\xffb", 10, |_| 0..0), "a\u{FFFD}b");
        let shown = show(&[0xff; 100], 10, |_| 50..51);
        assert!(shown.chars().count() <= 10, "{shown}");
    }

    #[test]
    fn every_kind_of_line_break_is_taken_off() {
        assert_eq!(without_break(b"a\n"), b"a");
        assert_eq!(without_break(b"a\r\n"), b"a");
        assert_eq!(without_break(b"a\n\n"), b"a\n");
        assert_eq!(without_break(b"a"), b"a");
    }
}
