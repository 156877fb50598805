//! Some lines of a file, however large it is, in memory for those lines only.

use std::io::{self, Read};
use std::ops::Range;

use atoll_operation::Error;
use memchr::{memchr, memchr_iter};

use crate::file::desk::Interest;
use crate::file::fault::Attempt;

/// Bytes read at once.
pub(super) const BUFFER: usize = 256 << 10;

/// Lines of a file.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::file) struct Excerpt {
    /// The lines asked for, with their line breaks.
    pub(in crate::file) bytes: Vec<u8>,
    /// Lines of the whole file; a last one without line break counts.
    pub(in crate::file) total: u64,
    /// The first bytes of the file, which may be the mark of an encoding.
    pub(in crate::file) start: Vec<u8>,
}

/// Why lines could not be read.
pub(in crate::file) enum LinesError {
    /// The file could not be read.
    Io(io::Error),
    /// The lines are larger than there is room for.
    NoRoom,
    /// Nobody waits for them.
    Abandoned(Error),
}

impl LinesError {
    /// What to tell the caller; `advice` says what to do instead when there is no room.
    pub(in crate::file) fn tell(self, attempt: Attempt<'_>, room: usize, advice: &str) -> Error {
        match self {
            Self::Io(error) => attempt.failed(&error),
            Self::NoRoom => attempt.too_large(&format!(
                "these lines have more than {room} bytes, which is the limit; {advice}"
            )),
            Self::Abandoned(error) => error,
        }
    }
}

/// Reads a file from its start and keeps the lines in `range`, counted from 0, if they fit into `room` bytes.
pub(in crate::file) fn read_lines(
    source: impl Read,
    range: &Range<u64>,
    room: usize,
    interest: &Interest,
) -> Result<Excerpt, LinesError> {
    read_in_pieces(source, range, room, interest, BUFFER)
}

fn read_in_pieces(
    mut source: impl Read,
    range: &Range<u64>,
    room: usize,
    interest: &Interest,
    piece: usize,
) -> Result<Excerpt, LinesError> {
    let mut buffer = vec![0; piece];
    let mut excerpt = Excerpt { bytes: Vec::new(), total: 0, start: Vec::new() };
    let mut line = 0;
    let mut open_line = false;
    loop {
        interest.check().map_err(LinesError::Abandoned)?;
        let count = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(LinesError::Io(error)),
        };
        let mut rest = buffer.get(..count).unwrap_or_default();
        let missing = 4_usize.saturating_sub(excerpt.start.len());
        excerpt.start.extend(rest.iter().take(missing));
        open_line = rest.last() != Some(&b'\n');
        while !rest.is_empty() {
            if line >= range.end {
                line += memchr_iter(b'\n', rest).count() as u64;
                break;
            }
            let end = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let (this, later) = rest.split_at(end);
            if line >= range.start {
                if excerpt.bytes.len() + this.len() > room {
                    return Err(LinesError::NoRoom);
                }
                excerpt.bytes.extend_from_slice(this);
            }
            line += u64::from(this.last() == Some(&b'\n'));
            rest = later;
        }
    }
    excerpt.total = line + u64::from(open_line);
    Ok(excerpt)
}

/// Lines in a text; a last one without line break counts.
pub(in crate::file) fn count_lines(text: &[u8]) -> u64 {
    let breaks = memchr_iter(b'\n', text).count() as u64;
    breaks + u64::from(text.last().is_some_and(|last| *last != b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, range: Range<u64>, piece: usize) -> (String, u64) {
        let read = read_in_pieces(text.as_bytes(), &range, 1 << 20, &Interest::default(), piece);
        let Ok(excerpt) = read else { unreachable!("reading from memory cannot fail") };
        (String::from_utf8(excerpt.bytes).unwrap(), excerpt.total)
    }

    #[test]
    fn lines_are_the_same_however_the_file_is_cut_into_pieces() {
        let text = "eins\r\nzwei é\n\n€uro 😀\nlast";
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        for piece in 1..=text.len() + 1 {
            for start in 0..=6_usize {
                for end in start..=7 {
                    let expected: String = all.iter().take(end).skip(start).copied().collect();
                    let range = start as u64..end as u64;
                    assert_eq!(lines(text, range, piece), (expected, 5), "{piece} {start} {end}");
                }
            }
        }
    }

    #[test]
    fn a_last_line_without_break_counts_and_nothing_is_no_line() {
        for (text, total) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(lines(text, 0..10, 3), (text.to_owned(), total));
            assert_eq!(count_lines(text.as_bytes()), total);
        }
    }

    #[test]
    fn only_lines_that_fit_are_kept_in_memory() {
        let text = "x".repeat(1000);
        let read = |room| read_in_pieces(text.as_bytes(), &(0..1), room, &Interest::default(), 64);
        assert!(matches!(read(999), Err(LinesError::NoRoom)));
        assert!(read(1000).is_ok());
        let lost = Interest::default();
        lost.lose();
        let read = read_in_pieces(text.as_bytes(), &(0..1), 10, &lost, 64);
        assert!(matches!(read, Err(LinesError::Abandoned(_))));
    }
}
