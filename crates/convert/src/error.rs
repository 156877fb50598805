//! Why a document could not be converted.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a document could not be converted.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum ConvertError {
    /// No converter for what it is.
    #[error("there is no converter for {what}")]
    Unsupported {
        /// What it is.
        what: String,
    },
    /// It is damaged, or not what it looks like.
    #[error("the {what} cannot be read: {reason}")]
    Broken {
        /// What it looks like.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It needs a password.
    #[error("the {what} is protected by a password")]
    Protected {
        /// What it is.
        what: String,
    },
    /// It holds no text, only pictures of it.
    #[error("the {what} holds no text, only pictures: reading them needs text recognition")]
    NoText {
        /// What it is.
        what: String,
    },
    /// It is over a bound.
    #[error("{what} is too large: more than {limit} {unit}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// The bound.
        limit: u64,
        /// What is counted.
        unit: String,
    },
    /// The part asked for does not exist.
    #[error("{0}")]
    NoSuchPart(String),
}

impl ConvertError {
    #[expect(clippy::needless_pass_by_value, reason = "errors are told as they come")]
    pub(crate) fn broken(what: &str, reason: impl ToString) -> Self {
        let reason: String = reason.to_string().chars().take(500).collect();
        Self::Broken { what: what.to_owned(), reason }
    }

    pub(crate) fn too_large(what: &str, limit: u64, unit: &str) -> Self {
        Self::TooLarge { what: what.to_owned(), limit, unit: unit.to_owned() }
    }
}
