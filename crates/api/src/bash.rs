//! Bash: each command is a process of its own with separate stdout and stderr. Only the working directory persists.

use std::collections::BTreeMap;

use atoll_operation::{Conversation, Declaration, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of::<ExecBash>(),
    Declaration::of::<ReadBashOutput>(),
    Declaration::of::<WriteBash>(),
    Declaration::of::<KillBash>(),
    Declaration::of::<ListBashSessions>(),
    Declaration::of::<CreateBashSession>(),
    Declaration::of::<CloseBashSession>(),
    Declaration::of_conversation::<AttachBash>(),
];

const NOT_FOUND: &str = "bash.session_not_found";

/// What became of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BashStatus {
    /// Not started yet.
    Pending,
    /// Running.
    Running,
    /// Ended by itself, whatever its exit code.
    Completed,
    /// Killed because `hard_timeout` passed.
    TimedOut,
    /// Killed on request, or with its session.
    Killed,
}

/// Run a command with bash in a fresh process and wait for it.
///
/// It returns when the command itself ends, although children it left in the background may hold its output; what they
/// print later is read with `bash_output`. Background children die with the session. Asked for server-sent events, it
/// answers with `started`, an `output` for each piece of either stream as it is printed, and the `result`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExecBash {
    /// Session to run in; created when unknown, made up when omitted or empty.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The command: any bash source.
    pub command: String,
    /// Absolute directory to run in; becomes the session's directory for later commands.
    #[serde(default)]
    pub exec_dir: Option<String>,
    /// Environment variables for this command only.
    #[serde(default)]
    pub env: Option<BTreeMap<String, String>>,
    /// Return at once with status `running`; follow with `bash_output`.
    #[serde(default)]
    pub async_mode: bool,
    /// Seconds to wait before answering `running`; the command goes on.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub timeout: Option<f64>,
    /// Seconds after which the command and everything it started is killed.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub hard_timeout: Option<f64>,
    /// Characters of each stream to return at most, cut in the middle; 0 means all.
    #[serde(default = "max_output_length")]
    #[schemars(range(min = 0))]
    pub max_output_length: u64,
    /// File that gets everything the command prints, as it prints it, instead of `stdout` and `stderr`; added to when it
    /// exists. Its directories are made. A relative path begins in the directory the command runs in.
    #[serde(default)]
    pub output_file: Option<String>,
}

/// What a command did.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BashCommandResult {
    /// Session it ran in.
    pub session_id: String,
    /// Its id, for `bash_output` and `bash_write`.
    pub command_id: String,
    /// The command.
    pub command: String,
    /// What became of it.
    pub status: BashStatus,
    /// What it has written to standard output.
    pub stdout: Option<String>,
    /// What it has written to standard error.
    pub stderr: Option<String>,
    /// Its exit code once it has ended; the negative signal number when a signal ended it.
    pub exit_code: Option<i32>,
    /// Bytes of standard output so far; read on from here.
    pub offset: u64,
    /// Bytes of standard error so far; read on from here.
    pub stderr_offset: u64,
    /// File holding the whole standard output, when it was cut.
    pub stdout_full_output_file_path: Option<String>,
    /// File holding the whole standard error, when it was cut.
    pub stderr_full_output_file_path: Option<String>,
    /// Process id of the command's bash.
    pub pid: Option<i32>,
    /// File that gets what it prints, when one was asked for.
    pub output_file: Option<String>,
}

impl Operation for ExecBash {
    type Output = BashCommandResult;
    const SPEC: Spec = Spec::post("bash_exec", "/v1/bash/exec", "bash:write")
        .sdk("bash", "exec")
        .mcp(Mcp::Destructive)
        .errors(&[
            "bash.directory",
            "bash.output_file",
            "bash.sessions_exhausted",
            "bash.commands_exhausted",
        ])
        .streaming();
}

/// Read a command's output from byte offsets on, now or when there is more.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReadBashOutput {
    /// Session of the command.
    pub session_id: String,
    /// The command; the session's latest when omitted.
    #[serde(default)]
    pub command_id: Option<String>,
    /// Byte of standard output to read from.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub offset: u64,
    /// Byte of standard error to read from.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub stderr_offset: u64,
    /// Wait until there is output past the offsets or the command has ended.
    #[serde(default)]
    pub wait: bool,
    /// Seconds to wait at most.
    #[serde(default = "wait_timeout")]
    #[schemars(range(min = 0))]
    pub wait_timeout: f64,
}

