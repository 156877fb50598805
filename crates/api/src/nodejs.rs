//! Node.js: JavaScript in sessions that keep their state, and programs that run once in a fresh process.

use std::collections::BTreeMap;

use atoll_operation::{Declaration, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::system::Package;

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of::<ExecuteNode>(),
    Declaration::of::<GetNodeInfo>(),
    Declaration::of::<CreateNodeSession>(),
    Declaration::of::<ListNodeSessions>(),
    Declaration::of::<GetNodeSession>(),
    Declaration::of::<UpdateNodeSession>(),
    Declaration::of::<DeleteNodeSession>(),
];

const UNAVAILABLE: &str = "nodejs.unavailable";
const UNKNOWN_VERSION: &str = "nodejs.unknown_version";
const NOT_FOUND: &str = "nodejs.session_not_found";
const DIRECTORY: &str = "nodejs.directory";

/// Run JavaScript with Node.js.
///
/// Without a session the code is a program of its own: a fresh process in an empty directory that is removed
/// afterwards. With `stateful` or a `session_id` it is typed into a session as into a console: variables, functions and
/// imports live on, top-level `await` works, and declaring something again replaces it. Either way the value of the last
/// expression is told as an `execute_result`. In a session the execution is over when that value is there, and settled if
/// it is a promise; what timers print later comes with the execution after it. When `timeout` passes, a session's code
/// is interrupted and its state stays, if need be at the cost of the process; a program is killed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExecuteNode {
    /// The code.
    #[schemars(extend("x-allow-nul" = true))]
    pub code: String,
    /// Seconds it may take, waiting for its session included.
    #[serde(default = "timeout")]
    #[schemars(range(min = 1, max = 300))]
    pub timeout: Option<u64>,
    /// What it reads as standard input, up to its end.
    #[serde(default)]
    #[schemars(extend("x-allow-nul" = true))]
    pub stdin: Option<String>,
    /// Files to create in the directory it runs in, by relative path.
    #[serde(default)]
    #[schemars(extend("x-allow-nul" = true))]
    pub files: Option<BTreeMap<String, String>>,
    /// Run it in a session, made up when none is named.
    #[serde(default = "stateless")]
    pub stateful: Option<bool>,
    /// Session to run in; created when unknown. Naming one is enough to run in a session.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Absolute directory to run in. A session stays there; a program without one gets an empty directory of its own.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Node.js to use: `node22`, `22`, `v22.1.0`; the default one when omitted.
    #[serde(default)]
    pub version: Option<String>,
}

/// The language of an execution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeLanguage {
    /// JavaScript.
    #[default]
    Javascript,
}

/// What became of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeStatus {
    /// It did what it should.
    Ok,
    /// It threw, or its process ended with a code other than 0.
    Error,
    /// Its time was up.
    Timeout,
}

/// A kind of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeOutputType {
    /// Text written to a stream.
    Stream,
    /// The value of the last expression.
    ExecuteResult,
    /// Something that was thrown and not caught.
    Error,
}

/// Something code said. What a stream carried is in one piece; standard output comes first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NodeJSOutput")]
pub struct NodeOutput {
    /// What kind it is; decides which other fields are set.
    pub output_type: NodeOutputType,
    /// Of a stream: `stdout` or `stderr`.
    pub name: Option<String>,
    /// Of a stream: the text.
    pub text: Option<String>,
    /// Of an error: its class.
    pub ename: Option<String>,
    /// Of an error: its message.
    pub evalue: Option<String>,
    /// Of an error: its stack, line by line.
    pub traceback: Option<Vec<String>>,
    /// Of a result: the value by media type; always as `text/plain`.
    pub data: Option<Map<String, Value>>,
    /// Of a result: more about it.
    pub metadata: Option<Map<String, Value>>,
}

/// What an execution did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NodeJSExecuteResponse")]
pub struct NodeExecution {
    /// The language.
    pub language: NodeLanguage,
    /// What became of it.
    pub status: NodeStatus,
    /// How many executions the session has seen, this one included.
    pub execution_count: Option<u64>,
    /// What it said, piece by piece.
    pub outputs: Vec<NodeOutput>,
    /// The code.
    pub code: String,
    /// Everything it wrote to standard output.
    pub stdout: String,
    /// Everything it wrote to standard error.
    pub stderr: String,
    /// Exit code of its process, 128 plus the signal's number if one ended it; in a session 0, 1 when it threw, 130 when
    /// it was interrupted.
    pub exit_code: i32,
    /// The session it ran in.
    pub session_id: Option<String>,
}

