//! Answers for people: tables for lists of things, a line for each field of a thing.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Characters of a cell in a table.
const CELL: usize = 60;
const INDENT: &str = "  ";

/// How a text stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Strong,
    Faint,
    Good,
    Bad,
}

/// A text with its ink, where colours are wanted.
pub(crate) fn paint(colour: bool, ink: Ink, text: &str) -> String {
    let code = match ink {
        Ink::Strong => "1",
        Ink::Faint => "2",
        Ink::Good => "32",
        Ink::Bad => "31",
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// The answer of an operation for people.
pub(crate) fn human(operation: &str, value: &Value, colour: bool) -> String {
    if let Some(text) = known(operation, value, colour) {
        return text;
    }
    let mut text = String::new();
    tell(&mut text, value, "", colour);
    text
}

/// Answers that people know in a form of their own.
fn known(operation: &str, value: &Value, colour: bool) -> Option<String> {
    let mut text = String::new();
    match operation {
        "file_list" => {
            for file in value["files"].as_array()? {
                text.push_str(&file_line(file, colour));
            }
            cut_short(&mut text, value);
        }
        "file_grep" => {
            for found in value["matches"].as_array()? {
                let place = paint(colour, Ink::Faint, &plain(&found["file"]));
                let (line, content) = (&found["line_number"], plain(&found["line_content"]));
                writeln!(text, "{place}:{line}: {}", visible(&content)).ok()?;
            }
            cut_short(&mut text, value);
        }
        "file_find" => {
            for path in value["files"].as_array()? {
                writeln!(text, "{}", visible(&plain(path))).ok()?;
            }
            cut_short(&mut text, value);
        }
        "file_read" => text.push_str(value["content"].as_str()?),
        "sandbox_get_context" => {
            let text_of_it = value["text"].as_str()?;
            writeln!(text, "{}", text_of_it.trim_end()).ok()?;
        }
        "bash_exec" => {
            text.push_str(value["stdout"].as_str().unwrap_or_default());
            text.push_str(value["stderr"].as_str().unwrap_or_default());
            let (status, code) = (plain(&value["status"]), plain(&value["exit_code"]));
            let line =
                format!("{status}, exit code {code}, session {}", plain(&value["session_id"]));
            writeln!(text, "{}", paint(colour, Ink::Faint, &line)).ok()?;
        }
        _ => return None,
    }
    Some(text)
}

fn cut_short(text: &mut String, value: &Value) {
    if value["truncated"] == true {
        text.push_str("… and more: narrow it down, or raise the bound\n");
    }
}

fn file_line(file: &Value, colour: bool) -> String {
    let directory = file["is_directory"] == true;
    let name = visible(&plain(&file["name"]));
    let name = match (directory, file["is_symlink"] == true) {
        (true, _) => paint(colour, Ink::Strong, &format!("{name}/")),
        (false, true) => format!("{name}@"),
        (false, false) => name,
    };
    let size = file["size"].as_u64().filter(|_| !directory).map(size).unwrap_or_default();
    let time = plain(&file["modified_time"]);
    let time = time.get(..16).unwrap_or(&time).replace('T', " ");
    format!("{size:>10}  {time:16}  {name}\n")
}

/// Bytes in the unit that suits them.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut divisor = 1_u64;
    while bytes / divisor >= 1024 && unit + 1 < UNITS.len() {
        divisor *= 1024;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    if unit == 0 {
        return format!("{bytes} {name}");
    }
    let tenths = u128::from(bytes) * 10 / u128::from(divisor);
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

fn tell(text: &mut String, value: &Value, indent: &str, colour: bool) {
    match value {
        Value::Null => {}
        Value::Array(list) if !list.is_empty() && list.iter().all(Value::is_object) => {
            table(text, list, indent, colour);
        }
        Value::Array(list) => {
            for item in list {
                if item.is_array() || item.is_object() {
                    tell(text, item, &format!("{indent}{INDENT}"), colour);
                } else {
                    text.push_str(&format!("{indent}{}\n", plain(item)));
                }
            }
        }
        Value::Object(fields) => object(text, fields, indent, colour),
        scalar => {
            for line in plain(scalar).lines() {
                text.push_str(&format!("{indent}{line}\n"));
            }
        }
    }
}

fn object(text: &mut String, fields: &Map<String, Value>, indent: &str, colour: bool) {
    let width = fields.keys().map(|name| name.chars().count()).max().unwrap_or_default();
    for (name, value) in fields {
        let label = paint(colour, Ink::Strong, &format!("{name:width$}"));
        match value {
            Value::Null => text.push_str(&format!("{indent}{label}  –\n")),
            Value::Array(list) if list.is_empty() => {
                text.push_str(&format!("{indent}{label}  none\n"));
            }
            Value::Array(_) | Value::Object(_) => {
                text.push_str(&format!("{indent}{}\n", label.trim_end()));
                tell(text, value, &format!("{indent}{INDENT}"), colour);
            }
            Value::String(long) if long.contains('\n') => {
                text.push_str(&format!("{indent}{}\n", label.trim_end()));
                tell(text, value, &format!("{indent}{INDENT}"), colour);
            }
            scalar => text.push_str(&format!("{indent}{label}  {}\n", plain(scalar))),
        }
    }
}

fn table(text: &mut String, rows: &[Value], indent: &str, colour: bool) {
    let mut columns: Vec<&String> = Vec::new();
    for row in rows.iter().filter_map(Value::as_object) {
        for name in row.keys() {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
    }
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| columns.iter().map(|name| cell(&row[name.as_str()])).collect())
        .collect();
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(column, name)| {
            let of_cells = cells.iter().filter_map(|row| row.get(column));
            let widest = of_cells.map(|cell| cell.chars().count()).max().unwrap_or_default();
            widest.max(name.chars().count())
        })
        .collect();
    let line = |cells: Vec<String>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{indent}{}", padded.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    let head = line(columns.iter().map(|name| (*name).clone()).collect());
    text.push_str(&format!("{}\n", paint(colour, Ink::Strong, &head)));
    for row in cells {
        text.push_str(&format!("{}\n", line(row)));
    }
}

fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.lines().next().unwrap_or_default().to_owned(),
        other => other.to_string(),
    };
    shortened(&visible(&text), CELL)
}

