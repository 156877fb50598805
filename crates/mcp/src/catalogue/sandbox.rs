//! The tools of AIO Sandbox's server `sandbox`: commands, code, files, what is installed.

use atoll_api::code::CodeExecution;
use atoll_api::file::StrReplaceEditor;
use atoll_operation::{Error, Mcp as Mark, Method};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::text::{execution, picture, text};
use super::tool::{Sets, Tool};
use crate::calls::{Calls, Operations, fields};
use crate::reply::Reply;

/// The server these tools are said to belong to.
pub(super) const SERVER: &str = "sandbox";
/// The server documents are converted by.
pub(super) const MARKITDOWN: &str = "markitdown";

const BOTH: Sets = Sets::DEFAULT.and(Sets::AIO);

pub(super) fn tools(operations: &Operations) -> Vec<Tool> {
    let has = |id: &str| operations.get(id).is_some();
    let mut tools = Vec::new();
    if has("shell_exec") && has("shell_create_session") {
        let run = |calls, arguments| execute_bash(calls, arguments);
        let tool = Tool::new(("sandbox_execute_bash", SERVER), BOTH, Mark::Destructive, run);
        tools.push(
            tool.returning::<BashResult>().also_taking(&[("command", "cmd"), ("exec_dir", "cwd")]),
        );
    }
    if has("code_execute") {
        let tool =
            Tool::new(("sandbox_execute_code", SERVER), BOTH, Mark::Destructive, execute_code);
        tools.push(tool.returning::<CodeExecution>());
    }
    if has("file_read") {
        let name = ("sandbox_file_operations", SERVER);
        let tool = Tool::new(name, BOTH, Mark::Destructive, file_operations);
        tools.push(tool.also_taking(&[("file", "path"), ("file_path", "path")]));
    }
    if has("file_str_replace_editor") {
        let name = ("sandbox_str_replace_editor", SERVER);
        let tool = Tool::new(name, BOTH, Mark::Destructive, str_replace_editor);
        tools.push(tool.also_taking(&[("file", "path"), ("file_path", "path")]));
    }
    if has("sandbox_get_context") {
        let name = ("sandbox_get_context", SERVER);
        tools.push(Tool::new(name, BOTH, Mark::ReadOnly, get_context));
    }
    if has("sandbox_get_python_packages") && has("sandbox_get_nodejs_packages") {
        let name = ("sandbox_get_packages", SERVER);
        tools.push(Tool::new(name, BOTH, Mark::ReadOnly, get_packages));
    }
    if let Some(id) = operations.at(Method::Post, "/v1/util/convert_to_markdown") {
        let run = move |calls, arguments| convert(id, calls, arguments);
        let name = ("sandbox_convert_to_markdown", SERVER);
        tools.push(Tool::new(name, BOTH, Mark::ReadOnly, run).also_taking(&[("url", "uri")]));
        let name = ("convert_to_markdown", MARKITDOWN);
        let aio = Tool::new(name, Sets::AIO, Mark::ReadOnly, run);
        tools.push(aio.also_taking(&[("url", "uri")]));
    }
    if has("browser_get_info") {
        let name = ("sandbox_get_browser_info", SERVER);
        tools.push(Tool::new(name, Sets::AIO, Mark::ReadOnly, browser_info));
    }
    if let Some(id) = operations.at(Method::Get, "/v1/browser/screenshot") {
        let run = move |calls, arguments| screenshot(id, calls, arguments);
        let name = ("sandbox_browser_screenshot", SERVER);
        tools.push(Tool::new(name, Sets::AIO, Mark::ReadOnly, run));
    }
    if let Some(id) = operations.at(Method::Post, "/v1/browser/actions") {
        let run = move |calls, arguments| execute_action(id, calls, arguments);
        let name = ("sandbox_browser_execute_action", SERVER);
        tools.push(Tool::new(name, Sets::AIO, Mark::Mutating, run));
    }
    tools
}

/// Run a bash command. The shell is yours and stays: directory, variables and background jobs are there in the next
/// call. A command that is still running after `timeout` seconds goes on; call again with an empty `cmd` to wait for it.
/// Example: {"cmd": "cd project && make test", "timeout": 300}
#[derive(Debug, Deserialize, JsonSchema)]
struct ExecuteBash {
    /// The command: one line or a whole script.
    cmd: String,
    /// Absolute directory to change to first.
    #[serde(default)]
    cwd: Option<String>,
    /// Use a fresh shell instead of yours.
    #[serde(default)]
    new_session: bool,
    /// Seconds to wait for it.
    #[serde(default = "patience")]
    timeout: f64,
    /// Cut the middle out of very long output.
    #[serde(default = "yes")]
    truncate: bool,
}

