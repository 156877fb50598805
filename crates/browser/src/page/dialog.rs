//! Dialogs: answered at once, since a page that waits for an answer does nothing else, and told of in a hint.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::tab::Tab;
use crate::target::Target;

impl Tab {
    /// An alert is acknowledged and leaving a page allowed; a question is answered with no.
    pub(crate) fn answer_dialog(self: &Arc<Self>, target: &Target, params: &Value) {
        let kind = params["type"].as_str().unwrap_or_default();
        let message: String =
            params["message"].as_str().unwrap_or_default().chars().take(1000).collect();
        let accept = matches!(kind, "alert" | "beforeunload");
        self.hint(match kind {
            "beforeunload" => "the page asked whether to leave it, and was told yes".to_owned(),
            "alert" => format!("the page showed an alert, which was accepted: {message:?}"),
            _ => format!("the page showed a {kind} dialog, which was dismissed: {message:?}"),
        });
        // Another client of the browser may have answered it already; nobody waits for this.
        drop(target.session.start("Page.handleJavaScriptDialog", json!({ "accept": accept })));
    }
}
