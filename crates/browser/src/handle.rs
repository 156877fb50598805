//! Objects of a page that are held on to from here.

use std::sync::Arc;
use std::time::Duration;

use atoll_cdp::Session;
use serde_json::{Value, json};

use crate::error::Error;
use crate::frame::{Frame, outcome};

/// An object of a page. It is let go of when dropped.
#[derive(Debug)]
pub struct Handle {
    frame: Arc<Frame>,
    session: Session,
    /// `None` for what is no object, such as null.
    object: Option<String>,
}

/// What a function of the page is called with.
#[derive(Debug)]
pub enum Argument<'a> {
    /// A JSON value.
    Value(Value),
    /// An object of the same document.
    Handle(&'a Handle),
}

impl Handle {
    pub(crate) fn new(frame: Arc<Frame>, session: Session, remote: &Value) -> Self {
        let object = remote["objectId"].as_str().map(str::to_owned);
        Self { frame, session, object }
    }

    /// The frame it lives in.
    pub fn frame(&self) -> &Arc<Frame> {
        &self.frame
    }

    /// The session it can be named in.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The browser's name for it; `None` for what is no object, such as null.
    pub fn object_id(&self) -> Option<&str> {
        self.object.as_deref()
    }

    /// Whether there is no object.
    pub fn is_null(&self) -> bool {
        self.object.is_none()
    }

    /// Calls a function with the object as `this`, and returns what it returns, as JSON.
    pub async fn call(
        &self,
        function: &str,
        arguments: &[Argument<'_>],
        within: Duration,
    ) -> Result<Value, Error> {
        let params = json!({
            "functionDeclaration": function,
            "objectId": self.object,
            "arguments": Argument::list(arguments),
            "returnByValue": true,
            "awaitPromise": true,
            "userGesture": true,
        });
        let answer = self.session.command_within("Runtime.callFunctionOn", params, within).await;
        let remote = outcome(answer.map_err(|error| self.frame.explain(error))?)?;
        Ok(remote.get("value").cloned().unwrap_or_default())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(object) = &self.object {
            // Nobody waits for it, and a page that is gone holds nothing.
            let _forgotten =
                self.session.start("Runtime.releaseObject", json!({ "objectId": object }));
        }
    }
}

impl Argument<'_> {
    pub(crate) fn list(arguments: &[Argument<'_>]) -> Vec<Value> {
        let as_sent = |argument: &Argument<'_>| match argument {
            Argument::Value(value) => json!({ "value": value }),
            Argument::Handle(handle) => match &handle.object {
                Some(object) => json!({ "objectId": object }),
                None => json!({ "value": null }),
            },
        };
        arguments.iter().map(as_sent).collect()
    }
}

impl<T: Into<Value>> From<T> for Argument<'_> {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}
