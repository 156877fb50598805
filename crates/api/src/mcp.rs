//! MCP over plain REST: which MCP servers this sandbox has, what tools they offer, and calling one.
//!
//! The same tools are offered by MCP itself at `/mcp`; these operations are for callers that do not speak it.

use atoll_operation::{Declaration, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of::<ListMcpServers>(),
    Declaration::of::<ListMcpTools>(),
    Declaration::of::<CallMcpTool>(),
];

/// List the MCP servers of this sandbox: its own groups of tools, and those it was given.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListMcpServers {
    /// Include groups that are not listed to models unless asked for.
    #[serde(default)]
    pub include_hidden: bool,
}

impl Operation for ListMcpServers {
    type Output = Vec<String>;
    const SPEC: Spec =
        Spec::get("mcp_list_servers", "/v1/mcp/servers", "mcp:read").sdk("mcp", "list_mcp_servers");
}

/// List the tools of one MCP server.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListMcpTools {
    /// The server.
    pub server_name: String,
}

/// Tools of an MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ListToolsResultModel")]
pub struct McpTools {
    /// The tools.
    pub tools: Vec<McpTool>,
    /// Where the list goes on; always null, since the list is whole.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
    /// What the server added.
    #[serde(default, rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Tool")]
pub struct McpTool {
    /// Its name.
    pub name: String,
    /// Its name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it does, for a model.
    #[serde(default)]
    pub description: Option<String>,
    /// JSON schema of its arguments.
    #[serde(rename = "inputSchema")]
    pub input_schema: Map<String, Value>,
    /// JSON schema of its structured result.
    #[serde(default, rename = "outputSchema")]
    pub output_schema: Option<Map<String, Value>>,
    /// Pictures for it.
    #[serde(default)]
    pub icons: Option<Vec<McpIcon>>,
    /// Whether it changes anything.
    #[serde(default)]
    pub annotations: Option<McpToolAnnotations>,
    /// How it wants to be run.
    #[serde(default)]
    pub execution: Option<McpToolExecution>,
    /// What the server added.
    #[serde(default, rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}

/// A picture for a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Icon")]
pub struct McpIcon {
    /// Its address.
    pub src: String,
    /// Its media type.
    #[serde(default, rename = "mimeType")]
    pub mime_type: Option<String>,
    /// Its sizes: `48x48`, `any`.
    #[serde(default)]
    pub sizes: Option<Vec<String>>,
}

/// How a tool wants to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ToolExecution")]
pub struct McpToolExecution {
    /// Whether it can, or must, be run as a task.
    #[serde(default, rename = "taskSupport")]
    pub task_support: Option<McpTaskSupport>,
}

/// Whether a tool can be run as a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpTaskSupport {
    /// It cannot.
    Forbidden,
    /// It can.
    Optional,
    /// It must.
    Required,
}

/// What a tool says about its effects. A server may be wrong about them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ToolAnnotations")]
pub struct McpToolAnnotations {
    /// Its name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// It changes nothing.
    #[serde(default, rename = "readOnlyHint")]
    pub read_only: Option<bool>,
    /// It may destroy something.
    #[serde(default, rename = "destructiveHint")]
    pub destructive: Option<bool>,
    /// Calling it twice is as good as once.
    #[serde(default, rename = "idempotentHint")]
    pub idempotent: Option<bool>,
    /// It reaches beyond the sandbox.
    #[serde(default, rename = "openWorldHint")]
    pub open_world: Option<bool>,
}

impl Operation for ListMcpTools {
    type Output = McpTools;
    const SPEC: Spec = Spec::get("mcp_list_tools", "/v1/mcp/{server_name}/tools", "mcp:read")
        .sdk("mcp", "list_mcp_tools")
        .errors(&["mcp.server_not_found", "mcp.server_unavailable"]);
}

/// Call a tool of an MCP server. The fields of the body are the tool's arguments.
///
/// A tool that fails says so in its result (`isError`), as over MCP. An argument must not be called `server_name` or
/// `tool_name`; call such a tool over MCP.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CallMcpTool {
    /// The server.
    pub server_name: String,
    /// The tool, with or without its server's name before it.
    pub tool_name: String,
    /// The arguments.
    #[serde(flatten)]
    pub arguments: Map<String, Value>,
}

