//! Keys of a US keyboard: what each is to a page.

/// A key as it is pressed: its place on the keyboard, what it means, and what it types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// What it means, as pages are told: `a`, `Enter`, `ArrowLeft`.
    pub key: String,
    /// Where it is: `KeyA`, `Enter`; empty for a character no key of this layout types.
    pub code: &'static str,
    /// The number old pages look at.
    pub key_code: u16,
    /// What it types, if anything.
    pub text: String,
    /// 1 and 2 for what is there twice, left and right; 3 for the number pad.
    pub location: u8,
    /// What it means while shift is down, if that differs.
    pub shifted: Option<char>,
}

/// Keys that change what others mean, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Modifiers(pub(crate) u8);

impl Modifiers {
    pub(crate) const ALT: u8 = 1;
    pub(crate) const CONTROL: u8 = 2;
    pub(crate) const META: u8 = 4;
    pub(crate) const SHIFT: u8 = 8;

    pub(crate) fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

impl Key {
    /// The bit of a key that changes what others mean; 0 for any other.
    pub(crate) fn modifier(&self) -> u8 {
        match self.key.as_str() {
            "Alt" => Modifiers::ALT,
            "Control" => Modifiers::CONTROL,
            "Meta" => Modifiers::META,
            "Shift" => Modifiers::SHIFT,
            _ => 0,
        }
    }

    /// The key that types a character on a US keyboard. Its shifted twin is the same key with another meaning.
    pub(crate) fn typing(character: char) -> Option<Self> {
        let plain = |key: char, code, key_code, shifted| Self {
            key: key.to_string(),
            code,
            key_code,
            text: key.to_string(),
            location: 0,
            shifted,
        };
        match character {
            '\n' | '\r' => return Some(Self::named("Enter", "Enter", 13, "\r")),
            '\t' => return Some(Self::named("Tab", "Tab", 9, "")),
            ' ' => return Some(plain(' ', "Space", 32, None)),
            _ => {}
        }
        if character.is_ascii_alphabetic() {
            let upper = character.to_ascii_uppercase();
            let at = usize::from(upper as u8 - b'A');
            let shifted = character.is_ascii_lowercase().then_some(upper);
            return Some(plain(character, LETTERS[at], u16::from(upper as u8), shifted));
        }
        PLACES.iter().find_map(|&(low, high, code, key_code)| {
            (character == low || character == high)
                .then(|| plain(character, code, key_code, (character == low).then_some(high)))
        })
    }

    pub(crate) fn named(key: &str, code: &'static str, key_code: u16, text: &str) -> Self {
        let (key, text) = (key.to_owned(), text.to_owned());
        Self { key, code, key_code, text, location: 0, shifted: None }
    }

    /// The key as it is while others are down: shift changes characters, control, alt and meta type nothing.
    pub(crate) fn with(mut self, modifiers: Modifiers) -> Self {
        if let Some(shifted) = self.shifted.filter(|_| modifiers.has(Modifiers::SHIFT)) {
            self.key = shifted.to_string();
            self.text.clone_from(&self.key);
        }
        let commands = Modifiers::CONTROL | Modifiers::ALT | Modifiers::META;
        if modifiers.0 & commands != 0 {
            self.text.clear();
        }
        self
    }
}

const LETTERS: [&str; 26] = [
    "KeyA", "KeyB", "KeyC", "KeyD", "KeyE", "KeyF", "KeyG", "KeyH", "KeyI", "KeyJ", "KeyK", "KeyL",
    "KeyM", "KeyN", "KeyO", "KeyP", "KeyQ", "KeyR", "KeyS", "KeyT", "KeyU", "KeyV", "KeyW", "KeyX",
    "KeyY", "KeyZ",
];

/// Characters without and with shift, the place of their key and its number.
const PLACES: [(char, char, &str, u16); 21] = [
    ('0', ')', "Digit0", 48),
    ('1', '!', "Digit1", 49),
    ('2', '@', "Digit2", 50),
    ('3', '#', "Digit3", 51),
    ('4', '$', "Digit4", 52),
    ('5', '%', "Digit5", 53),
    ('6', '^', "Digit6", 54),
    ('7', '&', "Digit7", 55),
    ('8', '*', "Digit8", 56),
    ('9', '(', "Digit9", 57),
    (';', ':', "Semicolon", 186),
    ('=', '+', "Equal", 187),
    (',', '<', "Comma", 188),
    ('-', '_', "Minus", 189),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
    ('`', '~', "Backquote", 192),
    ('[', '{', "BracketLeft", 219),
    ('\\', '|', "Backslash", 220),
    (']', '}', "BracketRight", 221),
    ('\'', '"', "Quote", 222),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printable_ascii_character_has_a_key() {
        for character in (' '..='~').chain(['\n', '\t']) {
            let key = Key::typing(character).unwrap_or_else(|| panic!("no key for {character:?}"));
            assert!(!key.code.is_empty() && key.key_code > 0, "{key:?}");
        }
        assert!(Key::typing('é').is_none() && Key::typing('漢').is_none());
    }

    #[test]
    fn shift_changes_what_a_key_types_and_control_keeps_it_from_typing() {
        let a = Key::typing('a').unwrap();
        assert_eq!(a.clone().with(Modifiers(Modifiers::SHIFT)).text, "A");
        let one = Key::typing('1').unwrap().with(Modifiers(Modifiers::SHIFT));
        assert_eq!((one.key.as_str(), one.code, one.key_code), ("!", "Digit1", 49));
        assert_eq!(a.with(Modifiers(Modifiers::CONTROL)).text, "");
    }
}
