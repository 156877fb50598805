//! Marks in a terminal's stream: how the shell tells where a command begins and ends.
//!
//! A mark is an operating-system command `ESC ] 133 ; kind ; token [; number] BEL` with an unguessable token; terminals
//! ignore it and we take it out of the stream. Anything that merely looks like one — another token, a cut or overlong
//! sequence, a program printing what it saw — passes through untouched. Marks may be split over any number of reads.

const PREFIX: &[u8] = b"\x1b]133;";
const END: u8 = 0x07;
/// Hexadecimal digits of a token.
pub(super) const TOKEN_LENGTH: usize = 32;
/// The longest mark: kind, token, a signed number, separators and end.
const LONGEST: usize = PREFIX.len() + 1 + 1 + TOKEN_LENGTH + 1 + 11 + 1;

/// What a mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `A`: the shell is about to prompt; the number is the last status.
    Prompt,
    /// `C`: the shell runs a line that was entered.
    Entered,
    /// `S`: a job of ours begins.
    Start,
    /// `E`: a job of ours has ended; the number is its status.
    End,
}

/// A mark found in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) kind: Kind,
    pub(super) token: String,
    pub(super) number: Option<i32>,
}

/// A piece of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Ordinary bytes.
    Bytes(&'a [u8]),
    /// A mark.
    Mark(Mark),
}

/// Takes marks out of a stream.
#[derive(Debug, Default)]
pub(super) struct MarkFilter {
    /// The beginning of what may become a mark.
    held: Vec<u8>,
}

impl MarkFilter {
    /// Whether these bytes hold no beginning of a mark, so that they need not be fed.
    pub(super) fn passes(&self, bytes: &[u8]) -> bool {
        self.held.is_empty() && memchr::memchr(PREFIX[0], bytes).is_none()
    }

    /// Passes bytes through. `is_ours` decides whether a well-formed mark is one of ours at this moment.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        mut is_ours: impl FnMut(&Mark) -> bool,
        mut sink: impl FnMut(Piece<'_>),
    ) {
        let joined;
        let mut rest = if self.held.is_empty() {
            bytes
        } else {
            self.held.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.held);
            joined.as_slice()
        };
        // `from` marks what was looked at already: bytes that turned out to be ordinary.
        let mut from = 0;
        while let Some(position) = rest.get(from..).and_then(|tail| memchr::memchr(PREFIX[0], tail))
        {
            let (plain, tail) = rest.split_at(from + position);
            match parse(tail) {
                Parsed::Mark(mark, length) if is_ours(&mark) => {
                    emit(plain, &mut sink);
                    sink(Piece::Mark(mark));
                    rest = tail.get(length..).unwrap_or_default();
                    from = 0;
                }
                Parsed::Mark(..) | Parsed::Ordinary => from += position + 1,
                Parsed::Incomplete => {
                    emit(plain, &mut sink);
                    self.held = tail.to_vec();
                    return;
                }
            }
        }
        emit(rest, &mut sink);
    }
}

