//! Hooks for the end, as the environment writes them: JSON, or a plain command.

use serde::Deserialize;

use super::service::ShutdownHook;

/// Seconds a hook may take unless it says otherwise, and at most.
const TIMEOUT: f64 = 10.0;
const LONGEST: f64 = 3600.0;
const PRIORITY: i32 = 100;
/// Characters of a name and of a command, as for callers.
const LONGEST_NAME: usize = 64;
const LONGEST_COMMAND: usize = 4096;

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Many(Vec<One>),
    One(One),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum One {
    Command(String),
    Described(Described),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    name: Option<String>,
    command: String,
    timeout: Option<f64>,
    priority: Option<i32>,
    event: Option<String>,
}

/// Reads hooks: a JSON list of commands and `{"name", "command", "timeout", "priority"}`, one such object, or the text of
/// one command. Hooks without a name are called `env-1`, `env-2`, …
pub fn read_shutdown_hooks(text: &str) -> Result<Vec<ShutdownHook>, String> {
    let text = text.trim();
    let written = if is_json(text) {
        serde_json::from_str(text).map_err(|error| {
            format!("write a command, or JSON such as [{{\"name\": \"save\", \"command\": \"…\"}}] ({error})")
        })?
    } else {
        Written::One(One::Command(text.to_owned()))
    };
    let given = match written {
        Written::Many(many) => many,
        Written::One(one) => vec![one],
    };
    let mut hooks: Vec<ShutdownHook> = Vec::new();
    for (position, one) in given.into_iter().enumerate() {
        let hook = checked(one, position + 1)?;
        if hooks.iter().any(|other| other.name == hook.name) {
            return Err(format!("two hooks are called {:?}; names must be unique", hook.name));
        }
        hooks.push(hook);
    }
    Ok(hooks)
}

/// `[ -d x ] && …` and `{ a; b; }` are commands too.
fn is_json(text: &str) -> bool {
    let rest = text.strip_prefix('[').or_else(|| text.strip_prefix('{')).map(str::trim_start);
    rest.is_some_and(|rest| rest.starts_with(['"', '{', ']', '}']))
}

fn checked(one: One, position: usize) -> Result<ShutdownHook, String> {
    let described = match one {
        One::Command(command) => {
            Described { name: None, command, timeout: None, priority: None, event: None }
        }
        One::Described(described) => described,
    };
    let name = described.name.unwrap_or_else(|| format!("env-{position}"));
    let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(letter) {
        return Err(format!(
            "{name:?} cannot be the name of a hook: use up to {LONGEST_NAME} letters, digits, `_` and `-`"
        ));
    }
    if described.event.as_deref().is_some_and(|event| event != "shutdown") {
        return Err(format!("the event of hook {name:?} must be \"shutdown\""));
    }
    if described.command.trim().is_empty() || described.command.len() > LONGEST_COMMAND {
        return Err(format!(
            "the command of hook {name:?} must have 1 to {LONGEST_COMMAND} characters"
        ));
    }
    let timeout = described.timeout.unwrap_or(TIMEOUT);
    if !(timeout > 0.0 && timeout <= LONGEST) {
        return Err(format!("the timeout of hook {name:?} must be above 0, at most {LONGEST} s"));
    }
    let priority = described.priority.unwrap_or(PRIORITY);
    Ok(ShutdownHook { name, command: described.command, timeout, priority })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String, f64, i32)> {
        let hooks = read_shutdown_hooks(text).unwrap();
        let parts = |hook: ShutdownHook| (hook.name, hook.command, hook.timeout, hook.priority);
        hooks.into_iter().map(parts).collect()
    }

    fn one(name: &str, command: &str) -> (String, String, f64, i32) {
        (name.to_owned(), command.to_owned(), 10.0, 100)
    }

    #[test]
    fn each_way_to_write_hooks_is_read() {
        assert_eq!(read("sync; echo [x]"), [one("env-1", "sync; echo [x]")]);
        assert_eq!(read("[ -d /x ] && sync"), [one("env-1", "[ -d /x ] && sync")]);
        assert_eq!(read("{ sync; date; }"), [one("env-1", "{ sync; date; }")]);
        assert_eq!(read(r#"["a", "b"]"#), [one("env-1", "a"), one("env-2", "b")]);
        assert_eq!(read(r#"{"command": "a"}"#), [one("env-1", "a")]);
        assert_eq!(read("[]"), []);
        let full = r#"[{"name": "save", "command": "a", "timeout": 2.5, "priority": -1, "event": "shutdown"}]"#;
        assert_eq!(read(full), [("save".to_owned(), "a".to_owned(), 2.5, -1)]);
    }

    #[test]
    fn what_cannot_be_a_hook_is_named() {
        for (text, expected) in [
            (r#"[{"name": "x"}]"#, "write a command, or JSON"),
            (r#"["a""#, "write a command, or JSON"),
            (r#"[{"name": "a b", "command": "x"}]"#, "\"a b\" cannot be the name"),
            (r#"[{"name": "a", "command": "x"}, {"name": "a", "command": "y"}]"#, "two hooks"),
            (r#"[{"command": "x", "timeout": 0}]"#, "timeout of hook"),
            (r#"[{"command": " "}]"#, "command of hook"),
            (r#"[{"command": "x", "event": "start"}]"#, "must be \"shutdown\""),
        ] {
            let error = read_shutdown_hooks(text).unwrap_err();
            assert!(error.contains(expected), "{text} gave {error}");
        }
    }
}
