//! The web without a browser: fetching pages as Markdown, and searching with a provider.

mod cache;
mod dial;
mod fetch;
mod provider;
mod refusal;
mod search;
mod service;

pub use provider::{SearchProvider, SearchSettings};
pub use service::Webs;

pub(crate) use dial::fetcher;
pub(crate) use refusal::{refused, unfriendly};
