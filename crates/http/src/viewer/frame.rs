//! WebSocket frames as a bridge needs them: bytes pass through as they come, whatever messages they are parts of.
//!
//! A message's parts are not put together first: RFB is a stream, and where one message ends means nothing to it.

/// Room that the head of a frame of ours takes at most.
pub(super) const HEAD: usize = 10;
/// Bytes that a control frame carries at most.
const CONTROL: usize = 125;

const CONTINUATION: u8 = 0;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;

/// Writes the head of a binary frame in front of `count` bytes that lie behind the first `HEAD`; where it begins.
pub(super) fn head_before(buffer: &mut [u8], count: usize) -> usize {
    let mut head = [0; HEAD];
    head[0] = FINAL | BINARY;
    let length = match (u8::try_from(count), u16::try_from(count)) {
        (Ok(count), _) if count <= 125 => {
            head[1] = count;
            2
        }
        (_, Ok(count)) => {
            head[1] = 126;
            head[2..4].copy_from_slice(&count.to_be_bytes());
            4
        }
        _ => {
            head[1] = 127;
            head[2..10].copy_from_slice(&(count as u64).to_be_bytes());
            HEAD
        }
    };
    buffer[HEAD - length..HEAD].copy_from_slice(&head[..length]);
    HEAD - length
}

/// A frame that is not for the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Control {
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(u16, &'static str),
}

impl Control {
    /// It on the wire.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let (kind, content) = match self {
            Self::Ping(content) => (PING, content.clone()),
            Self::Pong(content) => (PONG, content.clone()),
            Self::Close(code, reason) => (CLOSE, [&code.to_be_bytes(), reason.as_bytes()].concat()),
        };
        // Ours are short, and a viewer's are held to the same.
        let length = u8::try_from(content.len().min(CONTROL)).unwrap_or_default();
        let mut bytes = vec![FINAL | kind, length];
        bytes.extend(content.iter().take(CONTROL));
        bytes
    }
}

/// What the next bytes of a viewer are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// For the other end.
    Content(&'a [u8]),
    /// The viewer asks for these bytes back.
    Ping(Vec<u8>),
    /// Nothing that matters.
    Nothing,
    /// The viewer ends it, or says what no viewer says.
    End,
}

/// A viewer's frames, taken apart as they come in whatever pieces.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The beginning of a head whose rest has not come.
    head: Vec<u8>,
    kind: u8,
    mask: [u8; 4],
    /// Bytes to come of this frame.
    left: u64,
    /// Where in the mask the next byte is.
    turn: usize,
    /// What has come of a control frame.
    control: Vec<u8>,
}

