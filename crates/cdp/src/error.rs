//! Why a command has no answer.

use std::time::Duration;

use thiserror::Error;

/// Why a command has no answer, or a subscription no further event.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CdpError {
    /// No connection could be made.
    #[error("no connection to the browser at {url}: {reason}")]
    Connect {
        /// Where to.
        url: String,
        /// Why not.
        reason: String,
    },
    /// The connection has ended.
    #[error("the connection to the browser has ended: {why}")]
    Closed {
        /// Why.
        why: String,
    },
    /// What the session belonged to is gone: its page was closed or has crashed.
    #[error("the browser's page is gone: {why}")]
    SessionGone {
        /// Why.
        why: String,
    },
    /// The browser did not answer in time.
    #[error("the browser did not answer {method} within {} ms", .after.as_millis())]
    Timeout {
        /// The command.
        method: String,
        /// How long it had.
        after: Duration,
    },
    /// The browser said no.
    #[error("the browser refused {method}: {message}")]
    Refused {
        /// The command.
        method: String,
        /// JSON-RPC's number for it.
        code: i64,
        /// In its words.
        message: String,
    },
    /// The answer is nothing that can be read.
    #[error("the browser's answer to {method} cannot be read: {reason}")]
    Unreadable {
        /// The command.
        method: String,
        /// Why not.
        reason: String,
    },
    /// More commands wait for an answer than may.
    #[error("{waiting} commands wait for the browser's answer already")]
    Busy {
        /// How many.
        waiting: usize,
    },
    /// A subscriber was too slow, and events were left out.
    #[error("more than {events} events came faster than they were read")]
    Overflow {
        /// How many may wait.
        events: usize,
    },
}
