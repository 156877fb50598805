//! Shell: one live bash in a terminal per session. State persists; stdout and stderr are one stream.

use std::collections::BTreeMap;

use atoll_operation::{Conversation, Declaration, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of::<ExecShell>(),
    Declaration::of::<ViewShell>(),
    Declaration::of::<WaitShell>(),
    Declaration::of::<WriteShell>(),
    Declaration::of::<KillShell>(),
    Declaration::of::<CreateShell>(),
    Declaration::of::<UpdateShell>(),
    Declaration::of::<GetTerminalUrl>(),
    Declaration::of::<GetShellStats>(),
    Declaration::of::<ListShells>(),
    Declaration::of::<CloseAllShells>(),
    Declaration::of::<CloseShell>(),
    Declaration::of_conversation::<AttachShell>(),
];

const NOT_FOUND: &str = "shell.session_not_found";

/// What became of a command in a shell session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShellStatus {
    /// Queued or still running.
    Running,
    /// Ended by itself, whatever its exit code.
    Completed,
    /// Printed nothing for `no_change_timeout` seconds; it still runs.
    NoChangeTimeout,
    /// Killed because `hard_timeout` passed.
    HardTimeout,
    /// Killed on request, or with its session.
    Terminated,
}

/// One command as a person would see it in the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsoleRecord {
    /// The prompt it was entered at.
    pub ps1: String,
    /// The command line.
    pub command: String,
    /// What it printed.
    #[serde(default)]
    pub output: String,
}

/// Run a command in a shell session and wait for it.
///
/// Without `id` a session is created and its id returned. Commands sent to a busy session queue and run in order, each
/// with its own output and exit code. With `Accept: text/event-stream` the answer is a stream: `started`, `output`
/// (its `id` is the session's byte offset; resume with `shell_view` and `Last-Event-ID`), then `result`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExecShell {
    /// Session to run in; omitted or empty creates one.
    #[serde(default)]
    pub id: Option<String>,
    /// Absolute directory to change to first. The session stays there, as after `cd`.
    #[serde(default)]
    pub exec_dir: Option<String>,
    /// The command: any bash source, one line or many.
    pub command: String,
    /// Return at once with status `running`; follow with wait and view.
    #[serde(default)]
    pub async_mode: bool,
    /// Seconds to wait before answering `running`; the command goes on.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub timeout: Option<f64>,
    /// Fail when `exec_dir` does not exist, instead of staying in the session's directory.
    #[serde(default)]
    pub strict: Option<bool>,
    /// Seconds without new output after which to answer `no_change_timeout`; the command goes on. Overrides the
    /// session's setting (120).
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub no_change_timeout: Option<u64>,
    /// Seconds after which the command and everything it started is killed.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub hard_timeout: Option<f64>,
    /// Keep symbolic links in the working directory's path instead of resolving them.
    #[serde(default = "resolved")]
    pub preserve_symlinks: Option<bool>,
    /// Cut the middle out of output over 30,000 characters.
    #[serde(default = "yes")]
    pub truncate: bool,
    /// Environment variables for this command only.
    #[serde(default)]
    pub env: Option<BTreeMap<String, String>>,
}

/// What a command in a shell session did.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShellCommandResult {
    /// Session it ran in.
    pub session_id: String,
    /// The command.
    pub command: String,
    /// What became of it.
    pub status: ShellStatus,
    /// What it has printed, as text: no prompt, no echo, no terminal control sequences.
    pub output: Option<String>,
    /// The command as a person would have seen it.
    pub console: Option<Vec<ConsoleRecord>>,
    /// Its exit code once it has ended.
    pub exit_code: Option<i32>,
    /// Byte offset in the session's stream where its output begins.
    pub offset: u64,
    /// Byte offset in the session's stream where its output ends so far.
    pub end_offset: u64,
}

impl Operation for ExecShell {
    type Output = ShellCommandResult;
    const SPEC: Spec = Spec::post("shell_exec", "/v1/shell/exec", "shell:write")
        .sdk("shell", "exec_command")
        .mcp(Mcp::Destructive)
        .errors(&[NOT_FOUND, "shell.directory", "shell.sessions_exhausted", "shell.queue_full"])
        .streaming();
}

/// Read what a shell session shows: the output of its latest command, or everything since an offset.
///
/// With `Accept: text/event-stream` the session's raw stream is followed from `offset` (or `Last-Event-ID`) on.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ViewShell {
    /// Session to read.
    pub id: String,
    /// Byte offset in the session's stream to read from, instead of the latest command's output.
    #[serde(default)]
    pub offset: Option<u64>,
}

