//! Why something could not be fetched.

use thiserror::Error;

use crate::dial::DialError;

/// Why something could not be fetched.
#[derive(Debug, Error)]
pub enum FetchError {
    /// It is no address of the web.
    #[error("{url:?} is no address to fetch: {reason}")]
    Address {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no connection.
    #[error(transparent)]
    Connection(#[from] DialError),
    /// The other side could not prove who it is, or speaks no TLS.
    #[error("no secure connection to {host}: {reason}")]
    Tls {
        /// The other side.
        host: String,
        /// What failed.
        reason: String,
    },
    /// What came back is no answer.
    #[error("{host} did not answer properly: {reason}")]
    Answer {
        /// The other side.
        host: String,
        /// What is wrong.
        reason: String,
    },
    /// It sends to another place again and again.
    #[error("{url} was redirected more than {most} times")]
    Redirects {
        /// What was asked for.
        url: String,
        /// How often is allowed.
        most: u32,
    },
    /// The body is over its bound.
    #[error("{url} is larger than {limit} bytes")]
    TooLarge {
        /// What was asked for.
        url: String,
        /// The bound.
        limit: u64,
    },
    /// It took too long.
    #[error("{url} was not fetched within {seconds} s")]
    Timeout {
        /// What was asked for.
        url: String,
        /// The bound.
        seconds: u64,
    },
}

/// An error with those that caused it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
