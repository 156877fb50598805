//! What a viewer that only watches may say: how it wants the picture, never what to do with the desktop.
//!
//! The messages of RFB are taken apart as they come, in whatever pieces. Keys, pointer, clipboard and size are left out;
//! a message nobody knows ends the connection, since what comes behind it cannot be told apart any more.

/// The longest message that is passed on whole: a list of all encodings there can be.
const LONGEST: usize = 4 + 4 * 65_535;
const VERSION: usize = 12;

/// The stream of a viewer that only watches.
#[derive(Debug, Default)]
pub(super) struct Watching {
    greeting: Greeting,
    /// The beginning of a message whose rest has not come.
    pending: Vec<u8>,
    /// Bytes to come of a message that is left out.
    skip: u64,
}

/// How far the greeting is, which server and viewer hold by turns.
#[derive(Debug, Default)]
enum Greeting {
    /// The version is to come.
    #[default]
    Version,
    /// So many bytes are to come: a choice of security, and whether others may stay.
    Choices(u8),
    Over,
}

/// What becomes of the message that begins here.
enum Step {
    /// It is passed on; so many bytes.
    Pass(usize),
    /// It is left out; so many bytes.
    Leave(u64),
    /// More of it must come first.
    Wait,
    /// Nobody knows it.
    Unknown,
}

impl Watching {
    /// What of these bytes is passed on; `None` when the connection must end.
    pub(super) fn admit(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.pending.extend_from_slice(bytes);
        let mut admitted = Vec::new();
        let mut at = 0;
        loop {
            let left = self.pending.get(at..).unwrap_or_default();
            if self.skip > 0 {
                let now = left.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
                self.skip -= now as u64;
                at += now;
                if self.skip > 0 {
                    break;
                }
                continue;
            }
            let step = match self.greeting {
                Greeting::Version => Step::Pass(VERSION),
                Greeting::Choices(_) => Step::Pass(1),
                Greeting::Over => message(left),
            };
            match step {
                Step::Pass(length) if left.len() >= length => {
                    admitted.extend(left.iter().take(length));
                    self.greeting = self.greeting.after(left);
                    at += length;
                }
                Step::Leave(length) => self.skip = length,
                Step::Unknown => return None,
                Step::Pass(length) if length > LONGEST => return None,
                Step::Pass(_) | Step::Wait => break,
            }
        }
        self.pending.drain(..at);
        Some(admitted)
    }
}

impl Greeting {
    /// What follows what was just said.
    fn after(&self, said: &[u8]) -> Self {
        match self {
            // Versions of old leave the choice of security to the server.
            Self::Version if said.starts_with(b"RFB 003.003\n") => Self::Choices(1),
            Self::Version => Self::Choices(2),
            Self::Choices(2) => Self::Choices(1),
            Self::Choices(_) | Self::Over => Self::Over,
        }
    }
}

fn message(bytes: &[u8]) -> Step {
    let short = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let length = |fixed: u64, counted: Option<u64>| match counted {
        Some(counted) => Step::Leave(fixed + counted),
        None => Step::Wait,
    };
    match bytes.first() {
        None => Step::Wait,
        // How pixels shall be sent, which encodings are known, that a picture is wanted.
        Some(0) => Step::Pass(20),
        Some(2) => short(2).map_or(Step::Wait, |count| Step::Pass(4 + 4 * usize::from(count))),
        Some(3 | 150) => Step::Pass(10),
        // A fence, which only measures time.
        Some(248) => bytes.get(8).map_or(Step::Wait, |count| Step::Pass(9 + usize::from(*count))),
        // Keys and pointer.
        Some(4) => Step::Leave(8),
        Some(5) => Step::Leave(6),
        // The clipboard; a negative length tells of its other form.
        Some(6) => {
            let field = bytes.get(4..8).and_then(|field| <[u8; 4]>::try_from(field).ok());
            length(8, field.map(|field| u64::from(i32::from_be_bytes(field).unsigned_abs())))
        }
        // Another size of the screen.
        Some(251) => length(8, bytes.get(6).map(|screens| 16 * u64::from(*screens))),
        // Keys by their place on the keyboard.
        Some(255) => match bytes.get(1) {
            None => Step::Wait,
            Some(0) => Step::Leave(12),
            Some(_) => Step::Unknown,
        },
        Some(_) => Step::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script() -> (Vec<u8>, Vec<u8>) {
        let greeting = b"RFB 003.008\n\x01\x01".to_vec();
        let format = [&[0; 4][..], &[7; 16]].concat();
        let encodings = vec![2, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7];
        let update = vec![3, 0, 0, 0, 0, 0, 4, 0, 3, 0];
        let fence = vec![248, 0, 0, 0, 0, 0, 0, 1, 2, 9, 9];
        let key = vec![4, 1, 0, 0, 0, 0, 0, 97];
        let pointer = vec![5, 1, 0, 10, 0, 10];
        let text = vec![6, 0, 0, 0, 0, 0, 0, 3, 4, 5, 6];
        let other_text = vec![6, 0, 0, 0, 0xff, 0xff, 0xff, 0xfc, 0, 0, 0, 1];
        let resize = [&[251, 0, 4, 0, 3, 0, 1, 0][..], &[3; 16]].concat();
        let scan_code = vec![255, 0, 0, 1, 0, 0, 0, 97, 0, 0, 0, 30];
        let sent = [
            &greeting,
            &format,
            &key,
            &encodings,
            &pointer,
            &text,
            &update,
            &other_text,
            &resize,
            &fence,
            &scan_code,
            &update,
        ];
        let passed = [&greeting, &format, &encodings, &update, &fence, &update];
        (sent.map(Vec::as_slice).concat(), passed.map(Vec::as_slice).concat())
    }

    #[test]
    fn only_what_concerns_the_picture_is_passed_on_however_it_is_cut() {
        let (sent, expected) = script();
        for size in [1, 2, 3, 7, 64, sent.len()] {
            let mut watching = Watching::default();
            let passed: Vec<u8> =
                sent.chunks(size).flat_map(|piece| watching.admit(piece).unwrap()).collect();
            assert_eq!(passed, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn the_greeting_passes_word_by_word_since_each_waits_for_an_answer() {
        let mut watching = Watching::default();
        for said in [&b"RFB 003.008\n"[..], b"\x01", b"\x01"] {
            assert_eq!(watching.admit(said).unwrap(), said);
        }
        let mut old = Watching::default();
        for said in [&b"RFB 003.003\n"[..], b"\x01"] {
            assert_eq!(old.admit(said).unwrap(), said);
        }
        assert!(old.admit(&[5, 1, 0, 10, 0, 10]).unwrap().is_empty());
    }

    #[test]
    fn a_message_nobody_knows_ends_the_connection() {
        let mut watching = Watching::default();
        assert!(watching.admit(b"RFB 003.008\n\x01\x01").is_some());
        assert!(watching.admit(&[99, 0, 0]).is_none());
    }

    #[test]
    fn a_long_text_is_left_out_without_being_kept() {
        let mut watching = Watching { greeting: Greeting::Over, ..Watching::default() };
        watching.admit(&[6, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff]).unwrap();
        let piece = vec![0; 1 << 16];
        for _ in 0..100 {
            watching.admit(&piece).unwrap();
            assert!(watching.pending.is_empty());
        }
    }
}