/// What a shell session shows.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShellViewResult {
    /// Text of the latest command's output, of the screen while a full-screen program runs, or of the stream since `offset`.
    pub output: String,
    /// The session.
    pub session_id: String,
    /// The session's recent commands as a person would have seen them.
    pub console: Option<Vec<ConsoleRecord>>,
    /// Status of the latest command.
    pub status: ShellStatus,
    /// The latest command.
    pub command: Option<String>,
    /// Its exit code once it has ended.
    pub exit_code: Option<i32>,
    /// Byte offset in the session's stream up to which this was read; pass it as `offset` to go on from here.
    pub offset: u64,
}

impl Operation for ViewShell {
    type Output = ShellViewResult;
    const SPEC: Spec = Spec::post("shell_view", "/v1/shell/view", "shell:read")
        .sdk("shell", "view")
        .mcp(Mcp::ReadOnly)
        .errors(&[NOT_FOUND])
        .streaming();
}

/// Wait until a shell session's commands have ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct WaitShell {
    /// Session to wait for.
    pub id: String,
    /// Seconds to wait at most (30 when neither this nor `max_wait_seconds` is given; the larger counts).
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub seconds: Option<u64>,
    /// Same as `seconds`.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub max_wait_seconds: Option<u64>,
}

/// The status of a session's latest command.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShellWaitResult {
    /// The status.
    pub status: ShellStatus,
}

impl Operation for WaitShell {
    type Output = ShellWaitResult;
    const SPEC: Spec = Spec::post("shell_wait", "/v1/shell/wait", "shell:read")
        .sdk("shell", "wait_for_process")
        .mcp(Mcp::ReadOnly)
        .errors(&[NOT_FOUND]);
}

/// Type into a shell session's terminal, as into a running program that asks for input.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WriteShell {
    /// Session to type into.
    pub id: String,
    /// Text to type; control characters are keys.
    #[schemars(extend("x-allow-nul" = true))]
    pub input: String,
    /// Press Enter after it.
    #[serde(default = "yes")]
    pub press_enter: bool,
}

/// The status of the command typed into.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShellWriteResult {
    /// The status.
    pub status: ShellStatus,
}

impl Operation for WriteShell {
    type Output = ShellWriteResult;
    const SPEC: Spec = Spec::post("shell_write", "/v1/shell/write", "shell:write")
        .sdk("shell", "write_to_process")
        .mcp(Mcp::Mutating)
        .errors(&[NOT_FOUND, "shell.input_full"]);
}

/// Kill the command running in a shell session with everything it started; the session lives on.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct KillShell {
    /// Session whose command to kill.
    pub id: String,
}

/// How the killed command ended.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShellKillResult {
    /// `terminated`, or the earlier outcome when nothing was running.
    pub status: ShellStatus,
    /// Exit code as the shell saw it.
    pub exit_code: Option<i32>,
    /// Copy of `exit_code` for old clients.
    pub returncode: Option<i32>,
}

impl Operation for KillShell {
    type Output = ShellKillResult;
    const SPEC: Spec = Spec::post("shell_kill", "/v1/shell/kill", "shell:write")
        .sdk("shell", "kill_process")
        .mcp(Mcp::Destructive)
        .errors(&[NOT_FOUND]);
}

/// Create a shell session, or return the one that has this id already.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CreateShell {
    /// Id of your choice; omitted or empty makes one up.
    #[serde(default)]
    pub id: Option<String>,
    /// Absolute directory to start in; the workspace when omitted.
    #[serde(default)]
    pub exec_dir: Option<String>,
    /// Seconds without output after which a waiting exec answers `no_change_timeout` (120).
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub no_change_timeout: Option<u64>,
    /// Keep symbolic links in the working directory's path instead of resolving them.
    #[serde(default = "resolved")]
    pub preserve_symlinks: Option<bool>,
}

/// A shell session.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShellCreated {
    /// Its id.
    pub session_id: String,
    /// Its working directory.
    pub working_dir: String,
}

impl Operation for CreateShell {
    type Output = ShellCreated;
    const SPEC: Spec =
        Spec::post("shell_create_session", "/v1/shell/sessions/create", "shell:write")
            .sdk("shell", "create_session")
            .mcp(Mcp::Mutating)
            .errors(&["shell.directory", "shell.sessions_exhausted"]);
}

/// Change a shell session's settings.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct UpdateShell {
    /// Session to change.
    pub id: String,
    /// Seconds without output after which a waiting exec answers `no_change_timeout`.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub no_change_timeout: Option<u64>,
}

impl Operation for UpdateShell {
    type Output = ();
    const SPEC: Spec =
        Spec::post("shell_update_session", "/v1/shell/sessions/update", "shell:write")
            .sdk("shell", "update_session")
            .errors(&[NOT_FOUND]);
}

/// Create a shell session and get the address of its terminal page.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetTerminalUrl {}