impl Operation for ExecuteNode {
    type Output = NodeExecution;
    const SPEC: Spec = Spec::post("nodejs_execute", "/v1/nodejs/execute", "nodejs:write")
        .sdk("nodejs", "execute_code")
        .mcp(Mcp::Destructive)
        .streaming()
        .errors(&[
            UNAVAILABLE,
            UNKNOWN_VERSION,
            DIRECTORY,
            "nodejs.file",
            "nodejs.other_version",
            "nodejs.sessions_exhausted",
            "nodejs.start_failed",
        ]);
}

/// Describe the Node.js installations of this sandbox and the packages code can use.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetNodeInfo {}

/// The Node.js installations of this sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NodeJSRuntimeInfo")]
pub struct NodeInfo {
    /// Version of the default one.
    pub node_version: String,
    /// Version of its npm; empty when it has none.
    pub npm_version: String,
    /// Languages it runs.
    pub supported_languages: Vec<String>,
    /// The same in words.
    pub description: String,
    /// Directory whose packages every execution can use: install yours there.
    pub runtime_directory: Option<String>,
    /// Where `npm install --global` puts packages; every execution can use them too.
    pub global_npm_directory: Option<String>,
    /// Packages of the runtime directory.
    pub runtime_packages: Vec<Package>,
    /// Packages of the global directory.
    pub global_packages: Vec<Package>,
    /// What is wrong, when something is.
    pub error: Option<String>,
    /// Every Node.js found, by the name to ask for it.
    pub available_versions: Vec<String>,
    /// The default one, by that name.
    pub current_version: Option<String>,
}

impl Operation for GetNodeInfo {
    type Output = NodeInfo;
    const SPEC: Spec = Spec::get("nodejs_info", "/v1/nodejs/info", "nodejs:read")
        .sdk("nodejs", "get_info")
        .mcp(Mcp::ReadOnly);
}

/// Whether a session runs something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum NodeSessionState {
    /// It does not.
    Idle,
    /// It does.
    Executing,
}

/// A Node.js session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NodeJSSessionInfo")]
pub struct NodeSession {
    /// Its id.
    pub session_id: String,
    /// Where it is.
    pub cwd: String,
    /// When it was created, in milliseconds since 1970.
    pub created_at: f64,
    /// When it was last used, in milliseconds since 1970.
    pub last_used: f64,
    /// Milliseconds it may be unused before it is closed.
    pub max_idle_time: u64,
    /// Seconds since it was last used.
    pub age_seconds: u64,
    /// Whether it runs something.
    pub state: NodeSessionState,
    /// The Node.js it runs, by the name to ask for it.
    pub version: String,
}

/// Create a Node.js session, or return the one that has this id already.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CreateNodeSession {
    /// Id of your choice; made up when omitted or empty.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Absolute directory it starts in; the workspace when omitted.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Seconds it may be unused before it is closed.
    #[serde(default = "max_idle_time")]
    #[schemars(range(min = 60, max = 86400))]
    pub max_idle_time: Option<u64>,
    /// Node.js to use: `node22`, `22`, `v22.1.0`; the default one when omitted.
    #[serde(default)]
    #[schemars(extend("x-in" = "query"))]
    pub version: Option<String>,
}

/// A session that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NodeJSCreateSessionResponse")]
pub struct CreatedNodeSession {
    /// Its id.
    pub session_id: String,
    /// Whether it is new.
    pub created: bool,
    /// Why it is not, if it is not.
    pub message: Option<String>,
    /// The session.
    pub session: Option<NodeSession>,
}

