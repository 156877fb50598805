//! Finds the line that ends a part of a form in bytes that arrive in pieces.

/// What separates a form's parts: a line break, two hyphens and the form's boundary.
#[derive(Debug)]
pub(super) struct Boundary {
    needle: Vec<u8>,
}

/// Bytes looked at together.
const BLOCK: usize = 64;
/// How far the second hyphen is from the beginning.
const HYPHEN: usize = 3;

/// What a search found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The whole of it, from here.
    Whole(usize),
    /// Nothing before here; what follows may be its beginning.
    Perhaps(usize),
}

impl Boundary {
    /// Bytes of a boundary at most, by its standard.
    const LONGEST: usize = 70;

    /// The separator made from a boundary; none when it cannot be one.
    pub(super) fn new(boundary: &[u8]) -> Option<Self> {
        if boundary.is_empty() || boundary.len() > Self::LONGEST {
            return None;
        }
        Some(Self { needle: [b"\r\n--", boundary].concat() })
    }

    pub(super) fn len(&self) -> usize {
        self.needle.len()
    }

    pub(super) fn find(&self, bytes: &[u8]) -> Found {
        let mut start = 0;
        while let Some(at) = beginning(&bytes[start..]) {
            let rest = &bytes[start + at..];
            if rest.starts_with(&self.needle) {
                return Found::Whole(start + at);
            }
            if self.needle.starts_with(rest) {
                return Found::Perhaps(start + at);
            }
            start += at + 1;
        }
        Found::Perhaps(bytes.len())
    }
}

/// Where something that looks like the beginning of a separator lies, as far as the bytes go.
fn beginning(bytes: &[u8]) -> Option<usize> {
    let mut start = 0;
    while let Some(block) = bytes[start..].first_chunk::<{ BLOCK + HYPHEN }>() {
        if holds_beginning(block) {
            break;
        }
        start += BLOCK;
    }
    let rest = &bytes[start..];
    let found = (0..rest.len())
        .find(|at| rest[*at] == b'\r' && rest.get(at + HYPHEN).is_none_or(|byte| *byte == b'-'));
    found.map(|at| start + at)
}

/// Whether a block holds a `\r` with a hyphen three bytes on, which files rarely do, those of many lines included.
/// Without a way out before the end, so that the compiler compares many bytes at once: most uploads spend more time
/// being searched than on anything else that happens to them here.
#[expect(clippy::needless_bitwise_bool, reason = "branches would keep the compiler from it")]
fn holds_beginning(block: &[u8; BLOCK + HYPHEN]) -> bool {
    (0..BLOCK)
        .fold(false, |found, at| found | ((block[at] == b'\r') & (block[at + HYPHEN] == b'-')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_wherever_it_lies() {
        for boundary in ["b", "--", "----------", "aXbXaXbX", "d74496d66958873e"] {
            let search = Boundary::new(boundary.as_bytes()).unwrap();
            let needle = format!("\r\n--{boundary}");
            for before in
                ["", "x", "\r\n", "\r\n-", "aXbX\r\r\n--", "---------------", "\r\n--aXbXaXb"]
            {
                for after in ["", "--", "\r\n", &needle] {
                    let bytes = format!("{before}{needle}{after}");
                    let expected = bytes.find(&needle).unwrap();
                    assert_eq!(search.find(bytes.as_bytes()), Found::Whole(expected), "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn it_is_found_in_blocks_of_any_length() {
        let search = Boundary::new(b"AaB03x").unwrap();
        let needle = b"\r\n--AaB03x";
        for before in 0..3 * BLOCK {
            for filling in [b'x', b'\r', b'-'] {
                let bytes = [&vec![filling; before][..], needle, &[b'y'; 70]].concat();
                assert_eq!(search.find(&bytes), Found::Whole(before));
                for length in 1..needle.len() {
                    let cut = &bytes[..before + length];
                    assert_eq!(search.find(cut), Found::Perhaps(before), "{before} and {length}");
                }
            }
        }
    }

    #[test]
    fn its_beginning_is_held_back_and_nothing_else() {
        let search = Boundary::new(b"ab").unwrap();
        for (bytes, held) in [
            ("", ""),
            ("data", ""),
            ("data\r", "\r"),
            ("data\r\n", "\r\n"),
            ("data\r\n--a", "\r\n--a"),
            ("data\r\n--ax", ""),
            ("data\n--a", ""),
            ("\r\n\r", "\r"),
            ("\r\n--\r\n--", "\r\n--"),
        ] {
            let expected = Found::Perhaps(bytes.len() - held.len());
            assert_eq!(search.find(bytes.as_bytes()), expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_cannot_be_one_is_refused() {
        assert!(Boundary::new(b"").is_none());
        assert!(Boundary::new(&[b'x'; 71]).is_none());
        assert!(Boundary::new(&[b'x'; 70]).is_some());
    }
}