fn patience() -> f64 {
    30.0
}

fn yes() -> bool {
    true
}

/// What a command did.
#[derive(Debug, Serialize, JsonSchema)]
struct BashResult {
    command: String,
    /// `completed`, `running`, `no_change_timeout` or `terminated`.
    status: String,
    output: String,
    exit_code: Option<i64>,
    session_id: String,
}

async fn execute_bash(calls: Calls, arguments: ExecuteBash) -> Result<Reply, Error> {
    let own = calls.session().to_owned();
    let id = if arguments.new_session { format!("mcp-{}", Uuid::new_v4()) } else { own };
    let result = if arguments.cmd.trim().is_empty() {
        let seconds = arguments.timeout.max(0.0).ceil();
        calls.ask("shell_wait", json!({"id": id, "seconds": seconds})).await?;
        calls.ask("shell_view", json!({"id": id})).await?
    } else {
        calls.ask("shell_create_session", json!({"id": id})).await?;
        let input = fields([
            ("id", json!(id)),
            ("command", json!(arguments.cmd)),
            ("exec_dir", json!(arguments.cwd)),
            ("strict", json!(true)),
            ("timeout", json!(arguments.timeout)),
            ("truncate", json!(arguments.truncate)),
        ]);
        calls.ask("shell_exec", input).await?
    };
    let status = text(&result, "status").to_owned();
    let value = json!(BashResult {
        command: text(&result, "command").to_owned(),
        output: text(&result, "output").to_owned(),
        exit_code: result.get("exit_code").and_then(Value::as_i64),
        session_id: id,
        status,
    });
    let unfinished = value["exit_code"].is_null();
    let reply = Reply::json(value);
    if !unfinished {
        return Ok(reply);
    }
    Ok(reply.and_text(
        "It is still running. Wait for it with an empty cmd and a timeout; answer a question it asks with shell_write; end it with shell_kill.",
    ))
}

/// Run Python or JavaScript. The value of the last expression is shown as well as what is printed; nothing is kept
/// between calls. Example: {"language": "python", "code": "import math\nmath.pi"}
#[derive(Debug, Deserialize, JsonSchema)]
struct ExecuteCode {
    /// The code.
    code: String,
    /// `python` or `javascript`.
    #[serde(default = "python")]
    language: String,
    /// Seconds it may take.
    #[serde(default)]
    timeout: Option<u64>,
}

fn python() -> String {
    "python".to_owned()
}

async fn execute_code(calls: Calls, arguments: ExecuteCode) -> Result<Reply, Error> {
    let language = match arguments.language.to_ascii_lowercase().as_str() {
        "py" | "python3" => "python".to_owned(),
        "js" | "node" | "nodejs" => "javascript".to_owned(),
        other => other.to_owned(),
    };
    let timeout = json!(arguments.timeout);
    let input = fields([
        ("language", json!(language)),
        ("code", json!(arguments.code)),
        ("timeout", timeout),
    ]);
    let result = calls.ask("code_execute", input).await?;
    let failed = text(&result, "status") != "ok";
    let mut reply = Reply::text(execution(&result));
    if let Some((media_type, data)) = picture(&result) {
        reply = reply.and(Reply::encoded_image(data, media_type));
    }
    Ok(reply.with(result).failed_if(failed))
}

/// What to do with files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FileAction {
    Read,
    Write,
    Replace,
    Search,
    Find,
    List,
    Grep,
    Glob,
}

/// Read, write, list and search files. `read` (lines from `start_line`, counted from 0, to before `end_line`), `write`
/// (`content`, with `append` at the end), `replace` (`content` by `target`), `search` (regular expression `content` in one
/// file), `find` and `glob` (`pattern` such as `**/*.py` below a directory), `list`, `grep` (`pattern` in all files below).
/// Example: {"action": "grep", "path": "/home/user/project", "pattern": "TODO"}
#[derive(Debug, Deserialize, JsonSchema)]
struct FileOperations {
    /// What to do.
    action: FileAction,
    /// The file or directory.
    path: String,
    /// Text to write, to replace, or to look for.
    #[serde(default)]
    content: Option<String>,
    /// Text to put in its place.
    #[serde(default)]
    target: Option<String>,
    /// Glob or regular expression.
    #[serde(default)]
    pattern: Option<String>,
    /// Of content: `utf-8` or `base64`.
    #[serde(default)]
    encoding: Option<String>,
    /// First line to read, from 0.
    #[serde(default)]
    start_line: Option<u64>,
    /// Line to stop before.
    #[serde(default)]
    end_line: Option<u64>,
    /// Write at the end.
    #[serde(default)]
    append: bool,
    /// List what is below too.
    #[serde(default)]
    recursive: bool,
    /// List names that begin with a dot.
    #[serde(default)]
    show_hidden: bool,
    /// List only these extensions.
    #[serde(default)]
    file_types: Option<Vec<String>>,
    /// As root.
    #[serde(default)]
    sudo: bool,
}