impl Frames {
    /// Takes the first piece of these bytes, at least one of which there must be, and says how many it took.
    pub(super) fn take<'a>(&mut self, bytes: &'a mut [u8]) -> (usize, Piece<'a>) {
        if self.left == 0 {
            return self.take_head(bytes);
        }
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        let content = &mut bytes[..count];
        for byte in content.iter_mut() {
            *byte ^= self.mask[self.turn];
            self.turn = (self.turn + 1) % self.mask.len();
        }
        self.left -= count as u64;
        if matches!(self.kind, BINARY | CONTINUATION) {
            return (count, Piece::Content(content));
        }
        self.control.extend_from_slice(content);
        (count, if self.left == 0 { self.control() } else { Piece::Nothing })
    }

    /// What a whole control frame means.
    fn control(&mut self) -> Piece<'static> {
        let content = std::mem::take(&mut self.control);
        match self.kind {
            PING => Piece::Ping(content),
            PONG => Piece::Nothing,
            _ => Piece::End,
        }
    }

    fn take_head(&mut self, bytes: &[u8]) -> (usize, Piece<'static>) {
        let mut taken = 0;
        while self.head.len() < self.head_length() {
            let Some(byte) = bytes.get(taken) else { return (taken, Piece::Nothing) };
            self.head.push(*byte);
            taken += 1;
        }
        let head = std::mem::take(&mut self.head);
        let (length, mask) = head[2..].split_at(head.len() - 2 - self.mask.len());
        self.left = match length {
            [] => u64::from(head[1] & !MASKED),
            longer => longer.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        };
        self.mask.copy_from_slice(mask);
        self.turn = 0;
        self.kind = head[0] & 0x0f;
        let known = match self.kind {
            BINARY | CONTINUATION => true,
            PING | PONG => self.left <= CONTROL as u64,
            // Viewers that know no binary messages are long gone.
            _ => false,
        };
        if !known || head[1] & MASKED == 0 || head[0] & 0x70 != 0 {
            return (taken, Piece::End);
        }
        let empty_control = self.left == 0 && !matches!(self.kind, BINARY | CONTINUATION);
        (taken, if empty_control { self.control() } else { Piece::Nothing })
    }

    /// Bytes of the head that has begun, as far as that is known.
    fn head_length(&self) -> usize {
        let longer = match self.head.get(1).map(|second| second & !MASKED) {
            Some(126) => 2,
            Some(127) => 8,
            _ => 0,
        };
        2 + longer + self.mask.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame as a viewer sends it.
    fn sent(kind: u8, content: &[u8]) -> Vec<u8> {
        let mask = [7, 77, 177, 250];
        let mut bytes = vec![kind];
        match content.len() {
            short @ 0..126 => bytes.push(MASKED | u8::try_from(short).unwrap()),
            middle @ 126..65_536 => {
                bytes.push(MASKED + 126);
                bytes.extend(u16::try_from(middle).unwrap().to_be_bytes());
            }
            long => {
                bytes.push(MASKED + 127);
                bytes.extend((long as u64).to_be_bytes());
            }
        }
        bytes.extend(mask);
        bytes.extend(content.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        bytes
    }

    /// What comes out of bytes that arrive in pieces of this size: content, pings, and whether it ended.
    fn received(bytes: &[u8], size: usize) -> (Vec<u8>, Vec<Vec<u8>>, bool) {
        let (mut frames, mut content, mut pings) = (Frames::default(), Vec::new(), Vec::new());
        for piece in bytes.chunks(size) {
            let mut piece = piece.to_vec();
            let mut rest = &mut piece[..];
            while !rest.is_empty() {
                let (taken, piece) = frames.take(rest);
                match piece {
                    Piece::Content(bytes) => content.extend_from_slice(bytes),
                    Piece::Ping(bytes) => pings.push(bytes),
                    Piece::Nothing => {}
                    Piece::End => return (content, pings, true),
                }
                rest = &mut rest[taken..];
            }
        }
        (content, pings, false)
    }

    #[test]
    fn bytes_come_through_whole_however_they_are_cut() {
        let long: Vec<u8> = (0..70_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let bytes = [
            sent(FINAL | BINARY, b"short"),
            sent(BINARY, &long[..300]),
            sent(FINAL | PING, b"there?"),
            sent(FINAL | CONTINUATION, &long),
            sent(FINAL | PING, b""),
            sent(FINAL | PONG, b"x"),
            sent(FINAL | BINARY, b""),
            sent(FINAL | BINARY, b"end"),
        ]
        .concat();
        let expected = [b"short".as_slice(), &long[..300], &long, b"end"].concat();
        for size in [1, 2, 3, 5, 7, 64, 4096, bytes.len()] {
            let (content, pings, ended) = received(&bytes, size);
            assert_eq!(content, expected, "pieces of {size}");
            assert_eq!(pings, [b"there?".to_vec(), Vec::new()]);
            assert!(!ended);
        }
    }

    #[test]
    fn what_no_viewer_says_ends_it() {
        for (what, bytes) in [
            ("text", sent(FINAL | 1, b"hello")),
            ("a farewell", sent(FINAL | CLOSE, &[3, 232])),
            ("an unknown kind", sent(FINAL | 5, b"")),
            ("an extension", sent(FINAL | 0x40 | BINARY, b"x")),
            ("a long ping", sent(FINAL | PING, &[0; 126])),
            ("no mask", vec![FINAL | BINARY, 2, 1, 2, 3, 4]),
        ] {
            for size in [1, bytes.len()] {
                assert!(received(&bytes, size).2, "{what} in pieces of {size}");
            }
        }
    }

    #[test]
    fn our_frames_have_the_shortest_head() {
        for (count, head) in [
            (0, vec![0x82, 0]),
            (125, vec![0x82, 125]),
            (126, vec![0x82, 126, 0, 126]),
            (65_535, vec![0x82, 126, 255, 255]),
            (65_536, vec![0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            let mut buffer = [9; HEAD + 1];
            let at = head_before(&mut buffer, count);
            assert_eq!(buffer[at..HEAD], head, "{count} bytes");
            assert_eq!(buffer[HEAD], 9);
        }
        assert_eq!(Control::Close(1001, "bye").bytes(), b"\x88\x05\x03\xe9bye");
        assert_eq!(Control::Pong(b"hi".to_vec()).bytes(), b"\x8a\x02hi");
    }
}
