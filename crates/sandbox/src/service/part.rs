//! A part of the sandbox that can be looked at and switched like a service.

use std::fmt;

use atoll_api::service::ServiceState;
use atoll_operation::Error;
use futures::future::BoxFuture;
use jiff::Timestamp;

/// A part of the sandbox. Parts start when they are needed; here they are started ahead, or stopped to save memory.
pub trait Part: fmt::Debug + Send + Sync {
    /// The name it is asked for by.
    fn name(&self) -> &'static str;

    /// What people call it.
    fn title(&self) -> &'static str;

    /// Path of its page on this server.
    fn page(&self) -> Page;

    /// How it stands. Cheap: it is asked for often.
    fn state(&self) -> PartState;

    /// Starts it, and waits until it is up.
    fn start(&self) -> BoxFuture<'_, Result<(), Error>>;

    /// Ends it. The next need starts it again.
    fn stop(&self) -> BoxFuture<'_, ()>;
}

/// Path of a page, and what stands in its query.
pub type Page = (&'static str, &'static [(&'static str, &'static str)]);

/// How a part stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartState {
    /// In a word.
    pub state: ServiceState,
    /// Why, where there is more to say.
    pub detail: Option<String>,
    /// Its process, while it runs.
    pub pid: Option<i32>,
    /// Since when, where that is known.
    pub since: Option<Timestamp>,
}

impl PartState {
    /// Stands so without more to say.
    pub(super) fn of(state: ServiceState) -> Self {
        Self { state, detail: None, pid: None, since: None }
    }

    pub(super) fn because(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }
}
