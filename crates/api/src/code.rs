//! Code: one way to run code in any language this sandbox has a runtime for.

use atoll_operation::{Declaration, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] =
    &[Declaration::of::<ExecuteCode>(), Declaration::of::<GetCodeInfo>()];

/// Run code in a language of your choice.
///
/// Python runs in a Jupyter kernel and JavaScript in Node.js; `code_info` lists these and what else is there. Without a
/// session nothing is left of it afterwards. With `stateful` or a `session_id` it runs in a session that keeps variables,
/// functions and imports.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExecuteCode {
    /// The language: `python`, `javascript`, or an extension that `code_info` lists.
    pub language: String,
    /// The code.
    #[schemars(extend("x-allow-nul" = true))]
    pub code: String,
    /// Seconds it may take; 30 when omitted.
    #[serde(default)]
    #[schemars(range(min = 1, max = 300))]
    pub timeout: Option<u64>,
    /// Absolute directory to run in.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Run it in a session, made up when none is named.
    #[serde(default)]
    pub stateful: bool,
    /// Session to run in; created when unknown. Naming one is enough to run in a session.
    #[serde(default)]
    pub session_id: Option<String>,
}

/// What an execution did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CodeExecuteResponse")]
pub struct CodeExecution {
    /// The language. An extension, which only who asks for one gets, answers with its own name.
    #[schemars(extend("enum" = ["python", "javascript"]))]
    pub language: String,
    /// What became of it: `ok`, `error` or `timeout`.
    pub status: String,
    /// What it said, piece by piece, in the form of its runtime: `output_type` is `stream`, `execute_result`,
    /// `display_data` or `error`.
    pub outputs: Vec<Map<String, Value>>,
    /// The code.
    pub code: String,
    /// Everything it wrote to standard output.
    pub stdout: Option<String>,
    /// Everything it wrote to standard error.
    pub stderr: Option<String>,
    /// Exit code of its process; of code in a session 0, or not 0 when it failed.
    pub exit_code: Option<i32>,
    /// The stack of what was thrown and not caught, line by line.
    pub traceback: Option<Vec<String>>,
    /// The session, when it ran in one.
    pub session_id: Option<String>,
}

impl Operation for ExecuteCode {
    type Output = CodeExecution;
    const SPEC: Spec = Spec::post("code_execute", "/v1/code/execute", "code:write")
        .sdk("code", "execute_code")
        .mcp(Mcp::Destructive)
        .streaming();
}

/// List the languages code can be run in, with their runtimes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetCodeInfo {}

/// A language and its runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CodeLanguageInfo")]
pub struct CodeLanguage {
    /// The name to ask for it.
    #[schemars(extend("enum" = ["python", "javascript"]))]
    pub language: String,
    /// What runs it.
    pub description: String,
    /// The version of that.
    pub runtime_version: Option<String>,
    /// Seconds an execution may take when it does not say.
    pub default_timeout: u64,
    /// Seconds it may ask for.
    pub max_timeout: u64,
    /// More about the runtime.
    pub details: Map<String, Value>,
}

/// The languages code can be run in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CodeInfoResponse")]
pub struct CodeInfo {
    /// The languages every sandbox of this kind has.
    pub languages: Vec<CodeLanguage>,
    /// Those this one has beside them, described by the same fields: TypeScript, shells, whatever has a Jupyter kernel.
    pub extensions: Vec<Map<String, Value>>,
}

impl Operation for GetCodeInfo {
    type Output = CodeInfo;
    const SPEC: Spec = Spec::get("code_info", "/v1/code/info", "code:read")
        .sdk("code", "get_info")
        .mcp(Mcp::ReadOnly);
}
