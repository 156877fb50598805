//! Terminals as deep-agent's page speaks to them: a bash of its own for each socket, which ends with it.

use atoll_operation::{Conversation, Declaration, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shell::TerminalSize;

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of_conversation::<OpenTerminal>(),
    Declaration::of_conversation::<OpenPageTerminal>(),
    Declaration::of_conversation::<OpenSocket>(),
];

/// Open a terminal in the workspace that lasts as long as the socket. `shell_attach` has sessions, offsets and replay.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct OpenTerminal {}

/// The same beside the terminal page.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct OpenPageTerminal {}

/// Open a socket that answers `ping` with `pong` and everything else with an error.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct OpenSocket {}

/// A message to such a terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PlainTerminalInput {
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
    Ping {},
}

/// A message from such a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PlainTerminalOutput {
    /// The terminal printed.
    Output {
        /// What it printed.
        data: String,
    },
    /// Answers a `ping`.
    Pong {},
    /// The last message could not be taken, or the terminal has ended.
    Error {
        /// Why.
        data: String,
    },
}

/// A message to the socket that only answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SocketMessage {
    /// What it is; `ping` is known.
    #[serde(default, rename = "type")]
    pub kind: String,
}

/// What the socket answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SocketAnswer {
    /// Answers a `ping`.
    Pong {},
    /// The message was not understood.
    Error {
        /// Why.
        data: String,
    },
}

impl Conversation for OpenTerminal {
    type Up = PlainTerminalInput;
    type Down = PlainTerminalOutput;
    const SPEC: Spec = Spec::conversation("terminal_open", "/v1/terminal/ws", "shell:write")
        .errors(&["shell.sessions_exhausted"]);
}

impl Conversation for OpenPageTerminal {
    type Up = PlainTerminalInput;
    type Down = PlainTerminalOutput;
    const SPEC: Spec = Spec::conversation("terminal_open_page", "/terminal/ws", "shell:write")
        .errors(&["shell.sessions_exhausted"]);
}

impl Conversation for OpenSocket {
    type Up = SocketMessage;
    type Down = SocketAnswer;
    const SPEC: Spec = Spec::conversation("terminal_echo", "/v1/ws", "system:read").quiet();
}
