//! How far a document has come.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::error::Error;
use crate::tab::Tab;

/// How long a page may take to say how far it is; one that is busy loading takes longer.
const ANSWER: Duration = Duration::from_secs(1);

/// How long no request may be under way for a page to count as quiet.
const QUIET: Duration = Duration::from_millis(500);

/// When a page counts as loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Its first bytes are there.
    Commit,
    /// Its document is complete.
    DomContentLoaded,
    /// Its pictures, styles and frames are there too.
    Load,
    /// Its document is complete, and no request has been under way for half a second.
    NetworkIdle,
}

impl Until {
    /// The browser's name for it; that a document is there at all is told otherwise.
    fn milestone(self) -> Option<&'static str> {
        match self {
            Self::Commit => None,
            Self::DomContentLoaded | Self::NetworkIdle => Some("DOMContentLoaded"),
            Self::Load => Some("load"),
        }
    }

    fn described(self) -> &'static str {
        match self {
            Self::Commit => "the first bytes",
            Self::DomContentLoaded => "the end of the document",
            Self::Load => "the load event",
            Self::NetworkIdle => "a quiet network",
        }
    }
}

impl Tab {
    /// Waits until the page has come this far.
    pub async fn wait_load(self: &Arc<Self>, until: Until, within: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + within;
        // A page that was there before we were has told already what it had to tell.
        match until {
            Until::NetworkIdle if self.is_ready(until).await => self.quiet(deadline, within).await,
            _ if self.is_ready(until).await => Ok(()),
            _ => self.loaded(None, until, deadline, within).await,
        }
    }

    /// Whether the page says itself that it has come this far.
    async fn is_ready(&self, until: Until) -> bool {
        let params = json!({ "expression": "document.readyState", "returnByValue": true });
        let asked = self.session().command_within("Runtime.evaluate", params, ANSWER).await;
        let state = asked.ok().and_then(|answer| {
            answer["result"]["value"].as_str().map(|state| {
                state == "complete" || (state == "interactive" && until == Until::DomContentLoaded)
            })
        });
        state == Some(true)
    }

    /// Waits until no request has been under way for half a second.
    pub async fn wait_network_idle(self: &Arc<Self>, within: Duration) -> Result<(), Error> {
        self.quiet(Instant::now() + within, within).await
    }

    /// Waits until a document other than `before` has come this far.
    pub(crate) async fn loaded(
        self: &Arc<Self>,
        before: Option<&str>,
        until: Until,
        deadline: Instant,
        within: Duration,
    ) -> Result<(), Error> {
        let reached = self.until(deadline, || {
            let frame = self.main_frame();
            let state = frame.state();
            let another = before.is_none_or(|before| state.loader != before);
            let of_it = state.lifecycle_of == state.loader;
            let reached = match until.milestone() {
                None => !state.loader.is_empty(),
                Some(milestone) => of_it && state.lifecycle.iter().any(|name| name == milestone),
            };
            (another && reached).then_some(())
        });
        match reached.await? {
            Some(()) if until == Until::NetworkIdle => self.quiet(deadline, within).await,
            Some(()) => Ok(()),
            None => Err(Error::Timeout {
                what: format!("{} of {}", until.described(), self.url()),
                after: within,
                hint: match until {
                    Until::Commit => String::new(),
                    _ => "; the page may be usable: look at it, or wait for less".to_owned(),
                },
            }),
        }
    }

    async fn quiet(self: &Arc<Self>, deadline: Instant, within: Duration) -> Result<(), Error> {
        let mut changes = self.changes();
        loop {
            changes.borrow_and_update();
            self.check()?;
            let since = self.traffic.quiet_since();
            if since.is_some_and(|since| since.elapsed() >= QUIET) {
                return Ok(());
            }
            let next = since.map_or(deadline, |since| (since + QUIET).min(deadline));
            match tokio::time::timeout_at(next, changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(Error::TabClosed),
                Err(_) if Instant::now() < deadline => {}
                Err(_) => {
                    let count = self.traffic.under_way();
                    return Err(Error::Timeout {
                        what: format!("a quiet network of {}", self.url()),
                        after: within,
                        hint: format!("; {count} requests are under way"),
                    });
                }
            }
        }
    }

    /// Waits until there is something to find, looking whenever something about the page changes; `None` when the
    /// time is up.
    pub(crate) async fn until<T>(
        &self,
        deadline: Instant,
        look: impl Fn() -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let mut changes = self.changes();
        loop {
            changes.borrow_and_update();
            if let Some(found) = look() {
                return Ok(Some(found));
            }
            self.check()?;
            match tokio::time::timeout_at(deadline, changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(Error::TabClosed),
                Err(_) => return Ok(None),
            }
        }
    }
}
