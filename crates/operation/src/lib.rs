//! The contract's grammar: what an operation is, how it fails, how it is bound.
//!
//! An operation is declared once (`atoll-api`), implemented once (`atoll-sandbox`) and bound once in a
//! [`Registry`]. Every face — REST, OpenAPI, the Rust client, later MCP and the CLI — reads the registry.
//! This crate does no IO and knows neither a runtime nor a transport.

mod context;
mod error;
mod handle;
mod input;
mod observe;
mod openapi;
mod registry;
mod spec;
mod transfer;
mod window;

pub use context::Context;
pub use error::{Error, FieldError, Kind};
pub use handle::{Conversation, Converse, Event, Handle, Operation, Stream, Streaming};
pub use input::InputShape;
pub use observe::{Ending, Observer};
pub use openapi::{Accent, Document, Info};
pub use registry::{Bound, Registry};
pub use spec::{Declaration, Mcp, Method, SdkName, Shape, Spec};
pub use transfer::{
    ByteStream, Content, Direct, Download, Fetch, FileSource, Incoming, Late, Receive, Source,
    Upload, Version,
};
pub use window::{Open, Upstream, Window};