async fn file_operations(calls: Calls, arguments: FileOperations) -> Result<Reply, Error> {
    let FileOperations { path, content, target, pattern, sudo, .. } = arguments;
    let need = |value: Option<String>, name: &str| {
        value.ok_or_else(|| Error::field(name, "missing", "is required for this action"))
    };
    let base64 = arguments.encoding.as_deref() == Some("base64");
    let (id, input) = match arguments.action {
        FileAction::Read => {
            let lines = (json!(arguments.start_line), json!(arguments.end_line));
            let input = [
                ("file", json!(path)),
                ("start_line", lines.0),
                ("end_line", lines.1),
                ("base64", json!(base64)),
                ("sudo", json!(sudo)),
            ];
            ("file_read", fields(input))
        }
        FileAction::Write => {
            let encoding = if base64 { "base64" } else { "utf-8" };
            let input = [
                ("file", json!(path)),
                ("content", json!(need(content, "content")?)),
                ("encoding", json!(encoding)),
                ("append", json!(arguments.append)),
                ("sudo", json!(sudo)),
            ];
            ("file_write", fields(input))
        }
        FileAction::Replace => {
            let old = need(content, "content")?;
            let new = need(target, "target")?;
            ("file_replace", json!({"file": path, "old_str": old, "new_str": new, "sudo": sudo}))
        }
        FileAction::Search => {
            let regex = need(content.or(pattern), "content")?;
            ("file_search", json!({"file": path, "regex": regex, "sudo": sudo}))
        }
        FileAction::Find => {
            let glob = need(pattern.or(content), "pattern")?;
            ("file_find", json!({"path": path, "glob": glob}))
        }
        FileAction::List => {
            let input = [
                ("path", json!(path)),
                ("recursive", json!(arguments.recursive)),
                ("show_hidden", json!(arguments.show_hidden)),
                ("file_types", json!(arguments.file_types)),
            ];
            ("file_list", fields(input))
        }
        FileAction::Grep => {
            let pattern = need(pattern.or(content), "pattern")?;
            ("file_grep", json!({"path": path, "pattern": pattern, "max_results": 200}))
        }
        FileAction::Glob => {
            let pattern = need(pattern.or(content), "pattern")?;
            let input = json!({"path": path, "pattern": pattern, "include_metadata": false, "max_results": 500});
            ("file_glob", input)
        }
    };
    let result = calls.ask(id, input).await?;
    Ok(match id {
        // A file is read to be read.
        "file_read" => Reply::text(text(&result, "content")).with(result),
        _ => Reply::json(result),
    })
}

/// View and edit a file in small steps: `view` (with `view_range` [first, last], lines from 1), `create`, `str_replace`
/// (`old_str` must occur exactly once), `insert` (after `insert_line`), `undo_edit`.
/// Example: {"command": "str_replace", "path": "/a.py", "old_str": "x = 1", "new_str": "x = 2"}
#[derive(Debug, Deserialize, JsonSchema)]
struct EditorArguments {
    /// `view`, `create`, `str_replace`, `insert` or `undo_edit`.
    command: String,
    /// The file, or directory for `view`.
    path: String,
    /// Text of the new file.
    #[serde(default)]
    file_text: Option<String>,
    /// Text to replace.
    #[serde(default)]
    old_str: Option<String>,
    /// Text to put in its place, or to insert.
    #[serde(default)]
    new_str: Option<String>,
    /// Line to insert after; 0 for the top.
    #[serde(default)]
    insert_line: Option<i64>,
    /// First and last line to view.
    #[serde(default)]
    view_range: Option<Vec<i64>>,
}

