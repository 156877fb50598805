//! Other servers as people write them down: the `mcpServers` JSON that MCP clients share.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

/// Servers one sandbox keeps.
const MOST: usize = 64;
/// Characters of a name.
const NAME: usize = 32;

/// Another MCP server, and how to reach it.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// Its name, the part of its tools' names before `__`.
    pub name: String,
    /// Where it is.
    pub(super) reach: Reach,
    /// Seconds one of its tools may take without a sign of progress.
    pub(super) timeout: Option<f64>,
}

/// How to reach a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reach {
    /// A program that speaks on its standard streams.
    Command {
        program: String,
        arguments: Vec<String>,
        environment: BTreeMap<String, String>,
        directory: Option<PathBuf>,
    },
    /// An address that speaks streamable HTTP.
    Url { url: String, headers: BTreeMap<String, String> },
}

/// What is wrong with a list of servers.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ServerConfigError {
    /// It cannot be read.
    #[error("it is not the JSON of MCP servers: {0}")]
    Unreadable(String),
    /// One server cannot be used.
    #[error("server {name:?}: {problem}")]
    Server {
        /// The server.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default, alias = "serverUrl", alias = "httpUrl")]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    disabled: bool,
    /// A name to use instead, as one system calls it.
    #[serde(default)]
    prefix: Option<String>,
}

/// Reads servers from JSON: `{"mcpServers": {name: …}}`, or only the inner object.
pub fn read_servers(text: &str) -> Result<Vec<ServerConfig>, ServerConfigError> {
    let unreadable = |error: serde_json::Error| ServerConfigError::Unreadable(error.to_string());
    let mut all: Map<String, Value> = serde_json::from_str(text).map_err(unreadable)?;
    let inner = all.remove("mcpServers").or_else(|| all.remove("mcp_servers"));
    let entries = match inner {
        Some(Value::Object(entries)) => entries,
        Some(_) => return Err(ServerConfigError::Unreadable("mcpServers is no object".to_owned())),
        None => all,
    };
    if entries.len() > MOST {
        let problem = format!("there are {} servers, and {MOST} are allowed", entries.len());
        return Err(ServerConfigError::Unreadable(problem));
    }
    let mut servers: Vec<ServerConfig> = Vec::new();
    for (name, entry) in entries {
        let wrong = |problem: String| ServerConfigError::Server { name: name.clone(), problem };
        let entry: Entry =
            serde_json::from_value(entry).map_err(|error| wrong(error.to_string()))?;
        if entry.disabled {
            continue;
        }
        let server = server(entry, &name).map_err(wrong)?;
        if servers.iter().any(|known| known.name == server.name) {
            return Err(wrong(format!("its name {:?} is taken", server.name)));
        }
        servers.push(server);
    }
    Ok(servers)
}

fn server(entry: Entry, name: &str) -> Result<ServerConfig, String> {
    let name = entry.prefix.as_deref().unwrap_or(name);
    let name = name.trim_end_matches('_').to_owned();
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if name.is_empty() || name.len() > NAME || !name.bytes().all(fine) || name.contains("__") {
        return Err(format!(
            "a name has 1 to {NAME} letters, digits, dashes and single underscores"
        ));
    }
    if crate::catalogue::Catalogue::is_server(&name) {
        return Err("this name is one of the sandbox's own groups of tools".to_owned());
    }
    let timeout = entry.timeout;
    if timeout.is_some_and(|seconds| !(seconds.is_finite() && seconds > 0.0)) {
        return Err("timeout is a number of seconds".to_owned());
    }
    let reach = match (entry.command, entry.url) {
        (Some(program), None) if !program.trim().is_empty() => Reach::Command {
            program,
            arguments: entry.args,
            environment: entry.env,
            directory: entry.cwd,
        },
        (None, Some(url)) if url.starts_with("http://") || url.starts_with("https://") => {
            Reach::Url { url, headers: entry.headers }
        }
        (Some(_), Some(_)) => return Err("it has a command and a url; give one of them".to_owned()),
        _ => {
            return Err("it needs a command to start, or a url with http:// or https://".to_owned());
        }
    };
    Ok(ServerConfig { name, reach, timeout })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_in_use_are_read() {
        let text = r#"{"mcpServers": {
            "files": {"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}},
            "web": {"type": "http", "url": "https://a.org/mcp", "headers": {"K": "v"}, "timeout": 5},
            "off": {"command": "x", "disabled": true}
        }}"#;
        let servers = read_servers(text).unwrap();
        let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["files", "web"]);
        assert_eq!(servers[1].timeout, Some(5.0));
        assert!(
            matches!(&servers[0].reach, Reach::Command { arguments, .. } if arguments.len() == 2)
        );
        let bare = r#"{"aiod": {"url": "http://127.0.0.1:1/mcp", "prefix": "day_"}}"#;
        assert_eq!(read_servers(bare).unwrap()[0].name, "day");
        assert!(read_servers("{}").unwrap().is_empty());
    }

    #[test]
    fn a_mistake_names_its_server() {
        for (text, part) in [
            ("[]", "not the JSON"),
            (r#"{"a": {}}"#, "\"a\": it needs a command"),
            (r#"{"a": {"command": "x", "url": "http://y"}}"#, "give one of them"),
            (r#"{"a": {"url": "ftp://y"}}"#, "http://"),
            (r#"{"a__b": {"command": "x"}}"#, "letters"),
            (r#"{"sandbox": {"command": "x"}}"#, "own groups"),
            (r#"{"a": {"command": "x", "args": "y"}}"#, "\"a\": invalid type"),
            (r#"{"a": {"command": "x", "timeout": -1}}"#, "seconds"),
        ] {
            let error = read_servers(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
