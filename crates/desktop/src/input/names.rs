//! What keys are called: as pyautogui calls them, as web pages do, and as X does.

use std::collections::HashMap;
use std::sync::OnceLock;

use xkeysym::{Keysym, key};

/// Names beside X's own, in small letters.
const NAMES: &[(&str, u32)] = &[
    ("ctrl", key::Control_L),
    ("control", key::Control_L),
    ("ctrlleft", key::Control_L),
    ("controlleft", key::Control_L),
    ("ctrlright", key::Control_R),
    ("controlright", key::Control_R),
    ("shift", key::Shift_L),
    ("shiftleft", key::Shift_L),
    ("shiftright", key::Shift_R),
    ("alt", key::Alt_L),
    ("altleft", key::Alt_L),
    ("option", key::Alt_L),
    ("optionleft", key::Alt_L),
    ("altright", key::Alt_R),
    ("optionright", key::Alt_R),
    ("altgr", key::ISO_Level3_Shift),
    ("altgraph", key::ISO_Level3_Shift),
    ("win", key::Super_L),
    ("winleft", key::Super_L),
    ("winright", key::Super_R),
    ("windows", key::Super_L),
    ("super", key::Super_L),
    ("meta", key::Super_L),
    ("metaleft", key::Super_L),
    ("metaright", key::Super_R),
    ("command", key::Super_L),
    ("cmd", key::Super_L),
    ("os", key::Super_L),
    ("enter", key::Return),
    ("return", key::Return),
    ("numpadenter", key::KP_Enter),
    ("esc", key::Escape),
    ("escape", key::Escape),
    ("tab", key::Tab),
    ("space", key::space),
    ("spacebar", key::space),
    ("backspace", key::BackSpace),
    ("back", key::BackSpace),
    ("del", key::Delete),
    ("delete", key::Delete),
    ("ins", key::Insert),
    ("insert", key::Insert),
    ("home", key::Home),
    ("end", key::End),
    ("pageup", key::Page_Up),
    ("pgup", key::Page_Up),
    ("prior", key::Page_Up),
    ("pagedown", key::Page_Down),
    ("pgdn", key::Page_Down),
    ("pgdown", key::Page_Down),
    ("next", key::Page_Down),
    ("up", key::Up),
    ("arrowup", key::Up),
    ("down", key::Down),
    ("arrowdown", key::Down),
    ("left", key::Left),
    ("arrowleft", key::Left),
    ("right", key::Right),
    ("arrowright", key::Right),
    ("capslock", key::Caps_Lock),
    ("numlock", key::Num_Lock),
    ("scrolllock", key::Scroll_Lock),
    ("print", key::Print),
    ("printscreen", key::Print),
    ("prntscrn", key::Print),
    ("prtsc", key::Print),
    ("prtscr", key::Print),
    ("pause", key::Pause),
    ("break", key::Break),
    ("apps", key::Menu),
    ("menu", key::Menu),
    ("contextmenu", key::Menu),
    ("help", key::Help),
    ("add", key::KP_Add),
    ("numpadadd", key::KP_Add),
    ("subtract", key::KP_Subtract),
    ("numpadsubtract", key::KP_Subtract),
    ("multiply", key::KP_Multiply),
    ("numpadmultiply", key::KP_Multiply),
    ("divide", key::KP_Divide),
    ("numpaddivide", key::KP_Divide),
    ("decimal", key::KP_Decimal),
    ("numpaddecimal", key::KP_Decimal),
    ("separator", key::KP_Separator),
    ("plus", key::plus),
    ("minus", key::minus),
    ("equal", key::equal),
    ("equals", key::equal),
    ("comma", key::comma),
    ("period", key::period),
    ("dot", key::period),
    ("slash", key::slash),
    ("backslash", key::backslash),
    ("semicolon", key::semicolon),
    ("quote", key::apostrophe),
    ("backquote", key::grave),
    ("bracketleft", key::bracketleft),
    ("bracketright", key::bracketright),
    ("volumeup", key::XF86_AudioRaiseVolume),
    ("volumedown", key::XF86_AudioLowerVolume),
    ("volumemute", key::XF86_AudioMute),
    ("playpause", key::XF86_AudioPlay),
    ("nexttrack", key::XF86_AudioNext),
    ("prevtrack", key::XF86_AudioPrev),
    ("browserback", key::XF86_Back),
    ("browserforward", key::XF86_Forward),
    ("browserrefresh", key::XF86_Refresh),
    ("browserhome", key::XF86_HomePage),
];

/// Names for keys that every keyboard has, for documents.
pub fn key_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name)
}

/// The keys a name speaks of: `ctrl+c` of two.
pub(super) fn parts(name: &str) -> Vec<&str> {
    let name = if name.chars().count() > 1 { name.trim() } else { name };
    if !name.contains('+') || name.chars().count() < 3 || find_whole(name).is_some() {
        return vec![name];
    }
    // A plus at the end is the key itself.
    let (rest, plus) = match name.strip_suffix("++") {
        Some(rest) => (rest, true),
        None => (name, false),
    };
    let mut parts: Vec<_> = rest.split('+').map(str::trim).collect();
    if plus {
        parts.push("+");
    }
    parts
}

/// The key of a name.
pub(super) fn find(name: &str) -> Option<Keysym> {
    find_whole(name)
}

