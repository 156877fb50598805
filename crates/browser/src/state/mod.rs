//! What a context remembers between pages: its cookies, and the local storage of its origins.

mod cookies;
mod storage;

use serde_json::Value;

pub use cookies::{Cookie, NewCookie};
pub use storage::Extent;

/// Why state could not be read or set.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A cookie that cannot be set.
    #[error("cookie {position} ({name:?}) cannot be set: {reason}")]
    Cookie {
        /// Its place in the list, from 0.
        position: usize,
        /// Its name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// Something that is no address.
    #[error("{address:?} is no address with a scheme and a host")]
    Address {
        /// What was given.
        address: String,
    },
    /// Something that is no state.
    #[error(
        "this is no saved state: {reason}; it must be an object with the lists `cookies` and `origins`"
    )]
    Form {
        /// What is wrong with it.
        reason: String,
    },
    /// Local storage that could not be filled.
    #[error("the local storage of {origin} could not be filled: {reason}")]
    Storage {
        /// Whose.
        origin: String,
        /// Why not.
        reason: String,
    },
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
