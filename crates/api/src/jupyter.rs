//! Jupyter: Python, and whatever else has a kernel, in sessions that keep their state.

use std::collections::BTreeMap;

use atoll_operation::{Declaration, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of::<ExecuteJupyter>(),
    Declaration::of::<GetJupyterInfo>(),
    Declaration::of::<ListJupyterSessions>(),
    Declaration::of::<CreateJupyterSession>(),
    Declaration::of::<DeleteJupyterSession>(),
    Declaration::of::<DeleteJupyterSessions>(),
];

const UNAVAILABLE: &str = "jupyter.unavailable";
const UNKNOWN_KERNEL: &str = "jupyter.unknown_kernel";
const OTHER_KERNEL: &str = "jupyter.other_kernel";
const DIRECTORY: &str = "jupyter.directory";
const EXHAUSTED: &str = "jupyter.sessions_exhausted";
const START_FAILED: &str = "jupyter.start_failed";
const NOT_FOUND: &str = "jupyter.session_not_found";

/// Run Python in a Jupyter kernel.
///
/// It runs as a cell of a notebook would: variables, functions and imports live on in the session, top-level `await`,
/// `!command` and `%magic` work, and the value of the last expression is told as an `execute_result`. Executions of one
/// session run one after the other. When `timeout` passes the code is interrupted and the session keeps its state; code
/// that ignores the interrupt costs the session its kernel, and the next execution gets a fresh one. There is nobody to
/// answer `input()`, which raises an error.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExecuteJupyter {
    /// The code.
    #[schemars(extend("x-allow-nul" = true))]
    pub code: String,
    /// Seconds it may run, and seconds it may wait for others in the same session.
    #[serde(default = "timeout")]
    #[schemars(range(min = 1, max = 300))]
    pub timeout: Option<u64>,
    /// Kernel to use: `python3`, `python3.12`, or another that `jupyter_info` lists; the default one when omitted.
    #[serde(default)]
    pub kernel_name: Option<String>,
    /// Session to run in; created when unknown, made up when omitted or empty.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Absolute directory to run in; the session stays there.
    #[serde(default)]
    pub cwd: Option<String>,
}

/// What became of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JupyterStatus {
    /// It did what it should.
    Ok,
    /// It raised an exception, or its kernel died.
    Error,
    /// Its time was up.
    Timeout,
}

/// A kind of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JupyterOutputType {
    /// Text written to a stream.
    Stream,
    /// The value of the last expression.
    ExecuteResult,
    /// Something that was displayed: a picture, a table, a plot.
    DisplayData,
    /// An exception that was not caught.
    Error,
}

/// Something code put out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JupyterOutput {
    /// What kind it is; decides which other fields are set.
    pub output_type: JupyterOutputType,
    /// Of a stream: `stdout` or `stderr`.
    pub name: Option<String>,
    /// Of a stream: the text.
    pub text: Option<String>,
    /// Of a result or a display: its forms by media type; pictures are base64.
    pub data: Option<Map<String, Value>>,
    /// Of a result or a display: about its forms.
    pub metadata: Option<Map<String, Value>>,
    /// Of a result: the execution's number.
    pub execution_count: Option<u64>,
    /// Of an error: its class; `DeadKernelError` when the kernel died.
    pub ename: Option<String>,
    /// Of an error: its message.
    pub evalue: Option<String>,
    /// Of an error: where it happened, with ANSI colours.
    pub traceback: Option<Vec<String>>,
}

/// What an execution did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JupyterExecuteResponse")]
pub struct JupyterExecution {
    /// The kernel it ran in.
    pub kernel_name: String,
    /// The session it ran in.
    pub session_id: Option<String>,
    /// What became of it.
    pub status: JupyterStatus,
    /// Its number in its kernel.
    pub execution_count: Option<u64>,
    /// What it put out, in order; what is written to one stream without anything in between is one output.
    pub outputs: Vec<JupyterOutput>,
    /// The code.
    pub code: String,
    /// Its id in the kernel's messages.
    pub msg_id: Option<String>,
}

impl Operation for ExecuteJupyter {
    type Output = JupyterExecution;
    const SPEC: Spec = Spec::post("jupyter_execute", "/v1/jupyter/execute", "jupyter:write")
        .sdk("jupyter", "execute_code")
        .mcp(Mcp::Destructive)
        .streaming()
        .errors(&[
            UNAVAILABLE,
            UNKNOWN_KERNEL,
            OTHER_KERNEL,
            DIRECTORY,
            EXHAUSTED,
            START_FAILED,
            "jupyter.busy",
        ]);
}

