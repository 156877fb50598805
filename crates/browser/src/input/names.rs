//! What keys are called: as pages do (`Enter`, `ArrowLeft`), as pyautogui does (`enter`, `left`, `ctrl`), and as X does
//! (`Return`, `Left`, `Control_L`). Names count in any case.

use crate::element::ElementError;
use crate::input::Key;

impl Key {
    /// The key with a name, or the one that types a character.
    pub fn parse(name: &str) -> Result<Self, ElementError> {
        let mut characters = name.chars();
        if let (Some(character), None) = (characters.next(), characters.next()) {
            return Ok(Self::typing(character).unwrap_or_else(|| {
                let text = character.to_string();
                Self::named(&text, "", 0, &text)
            }));
        }
        let folded = name.trim().to_ascii_lowercase();
        named(&folded)
            .or_else(|| function_key(&folded))
            .or_else(|| by_place(&folded))
            .or_else(|| punctuation(&folded))
            .ok_or_else(|| ElementError::UnknownKey { key: name.to_owned() })
    }

    /// The keys of a combination such as `ctrl+shift+t`; a single key is one too.
    pub fn parse_combination(text: &str) -> Result<Vec<Self>, ElementError> {
        if text.chars().count() < 2 {
            return Ok(vec![Self::parse(text)?]);
        }
        // A plus at the end is the key that is pressed.
        let (front, plus) = match text.strip_suffix("++") {
            Some(front) => (front, true),
            None => (text, false),
        };
        let mut keys = front.split('+').map(Self::parse).collect::<Result<Vec<_>, _>>()?;
        if plus {
            keys.push(Self::parse("+")?);
        }
        Ok(keys)
    }
}

fn named(name: &str) -> Option<Key> {
    let (key, code, key_code) = match name {
        "enter" | "return" => return Some(Key::named("Enter", "Enter", 13, "\r")),
        "numpadenter" | "kp_enter" => {
            return Some(Key { location: 3, ..Key::named("Enter", "NumpadEnter", 13, "\r") });
        }
        "space" | "spacebar" => return Key::typing(' '),
        "ctrl" | "control" | "ctrlleft" | "controlleft" | "control_l" => {
            return Some(side("Control", "ControlLeft", 17, 1));
        }
        "ctrlright" | "controlright" | "control_r" => {
            return Some(side("Control", "ControlRight", 17, 2));
        }
        "shift" | "shiftleft" | "shift_l" => return Some(side("Shift", "ShiftLeft", 16, 1)),
        "shiftright" | "shift_r" => return Some(side("Shift", "ShiftRight", 16, 2)),
        "alt" | "altleft" | "alt_l" | "option" | "optionleft" => {
            return Some(side("Alt", "AltLeft", 18, 1));
        }
        "altright" | "alt_r" | "optionright" => return Some(side("Alt", "AltRight", 18, 2)),
        "altgraph" | "altgr" | "iso_level3_shift" => {
            return Some(side("AltGraph", "AltRight", 225, 2));
        }
        "meta" | "metaleft" | "meta_l" | "win" | "winleft" | "windows" | "command" | "cmd"
        | "super" | "super_l" | "os" => return Some(side("Meta", "MetaLeft", 91, 1)),
        "metaright" | "meta_r" | "winright" | "super_r" => {
            return Some(side("Meta", "MetaRight", 92, 2));
        }
        // Control on every system a sandbox runs on.
        "controlormeta" => return Some(side("Control", "ControlLeft", 17, 1)),
        "esc" | "escape" => ("Escape", "Escape", 27),
        "tab" => ("Tab", "Tab", 9),
        "backspace" => ("Backspace", "Backspace", 8),
        "delete" | "del" => ("Delete", "Delete", 46),
        "insert" | "ins" => ("Insert", "Insert", 45),
        "home" => ("Home", "Home", 36),
        "end" => ("End", "End", 35),
        "pageup" | "pgup" | "page_up" | "prior" => ("PageUp", "PageUp", 33),
        "pagedown" | "pgdn" | "page_down" | "next" => ("PageDown", "PageDown", 34),
        "up" | "arrowup" => ("ArrowUp", "ArrowUp", 38),
        "down" | "arrowdown" => ("ArrowDown", "ArrowDown", 40),
        "left" | "arrowleft" => ("ArrowLeft", "ArrowLeft", 37),
        "right" | "arrowright" => ("ArrowRight", "ArrowRight", 39),
        "capslock" | "caps_lock" => ("CapsLock", "CapsLock", 20),
        "numlock" | "num_lock" => ("NumLock", "NumLock", 144),
        "scrolllock" | "scroll_lock" => ("ScrollLock", "ScrollLock", 145),
        "printscreen" | "prtsc" | "prtscr" | "prntscrn" | "print" => {
            ("PrintScreen", "PrintScreen", 44)
        }
        "pause" => ("Pause", "Pause", 19),
        "apps" | "menu" | "contextmenu" => ("ContextMenu", "ContextMenu", 93),
        "browserback" => ("BrowserBack", "BrowserBack", 166),
        "browserforward" => ("BrowserForward", "BrowserForward", 167),
        "browserrefresh" => ("BrowserRefresh", "BrowserRefresh", 168),
        "volumemute" | "audiovolumemute" => ("AudioVolumeMute", "AudioVolumeMute", 173),
        "volumedown" | "audiovolumedown" => ("AudioVolumeDown", "AudioVolumeDown", 174),
        "volumeup" | "audiovolumeup" => ("AudioVolumeUp", "AudioVolumeUp", 175),
        "playpause" | "mediaplaypause" => ("MediaPlayPause", "MediaPlayPause", 179),
        _ => return None,
    };
    Some(Key::named(key, code, key_code, ""))
}

