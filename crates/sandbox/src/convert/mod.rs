//! Documents made Markdown, wherever they are: on the web, in a file, in the request itself.
//!
//! Parsers of documents are fed whatever an agent comes across, so none runs in the server: a [`Converter`] keeps a few
//! worker processes with bounded memory, gives each one document at a time, and replaces one that dies or takes too long.

mod converter;
mod locate;
mod plugin;
mod refusal;
mod service;
mod worker;

pub use converter::Converter;
pub use service::Conversions;

pub(crate) use converter::{Content, Document};
