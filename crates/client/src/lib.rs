//! The Rust SDK: every declared operation is a typed call, over TCP, TLS or a unix socket.
//!
//! There is nothing here to write per operation: the address, the method and the types follow from its declaration. An
//! answer's envelope is taken off; a refusal becomes a [`ClientError`] that carries the server's own code and message.

mod answer;
mod client;
mod connect;
mod converse;
mod dynamic;
mod error;
mod request;
mod stream;
mod transfer;

pub use client::Client;
pub use converse::{Hearing, Speaking, Talk, TextHearing, TextSpeaking};
pub use error::{ClientError, FieldProblem, Refusal};
pub use stream::{Events, StreamEvent};
pub use transfer::{Downloading, Payload};
