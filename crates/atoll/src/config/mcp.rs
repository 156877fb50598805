//! Other MCP servers behind this one: the `[mcp]` table of the file, and the variables existing deployments set.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigError, Variables};

/// The server that our browser's tools are said to belong to.
const BROWSER: &str = "browser";

/// Other MCP servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct McpConfig {
    /// Whether MCP is not offered at all.
    pub(crate) disabled: bool,
    /// File with other servers, in the `mcpServers` JSON that MCP clients share.
    pub(crate) servers: Option<PathBuf>,
    /// Servers that are not listed unless a client asks for them.
    pub(crate) hidden: Vec<String>,
    /// Where the tool WebSearch asks: an address in which `{query}` stands for the words, answering with JSON as SearXNG
    /// does.
    pub(crate) search_url: Option<String>,
}

/// Where each setting can be made beside the file.
pub(super) const PLACES: &[(&str, &str)] = &[
    ("disabled", "Environment ENABLE_MCP (its opposite)."),
    ("servers", "Flag --mcp-servers, environment ATOLL_MCP_SERVERS."),
    ("hidden", "Environment MCP_FILTER_SERVERS, DISABLE_MCP_BROWSER."),
    ("search_url", "Environment ATOLL_MCP_SEARCH_URL."),
];

/// What one source says about them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpLayer {
    pub(crate) disabled: Option<bool>,
    pub(crate) servers: Option<PathBuf>,
    pub(crate) hidden: Option<Vec<String>>,
    pub(crate) search_url: Option<String>,
}

impl McpLayer {
    /// This layer, and where it says nothing the one below.
    pub(super) fn over(self, below: Self) -> Self {
        let servers = self.servers.or(below.servers);
        let search_url = self.search_url.or(below.search_url);
        let disabled = self.disabled.or(below.disabled);
        Self { disabled, servers, hidden: self.hidden.or(below.hidden), search_url }
    }

    /// What comes out.
    pub(super) fn resolve(self) -> McpConfig {
        let servers = self.servers.map(super::absolute);
        let hidden = self.hidden.unwrap_or_default();
        let disabled = self.disabled.unwrap_or_default();
        McpConfig { disabled, servers, hidden, search_url: self.search_url }
    }
}

impl Variables {
    /// What the environment says about other servers.
    pub(super) fn mcp(&self) -> Result<McpLayer, ConfigError> {
        let mut hidden = self.list("MCP_FILTER_SERVERS");
        if self.switch("DISABLE_MCP_BROWSER")? == Some(true) {
            hidden.get_or_insert_default().push(BROWSER.to_owned());
        }
        Ok(McpLayer {
            disabled: self.switch("ENABLE_MCP")?.map(|enabled| !enabled),
            servers: self.get("ATOLL_MCP_SERVERS").map(PathBuf::from),
            hidden,
            search_url: self.get("ATOLL_MCP_SEARCH_URL").map(str::to_owned),
        })
    }
}
