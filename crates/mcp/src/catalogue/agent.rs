//! The tools of deep-agent's sandbox, which are those of coding agents: Bash, Glob, Grep, Read, Write, Edit. Both
//! spellings of their arguments are understood.

use atoll_api::bash::BashCommandResult;
use atoll_api::file::EditFileResult;
use atoll_operation::{Error, Mcp as Mark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::text::{command, numbered, text};
use super::tool::{Sets, Tool};
use crate::calls::{Calls, Operations, fields};
use crate::reply::Reply;

/// The server these tools are said to belong to.
pub(super) const SERVER: &str = "deep-agent";

const AGENT: Sets = Sets::AGENT;
/// Characters of each stream that Bash returns.
const BASH_OUTPUT: u64 = 30_000;
/// Milliseconds a command may run unless told otherwise.
const BASH_TIME: f64 = 120_000.0;
/// Lines Read returns unless told otherwise.
const READ_LINES: u64 = 2000;
/// Files Glob returns.
const GLOB_FILES: u64 = 100;

pub(super) fn tools(operations: &Operations) -> Vec<Tool> {
    let has = |id: &str| operations.get(id).is_some();
    let mut tools = Vec::new();
    if has("bash_exec") {
        let tool = Tool::new(("Bash", SERVER), AGENT, Mark::Destructive, bash);
        let tool = tool.returning::<BashCommandResult>();
        tools.push(tool.also_taking(&[("timeout_ms", "timeout"), ("cmd", "command")]));
    }
    if has("file_glob") {
        tools.push(Tool::new(("Glob", SERVER), AGENT, Mark::ReadOnly, glob));
    }
    if has("file_grep") {
        let tool = Tool::new(("Grep", SERVER), AGENT, Mark::ReadOnly, grep);
        tools.push(tool.also_taking(&[
            ("-i", "case_insensitive"),
            ("-A", "after"),
            ("-B", "before"),
            ("-C", "context"),
            ("context_lines", "context"),
            ("-n", "line_numbers"),
        ]));
    }
    let file: &[(&str, &str)] = &[("path", "file_path"), ("file", "file_path")];
    if has("file_read") {
        tools.push(Tool::new(("Read", SERVER), AGENT, Mark::ReadOnly, read).also_taking(file));
    }
    if has("file_write") {
        tools.push(Tool::new(("Write", SERVER), AGENT, Mark::Destructive, write).also_taking(file));
    }
    if has("file_edit") {
        let tool = Tool::new(("Edit", SERVER), AGENT, Mark::Destructive, edit);
        tools.push(tool.returning::<EditFileResult>().also_taking(&[
            ("path", "file_path"),
            ("file", "file_path"),
            ("old_str", "old_string"),
            ("new_str", "new_string"),
        ]));
    }
    tools
}

/// Run a bash command in a process of its own, in the workspace. It is killed when its time is up; with
/// `run_in_background` it goes on and its session is named. Example: {"command": "git status"}
#[derive(Debug, Deserialize, JsonSchema)]
struct Bash {
    /// The command.
    command: String,
    /// Milliseconds it may take; 120000 when omitted.
    #[serde(default)]
    timeout: Option<f64>,
    /// Return at once and let it run.
    #[serde(default)]
    run_in_background: bool,
    /// What it is for, in a few words.
    #[serde(default)]
    #[expect(dead_code, reason = "for people who look at what a model does")]
    description: Option<String>,
}

async fn bash(calls: Calls, arguments: Bash) -> Result<Reply, Error> {
    let Bash { command: source, timeout, run_in_background, .. } = arguments;
    let seconds = (timeout.unwrap_or(BASH_TIME) / 1000.0).clamp(0.001, 86_400.0);
    // A session of its own, so that a cancelled call kills this command and no other.
    let session = format!("mcp-{}", Uuid::new_v4());
    let input = fields([
        ("session_id", json!(session)),
        ("command", json!(source)),
        ("async_mode", json!(run_in_background)),
        ("hard_timeout", if run_in_background { Value::Null } else { json!(seconds) }),
        ("max_output_length", json!(BASH_OUTPUT)),
    ]);
    if run_in_background {
        let result = calls.ask("bash_exec", input).await?;
        let said = format!(
            "It runs in session {session}. Read what it prints with bash_output, end it with bash_kill."
        );
        return Ok(Reply::text(said).with(result));
    }
    // With its session a command ends that it left in the background.
    let close = ("bash_close_session", json!({"session_id": session}));
    let result = calls.ask_alone("bash_exec", input, close).await?;
    let mut said = command(&result);
    if text(&result, "status") == "timed_out" {
        let hint = format!(
            "\nIt took longer than {seconds} s and was killed. Pass a longer timeout, or run_in_background."
        );
        said.push_str(&hint);
    }
    let failed = result.get("exit_code").and_then(Value::as_i64) != Some(0);
    Ok(Reply::text(said).with(result).failed_if(failed))
}

/// Find files by a glob pattern, newest first. Example: {"pattern": "src/**/*.ts"}
#[derive(Debug, Deserialize, JsonSchema)]
struct Glob {
    /// The pattern; `**` is any depth.
    pattern: String,
    /// Directory to look in; the workspace when omitted.
    #[serde(default)]
    path: Option<String>,
}

async fn glob(calls: Calls, arguments: Glob) -> Result<Reply, Error> {
    let Glob { pattern, path } = arguments;
    let input = json!({
        "path": path.as_deref().unwrap_or("."),
        "pattern": pattern,
        "include_hidden": true,
        "sort_by": "modified",
        "sort_desc": true,
        "max_results": GLOB_FILES,
        "exclude": [".git", "node_modules"],
    });
    let result = calls.ask("file_glob", input).await?;
    let files = result.get("files").and_then(Value::as_array);
    let lines: Vec<_> = files.into_iter().flatten().map(|file| text(file, "path")).collect();
    let mut said = lines.join("\n");
    if lines.is_empty() {
        "No files match.".clone_into(&mut said);
    } else if result.get("truncated") == Some(&Value::Bool(true)) {
        said.push_str("\n… there are more; use a narrower pattern or path.");
    }
    Ok(Reply::text(said).with(result))
}

/// How much of a match Grep tells.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GrepMode {
    /// Files with a match.
    #[default]
    #[serde(alias = "files_only", alias = "files")]
    FilesWithMatches,
    /// The lines.
    Content,
    /// Matches in each file.
    Count,
}

