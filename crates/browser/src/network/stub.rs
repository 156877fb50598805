//! Pages that stand in for an origin: nothing is asked of the network, yet what the page's code sees is the origin's.

use atoll_cdp::Session;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Network;
use crate::Result;

/// A session whose every request gets an empty page, until this is dropped.
#[derive(Debug)]
pub(crate) struct Stub<'a> {
    network: &'a Network,
    session: String,
}

impl Network {
    /// Lets nothing of a session reach the network.
    pub(crate) async fn stub(&self, session: &Session) -> Result<Stub<'_>> {
        self.state().stubs.insert(session.id().to_owned());
        let stub = Stub { network: self, session: session.id().to_owned() };
        let patterns = json!({"patterns": [{"urlPattern": "*", "requestStage": "Request"}]});
        let bypass = session.start("Network.setBypassServiceWorker", json!({"bypass": true}))?;
        session.command("Fetch.enable", patterns).await?;
        bypass.answer().await?;
        Ok(stub)
    }
}

impl Drop for Stub<'_> {
    fn drop(&mut self) {
        self.network.state().stubs.remove(&self.session);
    }
}

/// What the browser is told to take for the answer.
pub(super) fn empty_page(request_id: &str) -> Value {
    json!({
        "requestId": request_id,
        "responseCode": 200,
        "responseHeaders": [{"name": "Content-Type", "value": "text/html"}],
        "body": STANDARD.encode("<!doctype html><title></title>"),
    })
}
