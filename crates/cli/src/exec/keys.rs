//! Keys on their way to a terminal: whole characters only, and the word that leaves it, `~.` at the beginning of a line.

/// What came of keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Typed {
    /// What is to be typed in the sandbox.
    pub(super) text: String,
    /// Whether the person wants to leave.
    pub(super) leave: bool,
}

/// Keys as they come.
#[derive(Debug)]
pub(super) struct Keys {
    /// The beginning of a character.
    rest: Vec<u8>,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    LineStart,
    /// Behind a `~` at the beginning of a line, which is held back.
    Tilde,
    Inside,
}

impl Keys {
    pub(super) fn new() -> Self {
        Self { rest: Vec::new(), place: Place::LineStart }
    }

    /// Takes the next bytes of the keyboard.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Typed {
        self.rest.extend_from_slice(bytes);
        let complete = match std::str::from_utf8(&self.rest) {
            // The rest of a character is still to come; what can never become one is passed on as it can be shown.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let bytes: Vec<u8> = self.rest.drain(..complete).collect();
        let mut text = String::new();
        for char in String::from_utf8_lossy(&bytes).chars() {
            match (self.place, char) {
                (Place::LineStart, '~') => {
                    self.place = Place::Tilde;
                    continue;
                }
                (Place::Tilde, '.') => return Typed { text, leave: true },
                (Place::Tilde, '~') => {}
                (Place::Tilde, _) => text.push('~'),
                _ => {}
            }
            text.push(char);
            self.place = if matches!(char, '\r' | '\n' | '\u{3}') {
                Place::LineStart
            } else {
                Place::Inside
            };
        }
        Typed { text, leave: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pieces: &[&[u8]]) -> (String, bool) {
        let mut keys = Keys::new();
        let mut text = String::new();
        for piece in pieces {
            let typed = keys.take(piece);
            text.push_str(&typed.text);
            if typed.leave {
                return (text, true);
            }
        }
        (text, false)
    }

    #[test]
    fn a_tilde_and_a_dot_leave_only_at_the_beginning_of_a_line() {
        assert_eq!(typed(&[b"~."]), (String::new(), true));
        assert_eq!(typed(&[b"ls\r", b"~", b"."]), ("ls\r".to_owned(), true));
        assert_eq!(typed(&[b"cd ~.ssh\r"]), ("cd ~.ssh\r".to_owned(), false));
        assert_eq!(typed(&[b"~~.\r~x"]), ("~.\r~x".to_owned(), false));
    }

    #[test]
    fn characters_stay_whole_however_they_come() {
        let (first, second) = "é".as_bytes().split_at(1);
        assert_eq!(typed(&[b"a", first, second]), ("aé".to_owned(), false));
        assert_eq!(typed(&[b"a\xffb"]), ("a\u{fffd}b".to_owned(), false));
    }
}