impl Operation for CreateNodeSession {
    type Output = CreatedNodeSession;
    const SPEC: Spec = Spec::post("nodejs_create_session", "/v1/nodejs/sessions", "nodejs:write")
        .query(&["version"])
        .sdk("nodejs", "create_session")
        .mcp(Mcp::Mutating)
        .errors(&[
            UNAVAILABLE,
            UNKNOWN_VERSION,
            DIRECTORY,
            "nodejs.other_version",
            "nodejs.sessions_exhausted",
            "nodejs.start_failed",
        ]);
}

/// List Node.js sessions.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListNodeSessions {
    /// Only those that run this Node.js.
    #[serde(default)]
    pub version: Option<String>,
}

/// The Node.js sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NodeJSSessionListResponse")]
pub struct NodeSessions {
    /// By id.
    pub sessions: BTreeMap<String, NodeSession>,
}

impl Operation for ListNodeSessions {
    type Output = NodeSessions;
    const SPEC: Spec = Spec::get("nodejs_list_sessions", "/v1/nodejs/sessions", "nodejs:read")
        .sdk("nodejs", "list_sessions")
        .mcp(Mcp::ReadOnly)
        .errors(&[UNKNOWN_VERSION]);
}

/// Look at a Node.js session. This does not count as using it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetNodeSession {
    /// The session.
    pub session_id: String,
    /// Only if it runs this Node.js.
    #[serde(default)]
    pub version: Option<String>,
}

/// A Node.js session that was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NodeJSSessionResponse")]
pub struct FoundNodeSession {
    /// The session.
    pub session: NodeSession,
}

impl Operation for GetNodeSession {
    type Output = FoundNodeSession;
    const SPEC: Spec =
        Spec::get("nodejs_get_session", "/v1/nodejs/sessions/{session_id}", "nodejs:read")
            .sdk("nodejs", "get_session")
            .mcp(Mcp::ReadOnly)
            .errors(&[NOT_FOUND, UNKNOWN_VERSION]);
}

/// Change where a Node.js session is, or how long it may be unused.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct UpdateNodeSession {
    /// The session.
    pub session_id: String,
    /// Seconds it may be unused before it is closed.
    #[serde(default)]
    #[schemars(range(min = 60, max = 86400))]
    pub max_idle_time: Option<u64>,
    /// Absolute directory it enters before its next execution.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Only if it runs this Node.js.
    #[serde(default)]
    #[schemars(extend("x-in" = "query"))]
    pub version: Option<String>,
}

/// A Node.js session that was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NodeJSUpdateSessionResponse")]
pub struct UpdatedNodeSession {
    /// Whether it was changed.
    pub updated: bool,
    /// The session.
    pub session: NodeSession,
}

impl Operation for UpdateNodeSession {
    type Output = UpdatedNodeSession;
    const SPEC: Spec =
        Spec::patch("nodejs_update_session", "/v1/nodejs/sessions/{session_id}", "nodejs:write")
            .query(&["version"])
            .sdk("nodejs", "update_session")
            .mcp(Mcp::Mutating)
            .errors(&[NOT_FOUND, UNKNOWN_VERSION, DIRECTORY]);
}

/// Close a Node.js session: everything it runs and has started is killed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeleteNodeSession {
    /// The session.
    pub session_id: String,
    /// Only if it runs this Node.js.
    #[serde(default)]
    pub version: Option<String>,
}

/// A Node.js session that was closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NodeJSDeleteSessionResponse")]
pub struct DeletedNodeSession {
    /// Whether it was.
    pub deleted: bool,
}

impl Operation for DeleteNodeSession {
    type Output = DeletedNodeSession;
    const SPEC: Spec =
        Spec::delete("nodejs_delete_session", "/v1/nodejs/sessions/{session_id}", "nodejs:write")
            .sdk("nodejs", "delete_session")
            .mcp(Mcp::Destructive)
            .errors(&[NOT_FOUND, UNKNOWN_VERSION]);
}

#[expect(clippy::unnecessary_wraps, reason = "the field may be null")]
fn timeout() -> Option<u64> {
    Some(30)
}

#[expect(clippy::unnecessary_wraps, reason = "the field may be null")]
fn stateless() -> Option<bool> {
    Some(false)
}

#[expect(clippy::unnecessary_wraps, reason = "the field may be null")]
fn max_idle_time() -> Option<u64> {
    Some(86_400)
}
