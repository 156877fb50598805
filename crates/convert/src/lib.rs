//! Documents made Markdown: web pages, PDF, Office, tables, feeds, books, notebooks, archives.
//!
//! [`convert()`] is a function of bytes that reads no file and asks no network. Its parsers are fed whatever an agent
//! comes across, so it belongs into a process with limits: [`worker`] is that process's side, and the words both sides
//! speak. Whoever starts it decides how much it may use and what becomes of one that dies.

mod convert;
mod document;
mod error;
mod format;
mod kind;
mod page;
mod text;

pub mod worker;

pub use convert::convert;
pub use document::{Bounds, Markdown, Selection, Source};
pub use error::ConvertError;
pub use kind::Kind;