fn emit(bytes: &[u8], sink: &mut impl FnMut(Piece<'_>)) {
    if !bytes.is_empty() {
        sink(Piece::Bytes(bytes));
    }
}

enum Parsed {
    Mark(Mark, usize),
    Incomplete,
    Ordinary,
}

/// Looks at bytes that begin with ESC.
fn parse(bytes: &[u8]) -> Parsed {
    let common = bytes.len().min(PREFIX.len());
    if bytes.get(..common) != PREFIX.get(..common) {
        return Parsed::Ordinary;
    }
    let window = bytes.get(..LONGEST.min(bytes.len())).unwrap_or(bytes);
    let Some(end) = memchr::memchr(END, window) else {
        return if window.len() < LONGEST { Parsed::Incomplete } else { Parsed::Ordinary };
    };
    let body = window.get(PREFIX.len()..end).and_then(|body| std::str::from_utf8(body).ok());
    match body.and_then(mark) {
        Some(mark) => Parsed::Mark(mark, end + 1),
        None => Parsed::Ordinary,
    }
}

fn mark(body: &str) -> Option<Mark> {
    let mut parts = body.split(';');
    let kind = match parts.next()? {
        "A" => Kind::Prompt,
        "C" => Kind::Entered,
        "S" => Kind::Start,
        "E" => Kind::End,
        _ => return None,
    };
    let token = parts.next().filter(|token| token.len() == TOKEN_LENGTH)?.to_owned();
    let number = parts.next().map(str::parse).transpose().ok()?;
    parts.next().is_none().then_some(Mark { kind, token, number })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    /// The plain bytes and the marks, whatever the reads.
    fn filter(reads: &[&[u8]]) -> (Vec<u8>, Vec<Mark>) {
        let (mut plain, mut marks) = (Vec::new(), Vec::new());
        let mut filter = MarkFilter::default();
        for read in reads {
            filter.feed(
                read,
                |mark| mark.token == TOKEN,
                |piece| match piece {
                    Piece::Bytes(bytes) => plain.extend_from_slice(bytes),
                    Piece::Mark(mark) => marks.push(mark),
                },
            );
        }
        plain.extend_from_slice(&filter.held);
        (plain, marks)
    }

    fn end(status: i32) -> Vec<u8> {
        format!("\x1b]133;E;{TOKEN};{status}\x07").into_bytes()
    }

    #[test]
    fn marks_are_taken_out_and_others_pass() {
        let mut stream = b"before".to_vec();
        stream.extend(end(-7));
        stream
            .extend(b"\x1b]133;E;ffffffffffffffffffffffffffffffff;0\x07\x1b]0;title\x07after\x1b");
        let (plain, marks) = filter(&[&stream]);
        assert_eq!(
            plain,
            b"before\x1b]133;E;ffffffffffffffffffffffffffffffff;0\x07\x1b]0;title\x07after\x1b"
        );
        assert_eq!(marks, [Mark { kind: Kind::End, token: TOKEN.into(), number: Some(-7) }]);
    }

    #[test]
    fn a_mark_without_an_end_is_ordinary_text() {
        let mut stream = format!("\x1b]133;E;{TOKEN};").into_bytes();
        stream.extend([b'1'; 200]);
        assert_eq!(filter(&[&stream]), (stream.clone(), vec![]));
    }

    #[test]
    fn a_false_beginning_does_not_hide_a_mark() {
        let mut stream = b"\x1b]133;\x1b]133;E;".to_vec();
        stream.extend(end(3));
        let (plain, marks) = filter(&[&stream]);
        assert_eq!((plain.as_slice(), marks.len()), (b"\x1b]133;\x1b]133;E;".as_slice(), 1));
    }

    proptest! {
        #[test]
        fn hostile_bytes_pass_whole_and_real_marks_are_found_at_any_split(
            hostile in prop::collection::vec(prop_oneof![
                Just(b"\x1b".to_vec()), Just(b"\x1b]133;".to_vec()), Just(b"\x1b]133;E;".to_vec()),
                Just(format!("\x1b]133;E;{}", &TOKEN[..31]).into_bytes()),
                Just(b"\x1b]133;A;ffffffffffffffffffffffffffffffff;0\x07".to_vec()),
                prop::collection::vec(any::<u8>(), 0..6),
            ], 0..12),
            place in 0usize..13,
            cuts in prop::collection::vec(0usize..400, 0..12),
        ) {
            let place = place.min(hostile.len());
            let (before, after) = (hostile[..place].concat(), hostile[place..].concat());
            let stream = [before.clone(), end(42), after.clone()].concat();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.sort_unstable();
            let mut reads = Vec::new();
            let mut from = 0;
            for cut in cuts {
                reads.push(&stream[from..cut]);
                from = cut;
            }
            reads.push(&stream[from..]);
            let (plain, marks) = filter(&reads);
            prop_assert_eq!(plain, [before, after].concat());
            prop_assert_eq!(marks.len(), 1);
        }
    }
}