/// A part of a command's output.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BashOutput {
    /// Session of the command.
    pub session_id: String,
    /// Standard output from `offset` on.
    pub stdout: String,
    /// Standard error from `stderr_offset` on.
    pub stderr: String,
    /// Byte of standard output to read on from.
    pub offset: u64,
    /// Byte of standard error to read on from.
    pub stderr_offset: u64,
    /// The command, when the session has run any.
    pub command: Option<BashCommandInfo>,
}

/// A command at a glance.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BashCommandInfo {
    /// Its id.
    pub command_id: String,
    /// The command.
    pub command: String,
    /// What became of it.
    pub status: BashStatus,
    /// Its exit code once it has ended.
    pub exit_code: Option<i32>,
}

impl Operation for ReadBashOutput {
    type Output = BashOutput;
    const SPEC: Spec = Spec::post("bash_output", "/v1/bash/output", "bash:read")
        .sdk("bash", "output")
        .mcp(Mcp::ReadOnly)
        .errors(&[NOT_FOUND, "bash.command_not_found"]);
}

/// Write to a running command's standard input.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct WriteBash {
    /// Session of the command.
    pub session_id: String,
    /// The command; the session's latest when omitted.
    #[serde(default)]
    pub command_id: Option<String>,
    /// Text to write, exactly.
    #[schemars(extend("x-allow-nul" = true))]
    pub input: String,
    /// Close standard input after it, so that the command sees its end.
    #[serde(default)]
    pub close_stdin: bool,
}

impl Operation for WriteBash {
    type Output = ();
    const SPEC: Spec = Spec::post("bash_write", "/v1/bash/write", "bash:write")
        .sdk("bash", "write")
        .mcp(Mcp::Mutating)
        .errors(&[
            NOT_FOUND,
            "bash.command_not_found",
            "bash.not_running",
            "bash.stdin_closed",
            "bash.input_full",
        ]);
}

/// A signal to send to a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BashSignal {
    /// Ask everything the command started to end; what is left after a grace period is killed.
    #[default]
    #[serde(rename = "SIGTERM")]
    Term,
    /// Kill everything the command started.
    #[serde(rename = "SIGKILL")]
    Kill,
    /// Interrupt the command's process group, as Ctrl-C does.
    #[serde(rename = "SIGINT")]
    Int,
}

/// Signal the running command of a session.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct KillBash {
    /// Session of the command.
    pub session_id: String,
    /// The signal.
    #[serde(default)]
    pub signal: BashSignal,
}

impl Operation for KillBash {
    type Output = ();
    const SPEC: Spec = Spec::post("bash_kill", "/v1/bash/kill", "bash:write")
        .sdk("bash", "kill")
        .mcp(Mcp::Destructive)
        .errors(&[NOT_FOUND]);
}

/// Whether a session takes commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BashSessionStatus {
    /// It does.
    Ready,
    /// It does not.
    Closed,
}

/// A bash session.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BashSession {
    /// Its id.
    pub session_id: String,
    /// Whether it takes commands.
    pub status: BashSessionStatus,
    /// Where its commands run by default.
    pub working_dir: String,
    /// When it was created.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// When it was last used.
    #[schemars(extend("format" = "date-time"))]
    pub last_used_at: String,
    /// The command it is running.
    pub current_command: Option<String>,
    /// Commands run so far.
    pub command_count: u64,
}

/// List bash sessions.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListBashSessions {}

impl Operation for ListBashSessions {
    type Output = Vec<BashSession>;
    const SPEC: Spec = Spec::get("bash_list_sessions", "/v1/bash/sessions", "bash:read")
        .sdk("bash", "sessions")
        .mcp(Mcp::ReadOnly);
}

/// Create a bash session, or return the one that has this id already.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CreateBashSession {
    /// Id of your choice; made up when omitted or empty.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Absolute directory its commands run in; the workspace when omitted.
    #[serde(default)]
    pub exec_dir: Option<String>,
    /// Absolute path of a script sourced before each command of the session.
    #[serde(default)]
    pub snapshot_path: Option<String>,
}