/// Search the content of files with a regular expression, as ripgrep does.
/// Example: {"pattern": "fn main", "glob": "*.rs", "output_mode": "content", "context": 2}
#[derive(Debug, Deserialize, JsonSchema)]
struct Grep {
    /// The expression.
    pattern: String,
    /// File or directory; the workspace when omitted.
    #[serde(default)]
    path: Option<String>,
    /// Only files matching this glob: `*.js`, `*.{ts,tsx}`.
    #[serde(default)]
    glob: Option<String>,
    /// Only files of this type: `py`, `rust`, `js`.
    #[serde(default, rename = "type")]
    file_type: Option<String>,
    /// `files_with_matches`, `content` or `count`.
    #[serde(default)]
    output_mode: Option<String>,
    /// Take upper and lower case for the same.
    #[serde(default)]
    case_insensitive: bool,
    /// Lines to show round each match.
    #[serde(default)]
    context: u64,
    /// Lines to show before each match.
    #[serde(default)]
    before: u64,
    /// Lines to show after each match.
    #[serde(default)]
    after: u64,
    /// Show line numbers.
    #[serde(default = "yes")]
    line_numbers: bool,
    /// Let a match span lines.
    #[serde(default)]
    multiline: bool,
    /// Results to return at most.
    #[serde(default)]
    head_limit: Option<u64>,
    /// Results to skip.
    #[serde(default)]
    offset: u64,
}

fn yes() -> bool {
    true
}

async fn grep(calls: Calls, arguments: Grep) -> Result<Reply, Error> {
    let mode = match arguments.output_mode {
        None => GrepMode::default(),
        Some(mode) => serde_json::from_value(json!(mode)).map_err(|_| {
            let allowed = "must be files_with_matches, content or count";
            Error::field("output_mode", "enum", allowed)
        })?,
    };
    let (before, after) = match mode {
        GrepMode::Content => {
            (arguments.context.max(arguments.before), arguments.context.max(arguments.after))
        }
        _ => (0, 0),
    };
    let most = arguments.head_limit.filter(|limit| *limit > 0).unwrap_or(500).min(10_000);
    let input = fields([
        ("path", json!(arguments.path.as_deref().unwrap_or("."))),
        ("pattern", json!(arguments.pattern)),
        ("include", arguments.glob.map_or(Value::Null, |glob| json!([glob]))),
        ("type", json!(arguments.file_type)),
        ("case_insensitive", json!(arguments.case_insensitive)),
        ("context_before", json!(before.min(20))),
        ("context_after", json!(after.min(20))),
        ("multiline", json!(arguments.multiline)),
        ("max_results", json!(if mode == GrepMode::Content { most } else { 10_000 })),
        ("offset", json!(if mode == GrepMode::Content { arguments.offset } else { 0 })),
        ("include_hidden", json!(true)),
        ("gitignore", json!(true)),
        ("exclude", json!([".git"])),
    ]);
    let result = calls.ask("file_grep", input).await?;
    let matches = result.get("matches").and_then(Value::as_array).map(Vec::as_slice);
    let matches = matches.unwrap_or_default();
    let said = match mode {
        GrepMode::Content => content(matches, arguments.line_numbers),
        _ => per_file(matches, mode, arguments.offset, most),
    };
    let said = if said.is_empty() { "No matches.".to_owned() } else { said };
    Ok(Reply::text(said))
}

