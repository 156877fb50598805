//! What a call was about, in one line that may be shown to whoever watches.
//!
//! Only fields named here are looked at: what is typed into pages and programs, file contents, variables and cookies
//! never are. Text that may hold a credential is masked.

use serde_json::Value;

use super::mask::{mask, without_secrets};

/// Characters of a summary.
const SHOWN: usize = 120;
/// Characters that are looked at.
const READ: usize = 512;

/// Fields that hold source text for a shell or an interpreter.
const SOURCES: [&str; 4] = ["command", "cmd", "code", "expression"];
/// Fields that say what a call is about by themselves.
const NAMES: [&str; 15] = [
    "query",
    "file",
    "path",
    "source",
    "selector",
    "element",
    "tool_name",
    "tool",
    "name",
    "server_name",
    "action_type",
    "save_path",
    "session_id",
    "id",
    "watcher_id",
];

/// A line about a call with this input.
pub(super) fn of(input: &Value) -> String {
    let text = |name: &str| input.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(source) = SOURCES.iter().find_map(|name| text(name)) {
        return line(&mask(&beginning(source)));
    }
    if let Some(url) = text("url").or_else(|| text("uri")) {
        return line(&address(url));
    }
    if let (Some(from), Some(to)) = (text("source"), text("destination")) {
        return line(&format!("{from} → {to}"));
    }
    let name = NAMES.iter().find_map(|name| text(name));
    match (text("pattern").or_else(|| text("regex")), name) {
        (Some(pattern), Some(place)) => line(&format!("{} in {place}", mask(&beginning(pattern)))),
        (Some(pattern), None) => line(&mask(&beginning(pattern))),
        (None, name) => line(&mask(&beginning(name.unwrap_or_default()))),
    }
}

/// An address without secrets. One that holds its content shows what kind that is, and nothing of it.
fn address(url: &str) -> String {
    match url.split_once(',') {
        Some((kind, _)) if kind.starts_with("data:") => format!("{kind},…"),
        _ => without_secrets(url),
    }
}

/// The part that is looked at. Its last word may be half of one, which is not recognised as a secret: it goes.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(READ) {
        None => text.to_owned(),
        Some((end, _)) => {
            let part = &text[..end];
            let word = part.rfind(char::is_whitespace).unwrap_or(0);
            format!("{}…", &part[..word])
        }
    }
}

/// One line, cut to fit.
fn line(text: &str) -> String {
    let mut line = String::new();
    for (position, word) in text.split_whitespace().enumerate() {
        if position > 0 {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > 4 * SHOWN {
            break;
        }
    }
    let plain = line.replace(char::is_control, "");
    match plain.char_indices().nth(SHOWN) {
        None => plain,
        Some((end, _)) => format!("{}…", &plain[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_summary_says_what_a_call_is_about_and_nothing_it_carries() {
        for (input, expected) in [
            (json!({"command": "make\n  -j2 test", "env": {"A": "secret"}}), "make -j2 test"),
            (json!({"code": "print(1)", "session_id": "s"}), "print(1)"),
            (json!({"file": "/w/a.txt", "content": "secret"}), "/w/a.txt"),
            (json!({"source": "a", "destination": "b"}), "a → b"),
            (json!({"url": "https://u:p@host/x?token=t#f"}), "https://host/x"),
            (json!({"uri": "data:text/html;base64,c2VjcmV0"}), "data:text/html;base64,…"),
            (json!({"uri": "/w/report.pdf"}), "/w/report.pdf"),
            (json!({"query": "atolls", "limit": 3}), "atolls"),
            (json!({"selector": "#password", "text": "secret"}), "#password"),
            (json!({"text": "secret", "keys": ["s"]}), ""),
            (json!({"path": "src", "pattern": "fn main"}), "fn main in src"),
            (json!({"tool_name": "fetch", "arguments": {"key": "secret"}}), "fetch"),
            (json!({}), ""),
            (Value::Null, ""),
        ] {
            assert_eq!(of(&input), expected, "{input}");
        }
    }

    #[test]
    fn a_summary_is_short_and_ends_before_a_half_word() {
        let long = of(&json!({"command": "é".repeat(400)}));
        assert_eq!(long.chars().count(), SHOWN + 1);
        let hidden = format!("TOKEN={} a{}", "x".repeat(500), "Zz9".repeat(20));
        assert_eq!(of(&json!({"command": hidden})), "TOKEN=•••");
    }
}