fn side(key: &str, code: &'static str, key_code: u16, location: u8) -> Key {
    Key { location, ..Key::named(key, code, key_code, "") }
}

fn function_key(name: &str) -> Option<Key> {
    const CODES: [&str; 24] = [
        "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12", "F13", "F14",
        "F15", "F16", "F17", "F18", "F19", "F20", "F21", "F22", "F23", "F24",
    ];
    let number: u16 = name.strip_prefix('f')?.parse().ok()?;
    let code = CODES.get(usize::from(number.checked_sub(1)?))?;
    Some(Key::named(code, code, 111 + number, ""))
}

/// Keys by where they are: `KeyA`, `Digit1`, `Numpad5`, pyautogui's `num5`, X's `KP_5`.
fn by_place(name: &str) -> Option<Key> {
    let single = |text: &str| {
        let mut characters = text.chars();
        characters.next().filter(|_| characters.next().is_none())
    };
    if let Some(letter) = name.strip_prefix("key").and_then(single) {
        return Key::typing(letter).filter(|_| letter.is_ascii_alphabetic());
    }
    if let Some(digit) = name.strip_prefix("digit").and_then(single) {
        return Key::typing(digit).filter(|_| digit.is_ascii_digit());
    }
    let pad = ["numpad", "num", "kp_"].iter().find_map(|start| name.strip_prefix(start));
    if let Some(digit) = pad.and_then(single).filter(char::is_ascii_digit) {
        const CODES: [&str; 10] = [
            "Numpad0", "Numpad1", "Numpad2", "Numpad3", "Numpad4", "Numpad5", "Numpad6", "Numpad7",
            "Numpad8", "Numpad9",
        ];
        let at = digit as u8 - b'0';
        let text = digit.to_string();
        let key = Key::named(&text, CODES[usize::from(at)], u16::from(96 + at), &text);
        return Some(Key { location: 3, ..key });
    }
    let (text, code, key_code) = match pad.unwrap_or(name) {
        "add" => ("+", "NumpadAdd", 107),
        "subtract" => ("-", "NumpadSubtract", 109),
        "multiply" => ("*", "NumpadMultiply", 106),
        "divide" => ("/", "NumpadDivide", 111),
        "decimal" => (".", "NumpadDecimal", 110),
        _ => return None,
    };
    Some(Key { location: 3, ..Key::named(text, code, key_code, text) })
}

/// Characters by the names X and pages have for them.
fn punctuation(name: &str) -> Option<Key> {
    let character = match name {
        "period" => '.',
        "comma" => ',',
        "minus" | "hyphen" => '-',
        "plus" => '+',
        "equal" => '=',
        "underscore" => '_',
        "slash" => '/',
        "backslash" => '\\',
        "semicolon" => ';',
        "colon" => ':',
        "apostrophe" | "quote" | "quoteright" => '\'',
        "quotedbl" => '"',
        "grave" | "backquote" | "quoteleft" => '`',
        "asciitilde" => '~',
        "bracketleft" => '[',
        "bracketright" => ']',
        "braceleft" => '{',
        "braceright" => '}',
        "parenleft" => '(',
        "parenright" => ')',
        "exclam" => '!',
        "at" => '@',
        "numbersign" => '#',
        "dollar" => '$',
        "percent" => '%',
        "asciicircum" => '^',
        "ampersand" => '&',
        "asterisk" => '*',
        "question" => '?',
        "less" => '<',
        "greater" => '>',
        "bar" => '|',
        _ => return None,
    };
    Key::typing(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> String {
        Key::parse(name).unwrap().key
    }

    #[test]
    fn keys_have_names_of_three_systems() {
        for (names, expected) in [
            (&["Enter", "enter", "Return"][..], "Enter"),
            (&["ctrl", "Control", "Control_L", "ctrlleft"], "Control"),
            (&["pageup", "PageUp", "Prior", "pgup"], "PageUp"),
            (&["esc", "Escape"], "Escape"),
            (&["left", "ArrowLeft", "Left"], "ArrowLeft"),
            (&["BackSpace", "backspace"], "Backspace"),
            (&["F5", "f5"], "F5"),
            (&["space", " "], " "),
            (&["a", "KeyA"], "a"),
            (&["num7", "Numpad7", "KP_7", "7"], "7"),
            (&["period", "."], "."),
            (&["win", "Super_L", "command", "Meta"], "Meta"),
        ] {
            for name in names {
                assert_eq!(key(name), expected, "{name}");
            }
        }
        assert_eq!(key("é"), "é");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for name in ["", "hello", "f25", "f0", "keyé", "ctrl-a"] {
            assert!(Key::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_combination_is_taken_apart_at_its_pluses() {
        let keys = |text| -> Vec<String> {
            Key::parse_combination(text).unwrap().into_iter().map(|key| key.key).collect()
        };
        assert_eq!(keys("ctrl+shift+t"), ["Control", "Shift", "t"]);
        assert_eq!(keys("Control++"), ["Control", "+"]);
        assert_eq!(keys("+"), ["+"]);
        assert_eq!(keys("Enter"), ["Enter"]);
        assert!(Key::parse_combination("ctrl+").is_err());
    }
}
