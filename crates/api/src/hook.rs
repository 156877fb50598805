//! Hooks: commands that run when the sandbox starts and before it ends.

use atoll_operation::{Declaration, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of::<RegisterHook>(),
    Declaration::of::<ListHooks>(),
    Declaration::of::<RemoveHook>(),
];

/// The moments for which hooks can be registered here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RegisteredEvent {
    /// Before the sandbox ends, while everything still runs.
    #[default]
    Shutdown,
}

/// The moments at which hooks run.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum HookEvent {
    /// Before the sandbox ends, while everything still runs.
    #[default]
    Shutdown,
    /// First of all: `RUN_HOOK_INIT`.
    Init,
    /// When home and workspace are there, before anything is served: `RUN_HOOK_PRE_SERVICES`.
    PreServices,
    /// When the server has answered: `RUN_HOOK_POST_READY`.
    PostReady,
}

/// Register a command that runs before this sandbox ends.
///
/// Hooks of a lower priority run earlier, those of the same priority at once. All of them together have a bound, and
/// one that does not end in its time is killed with everything it started. Registering a name again replaces its hook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RegisterHook {
    /// A unique name.
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[a-zA-Z0-9_-]+$"))]
    pub name: String,
    /// When it runs.
    #[serde(default)]
    pub event: RegisteredEvent,
    /// The command, run by bash in the workspace.
    #[schemars(length(min = 1, max = 4096))]
    pub command: String,
    /// Seconds it may take.
    #[serde(default = "timeout")]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 3600))]
    pub timeout: f64,
    /// Its place in the order: lower is earlier.
    #[serde(default = "priority")]
    pub priority: i32,
}

fn timeout() -> f64 {
    10.0
}

fn priority() -> i32 {
    100
}

/// Who registered a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookSource {
    /// The environment of the server; it cannot be removed.
    Env,
    /// A caller of this API.
    Api,
}

/// A hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxHook {
    /// Its name.
    pub name: String,
    /// When it runs.
    pub event: HookEvent,
    /// The command.
    pub command: String,
    /// Seconds it may take.
    pub timeout: f64,
    /// Its place in the order: lower is earlier.
    pub priority: i32,
    /// Who registered it.
    pub source: HookSource,
    /// How it went, once it has run.
    pub run: Option<HookRun>,
}

/// How a hook went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookRun {
    /// The code it ended with, 128 and the signal's number if a signal ended it; none when it could not be started.
    pub exit_code: Option<i32>,
    /// Whether it was killed because its time was up.
    pub timed_out: bool,
    /// Seconds it took.
    pub seconds: f64,
    /// The end of what it printed, errors included.
    pub output: String,
}

impl Operation for RegisterHook {
    type Output = SandboxHook;
    const SPEC: Spec = Spec::post("sandbox_register_hook", "/v1/sandbox/hooks", "hooks:write")
        .sdk("sandbox", "register_hook")
        .mcp(Mcp::Mutating)
        .errors(&["hooks.from_environment", "hooks.too_many", "hooks.stopping"]);
}

/// List the hooks of one moment, in the order they run, with how they went.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListHooks {
    /// The moment.
    #[serde(default)]
    pub event: HookEvent,
}

impl Operation for ListHooks {
    type Output = Vec<SandboxHook>;
    const SPEC: Spec = Spec::get("sandbox_list_hooks", "/v1/sandbox/hooks", "hooks:read")
        .sdk("sandbox", "list_hooks")
        .mcp(Mcp::ReadOnly);
}

/// Remove a hook that a caller registered.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RemoveHook {
    /// Its name.
    pub name: String,
}

impl Operation for RemoveHook {
    type Output = SandboxHook;
    const SPEC: Spec =
        Spec::delete("sandbox_remove_hook", "/v1/sandbox/hooks/{name}", "hooks:write")
            .sdk("sandbox", "remove_hook")
            .mcp(Mcp::Destructive)
            .errors(&["hooks.not_found", "hooks.from_environment", "hooks.stopping"]);
}
