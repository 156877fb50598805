//! Bytes to text without ever splitting a character, text cut in the middle, and sizes for people.

/// Length of the longest prefix that does not end inside a UTF-8 sequence. At most three bytes are held back; bytes
/// that can never become a character are not held back.
pub(crate) fn complete_prefix(bytes: &[u8]) -> usize {
    let tail_start = bytes.len().saturating_sub(3);
    let tail = bytes.get(tail_start..).unwrap_or_default();
    for (position, byte) in tail.iter().enumerate().rev() {
        let needed = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return bytes.len(),
        };
        let have = tail.get(position..).unwrap_or_default();
        let may_complete = have.len() < needed
            && std::str::from_utf8(have)
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none());
        return if may_complete { tail_start + position } else { bytes.len() };
    }
    bytes.len()
}

/// Keeps the first and the last half of `max` characters and says how many bytes are left out between them; `None` when
/// nothing need be cut. `head` and `tail` are the two ends of a text of `total` bytes, or both the whole text.
pub fn cut_middle(head: &str, tail: &str, total: u64, max: usize) -> Option<String> {
    let whole = head.len() as u64 == total;
    if whole && (head.len() <= max || head.chars().nth(max).is_none()) {
        return None;
    }
    let tail_length = max - max / 2;
    let head_end = head.char_indices().nth(max / 2).map_or(head.len(), |(position, _)| position);
    let tail_start = match tail_length {
        0 => tail.len(),
        length => tail.char_indices().rev().nth(length - 1).map_or(0, |(position, _)| position),
    };
    let (head, tail) = (head.get(..head_end)?, tail.get(tail_start..)?);
    let left_out = total.saturating_sub((head.len() + tail.len()) as u64);
    Some(format!("{head}\n\n... [{left_out} bytes left out] ...\n\n{tail}"))
}

/// A number of bytes for people: the largest unit that leaves at least one, with one digit behind the point.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let Some((power, unit)) =
        (1..).zip(UNITS).take_while(|(power, _)| bytes >> (10 * power) > 0).last()
    else {
        return format!("{bytes} bytes");
    };
    let one = 1u64 << (10 * power);
    match bytes % one / (one / 10) {
        0 => format!("{} {unit}", bytes / one),
        tenths => format!("{}.{} {unit}", bytes / one, tenths.min(9)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_are_told_in_the_unit_that_fits() {
        let cases = [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            ((1 << 20) - 1, "1023.9 KiB"),
            (512 << 20, "512 MiB"),
            (3 << 29, "1.5 GiB"),
            (12_637_437_952, "11.7 GiB"),
            (u64::MAX, "16383.9 PiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn incomplete_characters_are_held_back_and_broken_ones_are_not() {
        assert_eq!(complete_prefix("aé".as_bytes()), 3);
        assert_eq!(complete_prefix(&"aé".as_bytes()[..2]), 1);
        assert_eq!(complete_prefix(&"a€".as_bytes()[..3]), 1);
        assert_eq!(complete_prefix(&"a😀".as_bytes()[..4]), 1);
        assert_eq!(complete_prefix(b"a\xff"), 2);
        assert_eq!(complete_prefix(b"a\x80\x80\x80"), 4);
        assert_eq!(complete_prefix(b"\xe2(\xa1"), 3);
        assert_eq!(complete_prefix(b""), 0);
    }

    #[test]
    fn the_middle_is_cut_and_counted() {
        let text = "a".repeat(10) + &"b".repeat(10);
        let cut = cut_middle(&text, &text, 20, 4).unwrap();
        assert_eq!(cut, "aa\n\n... [16 bytes left out] ...\n\nbb");
        assert_eq!(cut_middle(&text, &text, 20, 20), None);
    }

    proptest! {
        #[test]
        fn text_read_in_any_pieces_is_the_text_read_whole(text in "\\PC*", cuts in prop::collection::vec(1usize..9, 0..50)) {
            let bytes = text.as_bytes();
            let (mut read, mut from, mut to) = (String::new(), 0, 0);
            for cut in cuts {
                to = (to + cut).min(bytes.len());
                let end = from + complete_prefix(&bytes[from..to]);
                read.push_str(std::str::from_utf8(&bytes[from..end]).unwrap());
                from = end;
            }
            read.push_str(std::str::from_utf8(&bytes[from..]).unwrap());
            prop_assert_eq!(read, text);
        }

        #[test]
        fn at_most_three_bytes_are_held_back(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            let kept = complete_prefix(&bytes);
            prop_assert!(kept <= bytes.len() && bytes.len() - kept <= 3);
        }

        #[test]
        fn cutting_keeps_exactly_the_ends(text in "\\PC{0,60}", max in 0usize..40) {
            let total = text.chars().count();
            let cut = cut_middle(&text, &text, text.len() as u64, max);
            prop_assert_eq!(cut.is_some(), total > max);
            if let Some(cut) = cut {
                let head: String = text.chars().take(max / 2).collect();
                let tail: String = text.chars().skip(total - (max - max / 2)).collect();
                prop_assert!(cut.starts_with(&head) && cut.ends_with(&tail));
            }
        }
    }
}