fn find_whole(name: &str) -> Option<Keysym> {
    let mut characters = name.chars();
    if let (Some(character), None) = (characters.next(), characters.next()) {
        return match character {
            '\n' | '\r' => Some(Keysym::new(key::Return)),
            '\t' => Some(Keysym::new(key::Tab)),
            other if other.is_control() => None,
            other => Some(Keysym::from_char(other)),
        };
    }
    let small: String =
        name.chars().filter(|character| !" _-".contains(*character)).collect::<String>();
    let small = small.to_lowercase();
    let known = NAMES.iter().find(|(known, _)| *known == small).map(|(_, symbol)| *symbol);
    known
        .map(Keysym::new)
        .or_else(|| function(&small))
        .or_else(|| numbered(&small))
        .or_else(|| x_names().get(name).copied())
        .or_else(|| x_names().get(small.as_str()).copied())
        .or_else(|| unicode(&small))
}

fn function(name: &str) -> Option<Keysym> {
    let number: u32 = name.strip_prefix('f')?.parse().ok()?;
    (1..=35).contains(&number).then(|| Keysym::new(key::F1 + number - 1))
}

/// `keya` and `digit1` of web pages; `num1` and `numpad1` of the number pad.
fn numbered(name: &str) -> Option<Keysym> {
    let one = |text: &str| {
        let mut characters = text.chars();
        characters.next().filter(|_| characters.next().is_none())
    };
    if let Some(letter) = name.strip_prefix("key").and_then(one) {
        return letter.is_ascii_lowercase().then(|| Keysym::from_char(letter));
    }
    if let Some(digit) = name.strip_prefix("digit").and_then(one) {
        return digit.is_ascii_digit().then(|| Keysym::from_char(digit));
    }
    let pad = name.strip_prefix("numpad").or_else(|| name.strip_prefix("num"))?;
    let digit = one(pad)?.to_digit(10)?;
    Some(Keysym::new(key::KP_0 + digit))
}

fn unicode(name: &str) -> Option<Keysym> {
    let digits = name.strip_prefix("u+").or_else(|| name.strip_prefix('u'))?;
    let long_enough = (4..=6).contains(&digits.len());
    let value = u32::from_str_radix(digits, 16).ok().filter(|_| long_enough)?;
    char::from_u32(value).filter(|character| !character.is_control()).map(Keysym::from_char)
}

/// A name as X programs write it, from the constant's.
fn x_name(constant: &str) -> String {
    match constant.strip_prefix("XF86XK_") {
        Some(name) => format!("XF86{name}"),
        None => constant.trim_start_matches("XK_").to_owned(),
    }
}

/// X's own names, as they are and in small letters where that is no other's name.
fn x_names() -> &'static HashMap<String, Keysym> {
    static NAMES: OnceLock<HashMap<String, Keysym>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let ranges = [0x20..=0xffff, 0x1008_fe00..=0x1008_ffff];
        let named: Vec<_> = ranges
            .into_iter()
            .flatten()
            .map(Keysym::new)
            .filter_map(|symbol| Some((x_name(symbol.name()?), symbol)))
            .collect();
        let mut names = HashMap::new();
        for (name, symbol) in &named {
            names.entry(name.clone()).or_insert(*symbol);
        }
        for (name, symbol) in named {
            names.entry(name.to_lowercase().replace('_', "")).or_insert(symbol);
        }
        names
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_go_by_the_names_of_pyautogui_web_pages_and_x() {
        for (name, symbol) in [
            ("ctrl", key::Control_L),
            ("Control", key::Control_L),
            ("Control_R", key::Control_R),
            ("ControlRight", key::Control_R),
            ("enter", key::Return),
            ("Return", key::Return),
            ("KP_Enter", key::KP_Enter),
            ("ArrowLeft", key::Left),
            ("PageUp", key::Page_Up),
            ("page_down", key::Page_Down),
            ("Prior", key::Page_Up),
            ("f5", key::F5),
            ("F12", key::F12),
            ("KeyA", key::a),
            ("Digit7", key::_7),
            ("num5", key::KP_5),
            ("Numpad0", key::KP_0),
            ("BackSpace", key::BackSpace),
            ("space", key::space),
            (" ", key::space),
            ("a", key::a),
            ("A", key::A),
            ("aring", key::aring),
            ("Aring", key::Aring),
            ("EuroSign", key::EuroSign),
            ("XF86AudioMute", key::XF86_AudioMute),
            ("U20AC", Keysym::from_char('€').raw()),
            ("世", 0x0100_4e16),
        ] {
            assert_eq!(find(name).map(Keysym::raw), Some(symbol), "{name}");
        }
        for name in ["", "nokey", "F99", "digit10", "u+", "ctrl+"] {
            assert_eq!(find(name), None, "{name}");
        }
    }

    #[test]
    fn a_name_may_speak_of_several_keys() {
        assert_eq!(parts("ctrl+shift+T"), ["ctrl", "shift", "T"]);
        assert_eq!(parts("ctrl++"), ["ctrl", "+"]);
        assert_eq!(parts("+"), ["+"]);
        assert_eq!(parts(" "), [" "]);
        assert_eq!(parts("Page Up"), ["Page Up"]);
    }
}