async fn str_replace_editor(calls: Calls, arguments: EditorArguments) -> Result<Reply, Error> {
    let input = fields([
        ("command", json!(arguments.command)),
        ("path", json!(arguments.path)),
        ("file_text", json!(arguments.file_text)),
        ("old_str", json!(arguments.old_str)),
        ("new_str", json!(arguments.new_str)),
        ("insert_line", json!(arguments.insert_line)),
        ("view_range", json!(arguments.view_range)),
    ]);
    // Read here, so that a wrong command is named as the tool's own field.
    let _checked: StrReplaceEditor = serde_json::from_value(input.clone())
        .map_err(|error| Error::field("command", "type", error.to_string()))?;
    let result = calls.ask("file_str_replace_editor", input).await?;
    Ok(Reply::text(text(&result, "output")))
}

/// Describe this sandbox: system, home, installed languages and tools.
#[derive(Debug, Deserialize, JsonSchema)]
struct Nothing {}

async fn get_context(calls: Calls, _: Nothing) -> Result<Reply, Error> {
    let result = calls.ask("sandbox_get_context", json!({})).await?;
    Ok(Reply::text(text(&result, "text")).with(result))
}

/// List installed packages of Python, Node.js or both.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetPackages {
    /// `python` or `nodejs`; both when omitted.
    #[serde(default)]
    language: Option<String>,
}

async fn get_packages(calls: Calls, arguments: GetPackages) -> Result<Reply, Error> {
    let language = arguments.language.unwrap_or_default().to_ascii_lowercase();
    let wanted: &[(&str, &str, &str)] = &[
        ("Python Packages:", "sandbox_get_python_packages", "python"),
        ("Node.js Packages:", "sandbox_get_nodejs_packages", "nodejs"),
    ];
    let only = match language.as_str() {
        "" => None,
        "python" | "py" => Some("python"),
        "nodejs" | "node" | "js" | "javascript" => Some("nodejs"),
        _ => return Err(Error::field("language", "enum", "must be python or nodejs")),
    };
    let mut sections = Vec::new();
    let mut found = Map::new();
    for (title, id, language) in wanted {
        if only.is_some_and(|only| only != *language) {
            continue;
        }
        let packages = calls.ask(id, json!({})).await?;
        let lines =
            packages.as_array().into_iter().flatten().map(|package| {
                format!("  - {}=={}", text(package, "name"), text(package, "version"))
            });
        let lines: Vec<_> = std::iter::once((*title).to_owned()).chain(lines).collect();
        sections.push(lines.join("\n"));
        found.insert((*language).to_owned(), packages);
    }
    Ok(Reply::text(sections.join("\n\n")).with(Value::Object(found)))
}

/// Convert a document or web page to Markdown: PDF, Word, Excel, PowerPoint, HTML.
/// Example: {"uri": "file:///home/user/report.pdf"}
#[derive(Debug, Deserialize, JsonSchema)]
struct Convert {
    /// Address or path of the document.
    uri: String,
}

async fn convert(id: &'static str, calls: Calls, arguments: Convert) -> Result<Reply, Error> {
    let result = calls.ask(id, json!({"uri": arguments.uri})).await?;
    let markdown = result.as_str().or_else(|| {
        ["markdown", "text", "content"].iter().find_map(|name| result.get(name)?.as_str())
    });
    Ok(match markdown {
        Some(markdown) => Reply::text(markdown),
        None => Reply::json(result),
    })
}

async fn browser_info(calls: Calls, _: BrowserInfo) -> Result<Reply, Error> {
    Ok(Reply::json(calls.ask("browser_get_info", json!({})).await?))
}

/// Describe the browser: its CDP address for Playwright and the like, its version, its size.
#[derive(Debug, Deserialize, JsonSchema)]
struct BrowserInfo {}

/// Take a picture of the whole display, as a person at the screen sees it.
#[derive(Debug, Deserialize, JsonSchema)]
struct Screenshot {}

async fn screenshot(id: &'static str, calls: Calls, _: Screenshot) -> Result<Reply, Error> {
    let (bytes, media_type) = calls.fetch(id, json!({"format": "jpeg"})).await?;
    Ok(Reply::image(&bytes, &media_type))
}

/// Use mouse and keyboard of the display. Positions are pixels of `sandbox_browser_screenshot`.
/// Example: {"action": {"action_type": "CLICK", "x": 100, "y": 200}}
#[derive(Debug, Deserialize, JsonSchema)]
struct ExecuteAction {
    /// The action: its `action_type` and what that takes.
    action: Map<String, Value>,
}

async fn execute_action(
    id: &'static str,
    calls: Calls,
    arguments: ExecuteAction,
) -> Result<Reply, Error> {
    Ok(Reply::json(calls.ask(id, Value::Object(arguments.action)).await?))
}
