//! `mcp`: the MCP servers of a sandbox and their tools. Without a verb it connects a client, which the program does.

use std::fmt::Write as _;

use atoll_api::mcp::{ListMcpServers, ListMcpTools, McpTool};
use atoll_client::ClientError;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches as _};
use serde::Serialize;
use serde_json::json;
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::program::Session;
use crate::render::shortened;

/// Verbs made by hand.
pub(crate) const VERBS: &[&str] = &["list"];
/// Characters of a tool's description on its line.
const ABOUT: usize = 90;

const HELP: &str = "\
Give this command to an MCP client as a server of its own, for example:
  {\"mcpServers\": {\"sandbox\": {\"command\": \"atoll\", \"args\": [\"mcp\", \"--url\", \"http://127.0.0.1:8080\"]}}}

The address may be that of an endpoint with what to list (http://host:8080/mcp?profile=all).

The variable ATOLL_API_KEY holds the key, where the server asks for one.";

#[derive(Debug, Args)]
struct ListArgs {
    /// Those that are not listed to models unless asked for, too.
    #[arg(long)]
    all: bool,
}

/// A server, with its tools or why they cannot be had.
#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<McpTool>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The group's command, which does something also without a verb.
pub(crate) fn with_bridge(command: Command) -> Command {
    let url = Arg::new("url")
        .long("url")
        .value_name("URL")
        .global(true)
        .help("The same as --api-url; also the address of an MCP endpoint");
    command.arg(url).after_help(HELP)
}

pub(crate) fn add_commands(command: Command) -> Command {
    let list = Command::new("list")
        .about("List the MCP servers of a sandbox and their tools: its own groups, and the servers behind it");
    command.subcommand(ListArgs::augment_args(list))
}

/// The endpoint a client is to be connected to, and the headers to show.
pub(crate) fn endpoint(matches: &ArgMatches) -> Result<(String, Vec<String>), Failure> {
    let globals = Globals::from_arg_matches(matches).map_err(Failure::usage)?;
    let said = matches.get_one::<String>("url").cloned().or_else(|| globals.api_url.clone());
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let by_variable = || globals.profile.is_none().then(|| set("ATOLL_URL")).flatten();
    let connection = Connection::find(&globals)?;
    let url = said.or_else(by_variable).unwrap_or_else(|| connection.url.clone());
    Ok((url, connection.header_lines()))
}

/// Lists servers and tools.
pub(crate) async fn list(session: &Session, matches: &ArgMatches) -> Result<u8, Failure> {
    let arguments = ListArgs::from_arg_matches(matches).map_err(Failure::usage)?;
    let servers = ask(session, arguments.all).await.map_err(|error| session.explain(error))?;
    if session.output.is_human() {
        session.output.write(told(&servers).as_bytes())?;
    } else {
        session.output.show("mcp_list", &json!({ "servers": servers }))?;
    }
    Ok(0)
}

/// Asks every server at once, since one of them may take long to start; in the order of the sandbox's own list.
async fn ask(session: &Session, include_hidden: bool) -> Result<Vec<Listed>, ClientError> {
    let names = session.client.call(ListMcpServers { include_hidden }).await?;
    let mut asked = JoinSet::new();
    for (position, name) in names.into_iter().enumerate() {
        let client = session.client.clone();
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
    shortened(sentence, ABOUT)
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
        let tool: McpTool = serde_json::from_value(json!({
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