impl Operation for GetTerminalUrl {
    type Output = String;
    const SPEC: Spec = Spec::get("shell_terminal_url", "/v1/shell/terminal-url", "shell:write")
        .sdk("shell", "get_terminal_url")
        .errors(&["shell.sessions_exhausted"]);
}

/// Count shell sessions.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetShellStats {}

/// Counts of shell sessions.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShellStats {
    /// Sessions that exist.
    pub total_sessions: u64,
    /// Sessions used in the last five minutes or running a command.
    pub active_sessions: u64,
    /// The others.
    pub idle_sessions: u64,
    /// Sessions that may exist.
    pub max_sessions: u64,
    /// Idle seconds after which a session without a running command is closed.
    pub session_timeout: u64,
    /// `total_sessions / max_sessions`.
    pub usage_ratio: f64,
}

impl Operation for GetShellStats {
    type Output = ShellStats;
    const SPEC: Spec = Spec::get("shell_session_stats", "/v1/shell/sessions/stats", "shell:read")
        .sdk("shell", "get_session_stats")
        .quiet();
}

/// List shell sessions.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListShells {}

/// The shell sessions by id.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShellSessions {
    /// The sessions by id.
    pub sessions: BTreeMap<String, ShellSessionInfo>,
}

/// A shell session at a glance.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShellSessionInfo {
    /// Where it is.
    pub working_dir: String,
    /// When it was created.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// When it was last used.
    #[schemars(extend("format" = "date-time"))]
    pub last_used_at: String,
    /// Seconds since it was created.
    pub age_seconds: u64,
    /// Status of its latest command, or `ready`.
    pub status: String,
    /// The command it is running.
    pub current_command: Option<String>,
}

impl Operation for ListShells {
    type Output = ShellSessions;
    const SPEC: Spec = Spec::get("shell_list_sessions", "/v1/shell/sessions", "shell:read")
        .sdk("shell", "list_sessions")
        .mcp(Mcp::ReadOnly)
        .quiet();
}

/// Close every shell session, with everything they started.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CloseAllShells {}

impl Operation for CloseAllShells {
    type Output = ();
    const SPEC: Spec =
        Spec::delete("shell_close_all_sessions", "/v1/shell/sessions", "shell:write")
            .sdk("shell", "cleanup_all_sessions");
}

/// Close a shell session, with everything it started.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CloseShell {
    /// Session to close.
    pub session_id: String,
}

impl Operation for CloseShell {
    type Output = ();
    const SPEC: Spec =
        Spec::delete("shell_close_session", "/v1/shell/sessions/{session_id}", "shell:write")
            .sdk("shell", "cleanup_session")
            .mcp(Mcp::Destructive)
            .errors(&[NOT_FOUND]);
}

/// Attach a terminal to a shell session: JSON messages both ways.
///
/// The scrollback is replayed first: from `offset` when given, so that a client that lost its connection misses and
/// repeats nothing, else the latest part of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct AttachShell {
    /// Session to attach to; omitted or empty creates one.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Byte offset in the session's stream to resume from: the `offset` of the last `output` seen.
    #[serde(default)]
    pub offset: Option<u64>,
}

/// A message from a terminal.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TerminalInput {
    /// Keys.
    Input {
        /// The keys as text.
        data: String,
    },
    /// The terminal's size changed.
    Resize {
        /// The new size.
        data: TerminalSize,
    },
    /// Asks for a `pong`.
    Ping {
        /// Anything; comes back.
        #[serde(default)]
        timestamp: Option<serde_json::Value>,
    },
    /// Answers a `ping`; extra fields are ignored.
    Pong {},
}

/// A terminal's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TerminalSize {
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
}

/// A message to a terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TerminalOutput {
    /// First message: the session attached to.
    SessionId {
        /// Its id.
        data: String,
    },
    /// The terminal takes input now.
    Ready {
        /// A greeting.
        data: String,
    },
    /// The terminal printed.
    Output {
        /// What it printed.
        data: String,
        /// Byte offset in the session's stream after this.
        offset: u64,
    },
    /// Are you there?
    Ping {
        /// Milliseconds since 1970.
        timestamp: u64,
        /// The same, where older clients look.
        data: u64,
    },
    /// Answers a `ping`.
    Pong {
        /// What the `ping` carried.
        timestamp: Option<serde_json::Value>,
    },
    /// The last message could not be taken, or the session has ended.
    Error {
        /// Why.
        data: String,
    },
}

impl Conversation for AttachShell {
    type Up = TerminalInput;
    type Down = TerminalOutput;
    const SPEC: Spec = Spec::conversation("shell_attach", "/v1/shell/ws", "shell:write")
        .errors(&[NOT_FOUND, "shell.sessions_exhausted"]);
}

fn yes() -> bool {
    true
}

#[expect(clippy::unnecessary_wraps, reason = "the field may be null on the wire")]
fn resolved() -> Option<bool> {
    Some(false)
}