/// The beginning of a text, at most this many characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", start.trim_end())
}

/// A scalar as people write it.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A name from the sandbox, which must not steer the terminal it is shown on.
pub(crate) fn visible(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_of_things_is_a_table_and_a_thing_a_line_for_each_field() {
        let value = json!([{"name": "a", "size": 1}, {"name": "bcd", "note": "x"}]);
        assert_eq!(human("x", &value, false), "name  size  note\na     1     –\nbcd   –     x\n");
        let value = json!({"id": 7, "inner": {"a": null}, "list": [], "text": "one\ntwo"});
        let told = "id     7\ninner\n  a  –\nlist   none\ntext\n  one\n  two\n";
        assert_eq!(human("x", &value, false), told);
        assert_eq!(human("x", &Value::Null, false), "");
    }

    #[test]
    fn sizes_are_told_in_the_unit_that_suits_them() {
        let cases = [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 30, "5.0 GiB")];
        for (bytes, told) in cases {
            assert_eq!(size(bytes), told);
        }
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        let value = json!({"files": [{"name": "a\u{1b}[31mb", "size": 3}], "truncated": false});
        assert!(!human("file_list", &value, true).contains("\u{1b}[31m"));
    }

    #[test]
    fn colours_are_there_only_where_they_are_wanted() {
        let value = json!({"a": 1});
        assert!(!human("x", &value, false).contains('\u{1b}'));
        assert!(human("x", &value, true).contains('\u{1b}'));
    }
}
