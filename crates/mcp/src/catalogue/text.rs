//! Results as text for models.

use std::fmt::Write;

use serde_json::Value;

/// A field as text.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Lines numbered from `first` on, the numbers six wide.
pub(super) fn numbered(text: &str, first: u64) -> String {
    let mut out = String::new();
    for (number, line) in (first..).zip(text.lines()) {
        let _never = writeln!(out, "{number:6}\t{line}");
    }
    out
}

/// What a command did: its output, and how it ended where that matters.
pub(super) fn command(result: &Value) -> String {
    let mut out = text(result, "stdout").to_owned();
    for name in ["output", "stderr"] {
        let more = text(result, name);
        if !more.is_empty() {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(more);
        }
    }
    match (text(result, "status"), result.get("exit_code").and_then(Value::as_i64)) {
        (_, Some(0)) => {}
        ("completed", Some(code)) => push_line(&mut out, &format!("[exit code {code}]")),
        (status, Some(code)) => push_line(&mut out, &format!("[{status}, exit code {code}]")),
        (status, None) => push_line(&mut out, &format!("[{status}]")),
    }
    if out.is_empty() {
        out.push_str("[no output]");
    }
    out
}

/// Adds a line of its own.
pub(super) fn push_line(out: &mut String, line: &str) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(line);
}

/// What code said: what it wrote, the value of its last expression, what it threw.
pub(super) fn execution(result: &Value) -> String {
    let mut out = String::new();
    for output in result.get("outputs").and_then(Value::as_array).into_iter().flatten() {
        let said = match text(output, "output_type") {
            "stream" => text(output, "text").to_owned(),
            "error" => {
                let lines = output.get("traceback").and_then(Value::as_array);
                let lines: Vec<_> = lines.into_iter().flatten().filter_map(Value::as_str).collect();
                if lines.is_empty() {
                    format!("{}: {}", text(output, "ename"), text(output, "evalue"))
                } else {
                    lines.join("\n")
                }
            }
            _ => output
                .get("data")
                .map(|data| text(data, "text/plain"))
                .unwrap_or_default()
                .to_owned(),
        };
        push_line(&mut out, said.trim_end_matches('\n'));
    }
    let status = text(result, "status");
    if status == "timeout" {
        push_line(&mut out, "[stopped: its time was up; pass a longer timeout]");
    }
    if out.is_empty() {
        out.push_str("[no output; print what you want to see]");
    }
    out
}

/// The first picture code showed.
pub(super) fn picture(result: &Value) -> Option<(&str, &str)> {
    let outputs = result.get("outputs").and_then(Value::as_array)?;
    let data = outputs.iter().filter_map(|output| output.get("data"));
    let mut pictures = data.flat_map(|data| {
        ["image/png", "image/jpeg"]
            .into_iter()
            .filter_map(|kind| Some((kind, data.get(kind)?.as_str()?)))
    });
    pictures.next()
}

/// Elements of a page, one line each: `[3]<button>Send</button>`.
pub(super) fn elements(list: &Value, most: usize) -> String {
    let all = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut out = String::new();
    for element in all.iter().take(most) {
        let index = element.get("index").and_then(Value::as_u64).unwrap_or_default();
        let tag = text(element, "tag");
        let said = ["text", "name", "placeholder", "value", "href"]
            .iter()
            .map(|name| text(element, name).trim())
            .find(|said| !said.is_empty())
            .unwrap_or_default();
        let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let said: String = said.chars().take(120).collect();
        let kind = text(element, "type");
        let kind = if kind.is_empty() { String::new() } else { format!(" type={kind}") };
        let _never = writeln!(out, "[{index}]<{tag}{kind}>{said}</{tag}>");
    }
    if all.len() > most {
        let _never = writeln!(out, "… and {} more", all.len() - most);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_is_told_with_what_matters() {
        let of = |result: Value| command(&result);
        assert_eq!(of(json!({"stdout": "a\n", "exit_code": 0, "status": "completed"})), "a\n");
        assert_eq!(
            of(json!({"stdout": "a", "stderr": "b", "exit_code": 2, "status": "completed"})),
            "a\nb\n[exit code 2]"
        );
        assert_eq!(of(json!({"status": "running"})), "[running]");
        assert_eq!(of(json!({"exit_code": 0, "status": "completed"})), "[no output]");
        assert_eq!(
            of(json!({"status": "timed_out", "exit_code": -9})),
            "[timed_out, exit code -9]"
        );
    }

    #[test]
    fn elements_are_listed_by_number() {
        let list = json!([
            {"index": 0, "tag": "a", "text": " Go \n on "},
            {"index": 1, "tag": "input", "type": "text", "placeholder": "Name"},
            {"index": 2, "tag": "b"},
        ]);
        assert_eq!(
            elements(&list, 2),
            "[0]<a>Go on</a>\n[1]<input type=text>Name</input>\n… and 1 more\n"
        );
    }
}