/// What a tool returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CallToolResultModel")]
pub struct McpToolResult {
    /// The result for a model.
    #[serde(default)]
    pub content: Vec<McpContent>,
    /// The result for a program.
    #[serde(default, rename = "structuredContent")]
    pub structured_content: Option<Map<String, Value>>,
    /// Whether the tool failed; `content` says why.
    #[serde(default, rename = "isError")]
    pub is_error: bool,
    /// What the server added.
    #[serde(default, rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}

/// A piece of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum McpContent {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Whom it is for.
        #[serde(default)]
        annotations: Option<McpAnnotations>,
        /// What the server added.
        #[serde(default, rename = "_meta")]
        meta: Option<Map<String, Value>>,
    },
    /// A picture.
    Image {
        /// Its bytes in base64.
        data: String,
        /// Its media type.
        #[serde(rename = "mimeType")]
        mime_type: String,
        /// Whom it is for.
        #[serde(default)]
        annotations: Option<McpAnnotations>,
        /// What the server added.
        #[serde(default, rename = "_meta")]
        meta: Option<Map<String, Value>>,
    },
    /// Sound.
    Audio {
        /// Its bytes in base64.
        data: String,
        /// Its media type.
        #[serde(rename = "mimeType")]
        mime_type: String,
        /// Whom it is for.
        #[serde(default)]
        annotations: Option<McpAnnotations>,
        /// What the server added.
        #[serde(default, rename = "_meta")]
        meta: Option<Map<String, Value>>,
    },
    /// A reference to a resource.
    ResourceLink {
        /// Its name.
        name: String,
        /// Its name for people.
        #[serde(default)]
        title: Option<String>,
        /// Its address.
        uri: String,
        /// What it is.
        #[serde(default)]
        description: Option<String>,
        /// Its media type.
        #[serde(default, rename = "mimeType")]
        mime_type: Option<String>,
        /// Its bytes.
        #[serde(default)]
        size: Option<u64>,
        /// Pictures for it.
        #[serde(default)]
        icons: Option<Vec<McpIcon>>,
        /// Whom it is for.
        #[serde(default)]
        annotations: Option<McpAnnotations>,
        /// What the server added.
        #[serde(default, rename = "_meta")]
        meta: Option<Map<String, Value>>,
    },
    /// A resource itself.
    Resource {
        /// The resource.
        resource: McpResource,
        /// Whom it is for.
        #[serde(default)]
        annotations: Option<McpAnnotations>,
        /// What the server added.
        #[serde(default, rename = "_meta")]
        meta: Option<Map<String, Value>>,
    },
}

/// A resource in a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum McpResource {
    /// A text.
    #[schemars(title = "TextResourceContents")]
    Text {
        /// Its address.
        uri: String,
        /// Its media type.
        #[serde(default, rename = "mimeType")]
        mime_type: Option<String>,
        /// The text.
        text: String,
        /// What the server added.
        #[serde(default, rename = "_meta")]
        meta: Option<Map<String, Value>>,
    },
    /// Bytes.
    #[schemars(title = "BlobResourceContents")]
    Blob {
        /// Its address.
        uri: String,
        /// Its media type.
        #[serde(default, rename = "mimeType")]
        mime_type: Option<String>,
        /// The bytes in base64.
        blob: String,
        /// What the server added.
        #[serde(default, rename = "_meta")]
        meta: Option<Map<String, Value>>,
    },
}

/// Whom a piece of a result is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Annotations")]
pub struct McpAnnotations {
    /// The readers.
    #[serde(default)]
    pub audience: Option<Vec<McpAudience>>,
    /// How much it matters, from 0 to 1.
    #[serde(default)]
    pub priority: Option<f64>,
}

/// A reader of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpAudience {
    /// A person.
    User,
    /// The model.
    Assistant,
}

impl Operation for CallMcpTool {
    type Output = McpToolResult;
    const SPEC: Spec =
        Spec::post("mcp_call_tool", "/v1/mcp/{server_name}/tools/{tool_name}", "mcp:write")
            .sdk("mcp", "execute_mcp_tool")
            .json_body()
            .errors(&[
                "mcp.server_not_found",
                "mcp.server_unavailable",
                "mcp.tool_not_found",
                "mcp.timeout",
                "mcp.failed",
            ])
            .large_body();
}