/// Describe the Jupyter kernels of this sandbox.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetJupyterInfo {}

/// The Jupyter kernels of this sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JupyterInfoResponse")]
pub struct JupyterInfo {
    /// The kernel used when a call names none.
    pub default_kernel: String,
    /// Every kernel, by the name to ask for it.
    pub available_kernels: Vec<String>,
    /// Sessions that exist.
    pub active_sessions: u64,
    /// Seconds after which an unused session is closed.
    pub session_timeout_seconds: u64,
    /// Sessions that may exist.
    pub max_sessions: u64,
    /// The same in words.
    pub description: String,
    /// How the kernels were found.
    pub kernel_detection: String,
}

impl Operation for GetJupyterInfo {
    type Output = JupyterInfo;
    const SPEC: Spec = Spec::get("jupyter_info", "/v1/jupyter/info", "jupyter:read")
        .sdk("jupyter", "get_info")
        .mcp(Mcp::ReadOnly);
}

/// List Jupyter sessions.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListJupyterSessions {}

/// A Jupyter session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SessionInfo")]
pub struct JupyterSession {
    /// The kernel it runs.
    pub kernel_name: String,
    /// When it was last used, in seconds since 1970.
    pub last_used: f64,
    /// Seconds since it was last used.
    pub age_seconds: u64,
}

/// The Jupyter sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ActiveSessionsResult")]
pub struct JupyterSessions {
    /// By id.
    pub sessions: BTreeMap<String, JupyterSession>,
}

impl Operation for ListJupyterSessions {
    type Output = JupyterSessions;
    const SPEC: Spec = Spec::get("jupyter_list_sessions", "/v1/jupyter/sessions", "jupyter:read")
        .sdk("jupyter", "list_sessions")
        .mcp(Mcp::ReadOnly);
}

/// Create a Jupyter session and start its kernel, or return the one that has this id already.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CreateJupyterSession {
    /// Id of your choice; made up when omitted or empty.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Kernel to use: `python3`, `python3.12`, or another that `jupyter_info` lists; the default one when omitted.
    #[serde(default)]
    pub kernel_name: Option<String>,
    /// Absolute directory it starts in; the workspace when omitted.
    #[serde(default)]
    pub cwd: Option<String>,
}

/// A session that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JupyterCreateSessionResponse")]
pub struct CreatedJupyterSession {
    /// Its id.
    pub session_id: String,
    /// The kernel it runs.
    pub kernel_name: String,
    /// Whether it is new, in words.
    pub message: String,
}

impl Operation for CreateJupyterSession {
    type Output = CreatedJupyterSession;
    const SPEC: Spec =
        Spec::post("jupyter_create_session", "/v1/jupyter/sessions/create", "jupyter:write")
            .sdk("jupyter", "create_session")
            .mcp(Mcp::Mutating)
            .errors(&[
                UNAVAILABLE,
                UNKNOWN_KERNEL,
                OTHER_KERNEL,
                DIRECTORY,
                EXHAUSTED,
                START_FAILED,
            ]);
}

/// Close a Jupyter session: its kernel and everything started in it ends.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeleteJupyterSession {
    /// The session.
    pub session_id: String,
}

impl Operation for DeleteJupyterSession {
    type Output = ();
    const SPEC: Spec = Spec::delete(
        "jupyter_delete_session",
        "/v1/jupyter/sessions/{session_id}",
        "jupyter:write",
    )
    .sdk("jupyter", "delete_session")
    .mcp(Mcp::Destructive)
    .errors(&[NOT_FOUND]);
}

/// Close every Jupyter session.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeleteJupyterSessions {}

impl Operation for DeleteJupyterSessions {
    type Output = ();
    const SPEC: Spec =
        Spec::delete("jupyter_delete_sessions", "/v1/jupyter/sessions", "jupyter:write")
            .sdk("jupyter", "delete_sessions")
            .mcp(Mcp::Destructive);
}

#[expect(clippy::unnecessary_wraps, reason = "the field may be null")]
fn timeout() -> Option<u64> {
    Some(30)
}