impl Operation for CreateBashSession {
    type Output = BashSession;
    const SPEC: Spec = Spec::post("bash_create_session", "/v1/bash/sessions/create", "bash:write")
        .sdk("bash", "create_session")
        .mcp(Mcp::Mutating)
        .errors(&["bash.directory", "bash.snapshot", "bash.sessions_exhausted"]);
}

/// Close a bash session: its commands are killed and their output is dropped.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CloseBashSession {
    /// Session to close.
    pub session_id: String,
}

impl Operation for CloseBashSession {
    type Output = ();
    const SPEC: Spec =
        Spec::post("bash_close_session", "/v1/bash/sessions/{session_id}/close", "bash:write")
            .sdk("bash", "close_session")
            .mcp(Mcp::Destructive)
            .errors(&[NOT_FOUND]);
}

/// Run commands in a bash session and follow them: JSON messages both ways.
///
/// A session named in the address outlives the socket and can be returned to, its output resumed by `resume`; one made
/// up for the socket ends with it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct AttachBash {
    /// Session to use; omitted or empty makes one up for this socket.
    #[serde(default)]
    pub session_id: Option<String>,
    /// How `data` of `input`, `output` and `stderr` messages is written.
    #[serde(default)]
    pub encoding: BashEncoding,
}

/// How what a command reads and writes is put into messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BashEncoding {
    /// As text. Bytes that are not UTF-8 show as U+FFFD; input is refused when too much of it waits.
    #[default]
    Text,
    /// In base64, every byte as it is. Input waits for a command that does not read, and `input_taken` says how far it
    /// has come: send at most 1 MiB ahead of it.
    Base64,
}

/// A message from the client of a bash socket.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BashInput {
    /// Run a command and follow it.
    Exec {
        /// The command.
        data: String,
        /// Absolute directory to run in; becomes the session's directory for later commands.
        #[serde(default)]
        exec_dir: Option<String>,
        /// Environment variables for this command only.
        #[serde(default)]
        env: Option<BTreeMap<String, String>>,
        /// Seconds after which the command and everything it started is killed.
        #[serde(default)]
        hard_timeout: Option<f64>,
    },
    /// Write to the latest command's standard input.
    Input {
        /// Text to write.
        data: String,
    },
    /// Close the latest command's standard input.
    CloseStdin {},
    /// Signal the latest command.
    Kill {
        /// The signal.
        #[serde(default)]
        signal: BashSignal,
    },
    /// Follow a command of the session from byte offsets on, after a disconnect.
    Resume {
        /// The command; the latest when omitted.
        #[serde(default)]
        command_id: Option<String>,
        /// Byte of standard output to go on from.
        #[serde(default)]
        offset: u64,
        /// Byte of standard error to go on from.
        #[serde(default)]
        stderr_offset: u64,
    },
    /// Asks for a `pong`.
    Ping {
        /// Anything; comes back.
        #[serde(default)]
        timestamp: Option<serde_json::Value>,
    },
    /// Answers a `ping`.
    Pong {},
}

/// A message to the client of a bash socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BashEvent {
    /// First message: the session.
    SessionId {
        /// Its id.
        data: String,
    },
    /// A command has started.
    CommandStarted {
        /// Its id.
        command_id: String,
    },
    /// Standard output.
    Output {
        /// The text.
        data: String,
        /// The command.
        command_id: String,
        /// Bytes of standard output after this.
        offset: u64,
    },
    /// Standard error.
    Stderr {
        /// The text.
        data: String,
        /// The command.
        command_id: String,
        /// Bytes of standard error after this.
        stderr_offset: u64,
    },
    /// How much of the input has been taken; only where it is written in base64.
    InputTaken {
        /// Bytes since the socket was opened.
        bytes: u64,
    },
    /// A command has ended.
    CommandDone {
        /// Its id.
        command_id: String,
        /// How.
        status: BashStatus,
        /// Its exit code.
        exit_code: Option<i32>,
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
    /// The last message could not be carried out.
    Error {
        /// Why.
        data: String,
    },
}

impl Conversation for AttachBash {
    type Up = BashInput;
    type Down = BashEvent;
    const SPEC: Spec = Spec::conversation("bash_attach", "/v1/bash/ws", "bash:write")
        .errors(&["bash.sessions_exhausted"]);
}

fn max_output_length() -> u64 {
    50_000
}

fn wait_timeout() -> f64 {
    30.0
}
