//! The same tools without MCP: the operations of the group `mcp`.

use atoll_api::mcp::{CallMcpTool, ListMcpServers, ListMcpTools, McpToolResult, McpTools};
use atoll_operation::{Context, Error, Handle, Kind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::calls::Calls;
use crate::catalogue::Catalogue;
use crate::{Mcp, reply};

impl Handle<ListMcpServers> for Mcp {
    async fn handle(&self, _: &Context, input: ListMcpServers) -> Result<Vec<String>, Error> {
        let mut names = self.catalogue().servers(input.include_hidden);
        let hub = &self.shared().hub;
        names.retain(|name| input.include_hidden || !hub.is_hidden(name));
        names.extend(hub.names(input.include_hidden).map(str::to_owned));
        Ok(names)
    }
}

impl Handle<ListMcpTools> for Mcp {
    async fn handle(&self, _: &Context, input: ListMcpTools) -> Result<McpTools, Error> {
        let server = input.server_name;
        if Catalogue::is_server(&server) {
            let tools: Vec<_> =
                self.catalogue().of_server(&server).map(|tool| &tool.definition).collect();
            if !tools.is_empty() {
                return convert(&json!({ "tools": tools }));
            }
        }
        let member = self.shared().hub.get(&server).ok_or_else(|| self.no_server(&server))?;
        let connection = member.connect().await?;
        convert(&json!({ "tools": *connection.tools() }))
    }
}

impl Handle<CallMcpTool> for Mcp {
    async fn handle(&self, cx: &Context, input: CallMcpTool) -> Result<McpToolResult, Error> {
        let CallMcpTool { server_name: server, tool_name: name, arguments } = input;
        if let Some(tool) = self.catalogue().in_server(&server, &name) {
            let calls = Calls::new(self.catalogue().operations(), cx.clone(), None, None);
            return match tool.call(calls, arguments).await {
                Ok(reply) => convert(&reply.into_result()),
                Err(error) => convert(&reply::failure(&error)),
            };
        }
        let hub = &self.shared().hub;
        let no_tool = || {
            let message = format!("the MCP server {server} has no tool {name:?}; list its tools");
            Error::new(Kind::NotFound, "mcp.tool_not_found", message)
        };
        let Some(member) = hub.get(&server) else {
            let known = Catalogue::is_server(&server)
                && self.catalogue().of_server(&server).next().is_some();
            return Err(if known { no_tool() } else { self.no_server(&server) });
        };
        let connection = member.connect().await?;
        let tools = connection.tools();
        let tool = tools
            .iter()
            .find(|tool| tool.name == name || crate::hub::public_name(&server, &tool.name) == name);
        let tool = tool.ok_or_else(no_tool)?;
        // Dropped when the client goes away, and then called off at the other server too.
        let called = member.call(&tool.name, arguments, None).await?;
        convert(&called)
    }
}

impl Mcp {
    fn no_server(&self, name: &str) -> Error {
        let mut known = self.catalogue().servers(true);
        known.extend(self.shared().hub.names(true).map(str::to_owned));
        let message = format!("there is no MCP server {name:?}; there are {}", known.join(", "));
        Error::new(Kind::NotFound, "mcp.server_not_found", message)
    }
}

/// From the protocol's types to the contract's, which are spelled alike.
fn convert<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, Error> {
    let value = serde_json::to_value(value);
    value
        .and_then(serde_json::from_value)
        .map_err(|error| Error::internal("the tool's answer could not be read", error))
}
