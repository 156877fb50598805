//! From what a terminal received to the text a person reads: no control sequences, lines as they finally stood.
//!
//! Lines may be of any length. Carriage returns and backspaces overwrite, erasing erases, so a progress bar leaves only
//! its last state. Movement between lines is ignored: full-screen programs are rendered by `screen` instead.

/// The text of a terminal's stream.
pub(super) fn clean_output(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut cleaner = Cleaner::default();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\x1b' => cleaner.escape(&mut characters),
            '\n' => cleaner.end_line(),
            '\r' => cleaner.column = 0,
            '\x08' => cleaner.column = cleaner.column.saturating_sub(1),
            '\t' => cleaner.put('\t'),
            character if character.is_control() => {}
            character => cleaner.put(character),
        }
    }
    cleaner.flush_line();
    cleaner.text
}

/// A cursor never moves further than this: a hostile sequence must not allocate for ever.
const WIDEST_MOVE: usize = 4096;

#[derive(Default)]
struct Cleaner {
    text: String,
    line: Vec<char>,
    column: usize,
}

impl Cleaner {
    fn put(&mut self, character: char) {
        while self.line.len() < self.column {
            self.line.push(' ');
        }
        if let Some(cell) = self.line.get_mut(self.column) {
            *cell = character;
        } else {
            self.line.push(character);
        }
        self.column += 1;
    }

    fn flush_line(&mut self) {
        self.text.extend(self.line.drain(..));
        self.column = 0;
    }

    fn end_line(&mut self) {
        self.flush_line();
        self.text.push('\n');
    }

    fn escape(&mut self, characters: &mut std::str::Chars<'_>) {
        match characters.next() {
            Some('[') => self.control_sequence(characters),
            // Strings: title and other commands, ended by BEL or ESC \.
            Some(']' | 'P' | '^' | '_' | 'X') => {
                while let Some(character) = characters.next() {
                    match character {
                        '\x07' => return,
                        '\x1b' => {
                            if characters.clone().next() == Some('\\') {
                                characters.next();
                            }
                            return;
                        }
                        // An unended string must not swallow the output that follows it.
                        '\n' => return self.end_line(),
                        _ => {}
                    }
                }
            }
            // Character sets and the like take one more character.
            Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => {
                characters.next();
            }
            Some('\n') => self.end_line(),
            Some(_) | None => {}
        }
    }

    fn control_sequence(&mut self, characters: &mut std::str::Chars<'_>) {
        let mut parameters = String::new();
        for character in characters.by_ref() {
            match character {
                '\x20'..='\x3f' => parameters.push(character),
                '\x40'..='\x7e' => return self.carry_out(character, &parameters),
                '\n' => return self.end_line(),
                _ => return,
            }
        }
    }

    fn carry_out(&mut self, command: char, parameters: &str) {
        let number = parameters.split(';').next().and_then(|text| text.parse::<usize>().ok());
        let distance = number.unwrap_or(1).clamp(1, WIDEST_MOVE);
        match (command, number.unwrap_or(0)) {
            ('K', 0) => self.line.truncate(self.column),
            ('K', 1) => self.line.iter_mut().take(self.column + 1).for_each(|cell| *cell = ' '),
            ('K', _) => self.line.clear(),
            ('G', _) => self.column = distance - 1,
            ('C', _) => self.column = (self.column + distance).min(self.line.len() + WIDEST_MOVE),
            ('D', _) => self.column = self.column.saturating_sub(distance),
            ('P', _) => {
                let end = (self.column + distance).min(self.line.len());
                if self.column < end {
                    self.line.drain(self.column..end);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_what_a_person_reads() {
        let cases: [(&[u8], &str); 12] = [
            (b"plain\r\nlines\r\n", "plain\nlines\n"),
            (b"\x1b[31mred\x1b[0m \x1b[1;4mbold\x1b[m\r\n", "red bold\n"),
            (b"10%\r50%\r100%\r\n", "100%\n"),
            (b"longer\rab\r\n", "abnger\n"),
            (b"longer\r\x1b[Kab\r\n", "ab\n"),
            (b"abc\x08\x08X\r\n", "aXc\n"),
            (b"\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "textlink"),
            (b"\x1b(Bset\x1b[?2004h\x1b[?25l", "set"),
            (b"tab\tkept\x07bell", "tab\tkeptbell"),
            (b"\x1b]0;never ended\nnext", "\nnext"),
            (b"bad \xff byte", "bad \u{fffd} byte"),
            ("ünïcödé\r日本\r\n".as_bytes(), "日本ïcödé\n"),
        ];
        for (stream, text) in cases {
            assert_eq!(clean_output(stream), text, "{:?}", String::from_utf8_lossy(stream));
        }
    }

    proptest! {
        #[test]
        fn plain_text_survives(text in "[ -~äöü日本\n\t]{0,200}") {
            prop_assert_eq!(clean_output(text.replace('\n', "\r\n").as_bytes()), text);
        }

        #[test]
        fn nothing_makes_it_panic_or_keep_a_control(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let clean = clean_output(&bytes);
            prop_assert!(clean.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
        }
    }
}
