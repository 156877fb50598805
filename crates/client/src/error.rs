//! What can go wrong with a call.

use serde::Deserialize;
use serde_json::Value;

/// A call without a result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server's address cannot be used.
    #[error(
        "{0:?} is no server address: give http://host:port[/prefix], https://… or unix:/path/to/socket"
    )]
    Address(String),
    /// A header cannot be sent.
    #[error(
        "the header {0:?} cannot be sent: a name or value holds characters HTTP does not allow"
    )]
    Header(String),
    /// The input cannot be sent.
    #[error("the input cannot be sent: {0}")]
    Input(String),
    /// The server was not reached, or the connection broke.
    #[error("{action}: {source}")]
    Transport {
        /// What was being done.
        action: &'static str,
        /// Why it failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server answered something else than this operation's answer.
    #[error("the answer (HTTP {status}) cannot be read: {message}")]
    Answer {
        /// HTTP status.
        status: u16,
        /// What is wrong with it.
        message: String,
    },
    /// The server refused or failed.
    #[error("{}", .0.message)]
    Refused(Box<Refusal>),
}

/// What the server said when it did not carry out a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// The stable dotted code, empty when a proxy answered.
    pub error_code: String,
    /// What failed, with what, and what to do.
    pub message: String,
    /// Advice for an agent.
    pub hint: Option<String>,
    /// More for programs.
    pub details: Option<Value>,
    /// The fields that do not fit.
    pub fields: Vec<FieldProblem>,
}

/// One field of the input that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FieldProblem {
    /// Where it was sent and the path to it, dotted: `body.timeout`.
    pub location: String,
    /// What is wrong.
    pub message: String,
    /// The rule it breaks.
    #[serde(rename = "type")]
    pub rule: String,
}

impl ClientError {
    /// The HTTP status, if the server answered.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Answer { status, .. } => Some(*status),
            Self::Refused(refusal) => Some(refusal.status),
            _ => None,
        }
    }

    /// The server's stable code, if it refused.
    pub fn error_code(&self) -> Option<&str> {
        self.refusal().map(|refusal| refusal.error_code.as_str())
    }

    /// What the server said, if it refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    pub(crate) fn transport(
        action: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let source = source.into();
        Self::Transport { action, source }
    }
}
