//! After an action: when it has sent the page elsewhere, the next operation should find the next page.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::{CdpError, Subscription, Tab};

/// How long the next page is waited for. It may take longer: then the caller waits for what it needs.
const PATIENCE: Duration = Duration::from_secs(5);

/// Watches what an action leads to. It does not fail: what goes wrong with the next page is for those who ask for it.
pub(crate) struct Settling<'a> {
    tab: &'a Arc<Tab>,
    events: Subscription,
}

impl<'a> Settling<'a> {
    /// To be made before the action.
    pub(crate) fn begin(tab: &'a Arc<Tab>) -> Self {
        tab.begin_action();
        let events = tab.session().subscribe(&[
            "Page.frameRequestedNavigation",
            "Page.frameStartedNavigating",
            "Page.frameNavigated",
            "Page.frameStoppedLoading",
            "Page.domContentEventFired",
        ]);
        Self { tab, events }
    }

    /// Returns at once when the page stays, else when the next one can be read.
    pub(crate) async fn end(mut self) {
        // What the action made the page do is told before the answer to this.
        let params = json!({ "expression": "0", "silent": true });
        let asked = self.tab.session().command_within("Runtime.evaluate", params, PATIENCE).await;
        let deadline = Instant::now() + PATIENCE;
        let main = self.tab.id().to_owned();
        let mut leaving = match asked {
            Ok(_) => false,
            // The document it was asked of is gone.
            Err(CdpError::Refused { .. }) => true,
            Err(_) => return,
        };
        let mut arrived = false;
        loop {
            let event = if leaving {
                match tokio::time::timeout_at(deadline, self.events.next()).await {
                    Ok(Ok(event)) => event,
                    Ok(Err(_)) | Err(_) => return,
                }
            } else {
                match self.events.try_next() {
                    Some(event) => event,
                    None => return,
                }
            };
            let params = &event.params;
            match event.method.as_str() {
                "Page.frameRequestedNavigation" if params["frameId"] == main.as_str() => {
                    leaving |= params["disposition"] == "currentTab";
                }
                "Page.frameStartedNavigating" if params["frameId"] == main.as_str() => {
                    let kind = params["navigationType"].as_str().unwrap_or_default();
                    leaving |= !kind.to_ascii_lowercase().contains("samedocument");
                }
                "Page.frameNavigated" if params["frame"]["id"] == main.as_str() => {
                    (leaving, arrived) = (true, true);
                }
                "Page.domContentEventFired" if arrived => return,
                // It stopped without arriving: a download, an empty answer, an error.
                "Page.frameStoppedLoading" if params["frameId"] == main.as_str() => return,
                _ => {}
            }
        }
    }
}