fn content(matches: &[Value], numbers: bool) -> String {
    let mut lines = Vec::new();
    for found in matches {
        let file = text(found, "file");
        let number = found.get("line_number").and_then(Value::as_u64).unwrap_or_default();
        let around = |name: &str| -> Vec<&str> {
            let list = found.get(name).and_then(Value::as_array);
            list.into_iter().flatten().filter_map(Value::as_str).collect()
        };
        let (before, after) = (around("context_before"), around("context_after"));
        let mut line = |number: u64, mark: char, said: &str| {
            lines.push(if numbers {
                format!("{file}{mark}{number}{mark}{said}")
            } else {
                format!("{file}{mark}{said}")
            });
        };
        let first = number.saturating_sub(before.len() as u64);
        for (number, said) in (first..).zip(&before) {
            line(number, '-', said);
        }
        line(number, ':', text(found, "line_content"));
        for (number, said) in (number + 1..).zip(&after) {
            line(number, '-', said);
        }
    }
    lines.join("\n")
}

fn per_file(matches: &[Value], mode: GrepMode, offset: u64, most: u64) -> String {
    let mut files: Vec<(&str, u64)> = Vec::new();
    for file in matches.iter().map(|found| text(found, "file")) {
        match files.last_mut() {
            Some((last, count)) if *last == file => *count += 1,
            _ => files.push((file, 1)),
        }
    }
    let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
    let shown = files.iter().skip(skipped).take(usize::try_from(most).unwrap_or(usize::MAX));
    let lines = shown.map(|(file, count)| match mode {
        GrepMode::Count => format!("{file}:{count}"),
        _ => (*file).to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Read a file with line numbers; pictures are shown. Example: {"file_path": "/a.py", "offset": 100, "limit": 50}
#[derive(Debug, Deserialize, JsonSchema)]
struct Read {
    /// The file.
    file_path: String,
    /// First line, from 1.
    #[serde(default)]
    offset: Option<u64>,
    /// Lines to read; 2000 when omitted.
    #[serde(default)]
    limit: Option<u64>,
}

async fn read(calls: Calls, arguments: Read) -> Result<Reply, Error> {
    let Read { file_path, offset, limit } = arguments;
    let kind = match file_path.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).as_deref()
    {
        Some("png") => Some("image/png"),
        Some("jpg" | "jpeg") => Some("image/jpeg"),
        Some("gif") => Some("image/gif"),
        Some("webp") => Some("image/webp"),
        _ => None,
    };
    if let Some(kind) = kind {
        let result = calls.ask("file_read", json!({"file": file_path, "base64": true})).await?;
        return Ok(Reply::encoded_image(text(&result, "content"), kind));
    }
    let first = offset.unwrap_or(1).max(1);
    let end = first - 1 + limit.filter(|limit| *limit > 0).unwrap_or(READ_LINES);
    let input = json!({"file": file_path, "start_line": first - 1, "end_line": end});
    let result = calls.ask("file_read", input).await?;
    let lines = result.get("line_count").and_then(Value::as_u64).unwrap_or_default();
    let said = numbered(text(&result, "content"), first);
    Ok(Reply::text(match (said.is_empty(), lines) {
        (true, 0) => "The file exists and is empty.".to_owned(),
        (true, _) => format!("The file has {lines} lines; there is nothing from line {first} on."),
        (false, _) if end < lines => {
            format!("{said}… {} more lines; go on with offset {}.\n", lines - end, end + 1)
        }
        (false, _) => said,
    }))
}

/// Write a file, in place of what it held; its directories are made. Example: {"file_path": "/a.txt", "content": "hi\n"}
#[derive(Debug, Deserialize, JsonSchema)]
struct Write {
    /// The file.
    file_path: String,
    /// All it shall hold.
    content: String,
}

async fn write(calls: Calls, arguments: Write) -> Result<Reply, Error> {
    let input = json!({"file": arguments.file_path, "content": arguments.content});
    let result = calls.ask("file_write", input).await?;
    Ok(Reply::text(format!("File written successfully: {}", text(&result, "file"))))
}

/// Replace a text in a file. Small differences in white space are forgiven; a text that could be meant in several places
/// is refused with their lines. Example: {"file_path": "/a.py", "old_string": "x = 1", "new_string": "x = 2"}
#[derive(Debug, Deserialize, JsonSchema)]
struct Edit {
    /// The file.
    file_path: String,
    /// The text to replace, with enough round it to be the only one.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: bool,
}

async fn edit(calls: Calls, arguments: Edit) -> Result<Reply, Error> {
    let input = json!({
        "file": arguments.file_path,
        "old_string": arguments.old_string,
        "new_string": arguments.new_string,
        "replace_all": arguments.replace_all,
    });
    let result = calls.ask("file_edit", input).await?;
    let said = format!("File edited successfully.\n{}", text(&result, "snippet"));
    Ok(Reply::text(said).with(result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_told_as_grep_does() {
        let found = json!([
            {"file": "/a", "line_number": 2, "line_content": "two", "context_before": ["one"], "context_after": ["three"]},
            {"file": "/b", "line_number": 9, "line_content": "two"},
        ]);
        let found = found.as_array().unwrap();
        assert_eq!(content(found, true), "/a-1-one\n/a:2:two\n/a-3-three\n/b:9:two");
        assert_eq!(per_file(found, GrepMode::FilesWithMatches, 0, 10), "/a\n/b");
        assert_eq!(per_file(found, GrepMode::Count, 1, 10), "/b:1");
    }
}
