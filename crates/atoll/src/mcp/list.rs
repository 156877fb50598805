//! `atoll mcp list`: the MCP servers of a running sandbox and their tools, for people at a terminal and as JSON for
//! everything else.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};

use atoll_api::mcp::{ListMcpServers, ListMcpTools, McpTool};
use atoll_client::{Client, ClientError};
use serde::Serialize;
use tokio::task::JoinSet;

/// Characters of a tool's description on its line.
const ABOUT: usize = 90;

/// A server, with its tools or why they cannot be had.
#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<McpTool>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// What the program prints.
pub(super) async fn list(
    address: &str,
    headers: &[(String, String)],
    hidden: bool,
) -> Result<String, ClientError> {
    let mut client = Client::new(address)?;
    for (name, value) in headers {
        client = client.with_header(name, value)?;
    }
    let servers = ask(&client, hidden).await?;
    Ok(if io::stdout().is_terminal() {
        told(&servers)
    } else {
        format!("{:#}\n", serde_json::json!({ "servers": servers }))
    })
}

/// Asks every server at once, since one of them may take long to start; in the order of the sandbox's own list.
async fn ask(client: &Client, include_hidden: bool) -> Result<Vec<Listed>, ClientError> {
    let names = client.call(ListMcpServers { include_hidden }).await?;
    let mut asked = JoinSet::new();
    for (position, name) in names.into_iter().enumerate() {
        let client = client.clone();
        asked.spawn(async move {
            let listed = client.call(ListMcpTools { server_name: name.clone() }).await;
            let (tools, error) = match listed {
                Ok(listed) => (Some(listed.tools), None),
                Err(error) => (None, Some(error.to_string())),
            };
            (position, Listed { name, tools, error })
        });
    }
    let mut servers = asked.join_all().await;
    servers.sort_by_key(|(position, _)| *position);
    Ok(servers.into_iter().map(|(_, listed)| listed).collect())
}

/// For people: a line for each server and each of its tools.
fn told(servers: &[Listed]) -> String {
    let mut out = String::new();
    for Listed { name, tools, error } in servers {
        let tools = tools.as_deref().unwrap_or_default();
        let _never = match error {
            Some(error) => writeln!(out, "{name}: {error}"),
            None => writeln!(out, "{name} ({})", tools.len()),
        };
        let width = tools.iter().map(|tool| tool.name.chars().count()).max().unwrap_or_default();
        for tool in tools {
            let about = summary(tool.description.as_deref().unwrap_or_default());
            let _never = writeln!(out, "  {:width$}  {about}", tool.name);
        }
    }
    out
}

/// The beginning of a description, on one line.
fn summary(description: &str) -> String {
    let words: Vec<_> = description.split_whitespace().collect();
    let line = words.join(" ");
    let sentence = line.find(". ").and_then(|end| line.get(..=end)).unwrap_or(&line);
    if sentence.chars().count() <= ABOUT {
        return sentence.to_owned();
    }
    let start: String = sentence.chars().take(ABOUT - 1).collect();
    format!("{}…", start.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_cut_to_its_first_sentence_and_a_line() {
        assert_eq!(summary("Run it.  Then\nlook."), "Run it.");
        assert_eq!(summary("Reads a.txt\nand more"), "Reads a.txt and more");
        assert_eq!(summary(&"word ".repeat(50)).chars().count(), ABOUT);
    }

    #[test]
    fn a_server_that_cannot_be_used_is_told_with_its_reason() {
        let tool: McpTool = serde_json::from_value(serde_json::json!({
            "name": "echo", "description": "Says it again. Twice.", "inputSchema": {}
        }))
        .unwrap();
        let servers = [
            Listed { name: "a".to_owned(), tools: Some(vec![tool]), error: None },
            Listed { name: "b".to_owned(), tools: None, error: Some("gone".to_owned()) },
        ];
        assert_eq!(told(&servers), "a (1)\n  echo  Says it again.\nb: gone\n");
    }
}
