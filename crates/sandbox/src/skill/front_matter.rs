//! The front matter of a `SKILL.md`: YAML between two lines of three hyphens, which must name and describe the skill.
//!
//! It comes from whoever sends an archive, so reading it is bounded: in size, in depth, and in what references to other
//! parts of it may unfold to.

use serde_json::{Map, Value};

/// Bytes of front matter.
const MOST_BYTES: usize = 64 << 10;
/// Characters of a name; it is part of addresses and commands.
const LONGEST_NAME: usize = 64;
/// Characters of a description.
const LONGEST_DESCRIPTION: usize = 4096;
/// How deep its values may nest.
const DEPTH: usize = 32;
/// Values in it, with everything that references unfold to.
const NODES: usize = 10_000;

/// A skill's text, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SkillText {
    /// What it calls itself.
    pub(super) name: String,
    /// Everything in the front matter.
    pub(super) metadata: Map<String, Value>,
}

impl SkillText {
    /// Reads the text of a `SKILL.md`. The error says what is wrong with it, and in which line where that is known.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let (front_matter, _) = split(text)?;
        let metadata = parse(front_matter)?;
        let name = required(&metadata, "name", LONGEST_NAME)?;
        required(&metadata, "description", LONGEST_DESCRIPTION)?;
        if !is_name(name) {
            return Err(format!(
                "its name {name:?} cannot be used: begin with a letter or digit, go on with letters, digits, spaces, \
                 `.`, `_` and `-`"
            ));
        }
        Ok(Self { name: name.to_owned(), metadata })
    }
}

/// What a `SKILL.md` teaches: the text behind the front matter; all of it where there is none.
pub(super) fn body(text: &str) -> &str {
    split(text).map_or(text, |(_, body)| body)
}

/// Front matter and body.
fn split(text: &str) -> Result<(&str, &str), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let opening = lines.next().unwrap_or_default();
    if opening.trim_end() != "---" {
        return Err("it has no front matter: the first line must be `---`".to_owned());
    }
    let start = opening.len();
    let mut end = start;
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            let body = text.get(end + line.len()..).unwrap_or_default();
            let front_matter = text.get(start..end).unwrap_or_default();
            return Ok((front_matter, body.trim_start_matches(['\r', '\n'])));
        }
        end += line.len();
    }
    Err("its front matter does not end: a line `---` is missing".to_owned())
}

fn parse(front_matter: &str) -> Result<Map<String, Value>, String> {
    if front_matter.len() > MOST_BYTES {
        return Err(format!("its front matter is longer than {MOST_BYTES} bytes"));
    }
    let budget = serde_saphyr::budget! {
        max_depth: DEPTH,
        flow_nesting_limit: DEPTH,
        max_nodes: NODES,
        max_events: 4 * NODES,
        max_aliases: 1000,
        max_anchors: 1000,
    };
    let options = serde_saphyr::options! { budget: budget, with_snippet: false };
    // The line that opened it counts, so that a mistake is found where the message says.
    let numbered = format!("\n{front_matter}");
    let parsed = serde_saphyr::from_str_with_options::<Value>(&numbered, options);
    match parsed {
        Ok(Value::Object(metadata)) => Ok(metadata),
        Ok(Value::Null) => Err("its front matter is empty".to_owned()),
        Ok(_) => Err("its front matter is no list of `key: value` lines".to_owned()),
        Err(error) => {
            let said = error.to_string();
            let said: Vec<_> = said.split_whitespace().collect();
            Err(format!("its front matter is no YAML that can be read: {}", said.join(" ")))
        }
    }
}

fn required<'a>(
    metadata: &'a Map<String, Value>,
    key: &str,
    longest: usize,
) -> Result<&'a str, String> {
    match metadata.get(key) {
        None | Some(Value::Null) => Err(format!("its front matter has no `{key}`")),
        Some(Value::String(text)) if text.trim().is_empty() => Err(format!("its `{key}` is empty")),
        Some(Value::String(text)) if text.chars().nth(longest).is_some() => {
            Err(format!("its `{key}` is longer than {longest} characters"))
        }
        Some(Value::String(text)) => Ok(text.trim()),
        Some(_) => Err(format!("its `{key}` is no text; put it in quotes")),
    }
}

