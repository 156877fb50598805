//! Something in the browser that has a session of its own.

use std::sync::{Arc, Weak};

use atoll_cdp::Session;
use tokio_util::task::TaskTracker;

use crate::tab::Tab;

/// What a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A page.
    Page,
    /// A frame of another site, in a process of its own.
    Frame,
    /// A worker of any kind.
    Worker,
}

/// Something in the browser that has a session of its own: a page, a frame of another site, a worker.
#[derive(Debug, Clone)]
pub struct Target {
    /// What it is.
    pub kind: Kind,
    /// The browser's name for it.
    pub id: Arc<str>,
    /// The way to it.
    pub session: Session,
    /// The tab it belongs to; a shared worker belongs to none.
    pub tab: Option<Weak<Tab>>,
    /// For work that answers an event.
    pub tasks: TaskTracker,
}

impl Target {
    /// The tab it belongs to, if there is one and it is still there.
    pub fn tab(&self) -> Option<Arc<Tab>> {
        self.tab.as_ref().and_then(Weak::upgrade)
    }
}