fn is_name(name: &str) -> bool {
    let inner = |letter: char| letter.is_alphanumeric() || [' ', '.', '_', '-'].contains(&letter);
    name.starts_with(char::is_alphanumeric) && name.chars().all(inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn front_matter_is_read_and_the_rest_is_the_body() {
        let text = "---\nname: pdf\ndescription: >\n  Fill in\n  forms\nallowed-tools: [Bash, Read]\n\
                    metadata: {version: 1.5, stable: true}\n---\n\n# Forms\n---\nmore\n";
        let skill = SkillText::read(text).unwrap();
        assert_eq!(skill.name, "pdf");
        assert_eq!(skill.metadata["description"], json!("Fill in forms\n"));
        assert_eq!(skill.metadata["allowed-tools"], json!(["Bash", "Read"]));
        assert_eq!(skill.metadata["metadata"], json!({"version": 1.5, "stable": true}));
        assert_eq!(body(text), "# Forms\n---\nmore\n");
    }

    #[test]
    fn files_of_other_systems_are_read() {
        let text = "\u{feff}---\r\nname: a\r\ndescription: b\r\n...\r\n\r\ntext\r\n";
        assert_eq!(SkillText::read(text).unwrap().name, "a");
        assert_eq!(body(text), "text\r\n");
        assert_eq!(body("no front matter"), "no front matter");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let long = "x".repeat(LONGEST_NAME + 1);
        let cases = [
            ("", "the first line must be `---`"),
            ("# Title\n", "the first line must be `---`"),
            ("---\nname: a\n", "a line `---` is missing"),
            ("---\n---\n", "empty"),
            ("---\n- a\n---\n", "key: value"),
            ("---\nname: a\n---\n", "no `description`"),
            ("---\ndescription: a\n---\n", "no `name`"),
            ("---\nname: ''\ndescription: a\n---\n", "`name` is empty"),
            ("---\nname: 5\ndescription: a\n---\n", "`name` is no text"),
            ("---\nname: [a]\ndescription: a\n---\n", "`name` is no text"),
            ("---\nname: ../a\ndescription: a\n---\n", "\"../a\" cannot be used"),
            ("---\nname: a/b\ndescription: a\n---\n", "cannot be used"),
            ("---\nname: a\ndescription: [a\n---\n", "no YAML"),
            ("---\nname: a\nname: b\ndescription: c\n---\n", "no YAML"),
            ("---\nname: a\ndescription: b\n  bad: c: d\n---\n", "line 4"),
        ];
        for (text, expected) in cases {
            let error = SkillText::read(text).unwrap_err();
            assert!(error.contains(expected), "{text:?} gave {error:?}");
            assert!(!error.contains('\n'), "{error:?}");
        }
        let error = SkillText::read(&format!("---\nname: {long}\ndescription: a\n---\n"));
        assert!(error.unwrap_err().contains("longer than 64"));
    }

    #[test]
    fn front_matter_that_unfolds_without_end_is_refused() {
        let mut bomb =
            "---\nname: a\ndescription: b\nl0: &l0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*l{}, ", level - 1).repeat(10);
            bomb.push_str(&format!("l{level}: &l{level} [{}]\n", before.trim_end_matches(", ")));
        }
        bomb.push_str("---\n");
        assert!(SkillText::read(&bomb).unwrap_err().contains("no YAML"));
        let deep = format!("---\nname: a\ndescription: b\nx: {}\n---\n", "[".repeat(10_000));
        assert!(SkillText::read(&deep).is_err());
        let long = format!("---\nname: a\ndescription: b\nx: {}\n---\n", "y".repeat(MOST_BYTES));
        assert!(SkillText::read(&long).unwrap_err().contains("longer than"));
    }
}
