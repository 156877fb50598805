//! A frame: one document's place in a page, wherever its process is.
//!
//! Each document has two worlds: the page's own, and a utility world beside it which sees the same elements but none
//! of the page's variables. What the browser tells of its frames keeps this up to date (see `frames.rs`); what is
//! asked of a frame here waits until its document has the world for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use atoll_cdp::{CdpError, Session};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::error::Error;
use crate::handle::{Argument, Handle};
use crate::tab::Tab;
use crate::{Point, js};

/// Name of the utility world.
pub(crate) const WORLD: &str = "atoll";
/// What our script in a page calls to tell the page's title; the page itself does not see it.
pub(crate) const TELL_TITLE: &str = "atollTellTitle";
/// Tells the title of a page once it is loaded, after the page's own code has heard of that.
pub(crate) const ON_LOAD: &str = "if (window === window.top) addEventListener('DOMContentLoaded', \
     () => addEventListener('load', () => atollTellTitle(document.title)))";

/// Whose variables code sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// The page's own.
    Main,
    /// Ours, with the engine in it.
    Utility,
}

/// A frame.
#[derive(Debug)]
pub struct Frame {
    id: Arc<str>,
    tab: Weak<Tab>,
    parent: Option<Arc<str>>,
    state: Mutex<State>,
}

/// What changes about a frame.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) session: Session,
    pub(crate) url: String,
    pub(crate) name: String,
    /// The document it shows.
    pub(crate) loader: String,
    /// What that document was called when it had been loaded, if it told.
    pub(crate) title: Option<String>,
    /// The document the following is about.
    pub(crate) lifecycle_of: String,
    /// What has become of it: names of `Page.lifecycleEvent`.
    pub(crate) lifecycle: Vec<String>,
    pub(crate) main: Option<Arc<str>>,
    pub(crate) utility: Option<Arc<str>>,
    /// The utility world the engine was put into.
    engine: Option<Arc<str>>,
    pub(crate) children: Vec<Arc<str>>,
    pub(crate) attached: bool,
}

impl Frame {
    pub(crate) fn new(
        id: Arc<str>,
        tab: Weak<Tab>,
        parent: Option<Arc<str>>,
        session: Session,
    ) -> Self {
        let state = State {
            session,
            url: String::new(),
            name: String::new(),
            loader: String::new(),
            title: None,
            lifecycle_of: String::new(),
            lifecycle: Vec::new(),
            main: None,
            utility: None,
            engine: None,
            children: Vec::new(),
            attached: true,
        };
        Self { id, tab, parent, state: Mutex::new(state) }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The browser's name for it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The tab it is part of.
    pub fn tab(&self) -> Result<Arc<Tab>, Error> {
        self.tab.upgrade().ok_or(Error::TabClosed)
    }

    /// What it shows.
    pub fn url(&self) -> String {
        self.state().url.clone()
    }

    /// Its `name` attribute.
    pub fn name(&self) -> String {
        self.state().name.clone()
    }

    /// The way to its process.
    pub fn session(&self) -> Session {
        self.state().session.clone()
    }

    /// Whether it is the page's outermost.
    pub fn is_main(&self) -> bool {
        self.parent.is_none()
    }

    /// Whether it is still part of the page.
    pub fn is_attached(&self) -> bool {
        self.state().attached
    }

    /// The frame it lies in.
    pub fn parent(&self) -> Option<Arc<Frame>> {
        let parent = self.parent.as_ref()?;
        self.tab.upgrade()?.frame(parent)
    }

    /// The frames in it, in the order they came.
    pub fn child_frames(&self) -> Vec<Arc<Frame>> {
        let Some(tab) = self.tab.upgrade() else { return Vec::new() };
        let children = self.state().children.clone();
        children.iter().filter_map(|id| tab.frame(id)).collect()
    }

    /// Evaluates an expression, waits for it if it is a promise, and returns it as JSON.
    pub async fn evaluate(
        self: &Arc<Self>,
        expression: &str,
        world: World,
        within: Duration,
    ) -> Result<Value, Error> {
        let params = json!({
            "expression": expression,
            "returnByValue": true,
            "awaitPromise": true,
            "userGesture": true,
        });
        let (_, remote) = self.run("Runtime.evaluate", params, world, within).await?;
        Ok(remote.get("value").cloned().unwrap_or_default())
    }

    /// Calls a function, given as its source, and returns what it returns as JSON.
    pub async fn call(
        self: &Arc<Self>,
        function: &str,
        arguments: &[Argument<'_>],
        world: World,
        within: Duration,
    ) -> Result<Value, Error> {
        let params = call_params(function, arguments, true);
        let (_, remote) = self.run("Runtime.callFunctionOn", params, world, within).await?;
        Ok(remote.get("value").cloned().unwrap_or_default())
    }

    /// Calls a function and holds on to what it returns.
    pub async fn call_handle(
        self: &Arc<Self>,
        function: &str,
        arguments: &[Argument<'_>],
        world: World,
        within: Duration,
    ) -> Result<Handle, Error> {
        let params = call_params(function, arguments, false);
        let (session, remote) = self.run("Runtime.callFunctionOn", params, world, within).await?;
        Ok(Handle::new(self.clone(), session, &remote))
    }

    /// Where its upper left corner lies in the page's viewport.
    pub async fn offset(&self) -> Result<Point, Error> {
        let mut offset = Point::default();
        let Some(mut parent) = self.parent() else { return Ok(offset) };
        let mut id = self.id.clone();
        loop {
            let session = parent.session();
            let explain = |error| parent.explain(error);
            let owner = session.command("DOM.getFrameOwner", json!({ "frameId": &*id })).await;
            let node = owner.map_err(explain)?["backendNodeId"].clone();
            let model = session.command("DOM.getBoxModel", json!({ "backendNodeId": node })).await;
            let content = &model.map_err(explain)?["model"]["content"];
            offset.x += content[0].as_f64().unwrap_or_default();
            offset.y += content[1].as_f64().unwrap_or_default();
            // A box is told relative to the outermost frame of its own process.
            let root = parent.process_root();
            match root.parent() {
                None => return Ok(offset),
                Some(next) => (id, parent) = (root.id.clone(), next),
            }
        }
    }

    /// The frame inside an `iframe` or `frame` element of this one.
    pub async fn child_frame(&self, element: &Handle) -> Result<Arc<Frame>, Error> {
        let params = json!({ "objectId": element.object_id() });
        let answer = element.session().command("DOM.describeNode", params).await;
        let answer = answer.map_err(|error| self.explain(error))?;
        let id = answer["node"]["frameId"].as_str().ok_or(Error::FrameGone)?;
        self.tab()?.frame(id).ok_or(Error::FrameGone)
    }

    /// The outermost frame of the process it is in.
    fn process_root(self: &Arc<Self>) -> Arc<Frame> {
        let session = self.session();
        let mut root = self.clone();
        while let Some(parent) = root.parent() {
            if parent.session().id() != session.id() {
                break;
            }
            root = parent;
        }
        root
    }

    /// Runs code in a world of the document that is there now. Code that never ran because its document went away is
    /// run in the next one.
    async fn run(
        self: &Arc<Self>,
        method: &str,
        params: Value,
        world: World,
        within: Duration,
    ) -> Result<(Session, Value), Error> {
        let deadline = Instant::now() + within;
        loop {
            let (session, context) = self.world(world, deadline).await?;
            let mut params = params.clone();
            params["uniqueContextId"] = Value::from(&*context);
            let left = deadline.saturating_duration_since(Instant::now());
            match session.command_within(method, params, left).await {
                Ok(answer) => return Ok((session, outcome(answer)?)),
                Err(CdpError::Refused { message, .. }) if never_ran(&message) => {
                    self.forget(&context);
                    if Instant::now() >= deadline {
                        return Err(Error::Navigated);
                    }
                }
                Err(CdpError::Timeout { .. }) => {
                    return Err(Error::Timeout {
                        what: "the page's answer".to_owned(),
                        after: within,
                        hint: String::new(),
                    });
                }
                Err(error) => return Err(self.explain(error)),
            }
        }
    }

    /// The world of the present document, waited for if need be.
    async fn world(&self, world: World, deadline: Instant) -> Result<(Session, Arc<str>), Error> {
        let tab = self.tab()?;
        let mut changes = tab.changes();
        let mut asked = false;
        loop {
            tab.check()?;
            let session = {
                let mut state = self.state();
                if !state.attached {
                    return Err(Error::FrameGone);
                }
                let context = match world {
                    World::Main => &state.main,
                    World::Utility => &state.utility,
                };
                let session = state.session.clone();
                if let Some(context) = context.clone() {
                    if world == World::Utility && state.engine.as_ref() != Some(&context) {
                        state.engine = Some(context.clone());
                        drop(state);
                        // Not waited for: what comes next is carried out after it.
                        let params = json!({
                            "expression": js::ENGINE, "uniqueContextId": &*context, "silent": true,
                        });
                        drop(session.start("Runtime.evaluate", params)?);
                    }
                    return Ok((session, context));
                }
                session
            };
            if world == World::Utility && !asked {
                asked = true;
                // A document that had no script yet may have no world of ours either. If it is on its way out this
                // is refused, and the next one brings its own.
                let params = json!({ "frameId": &*self.id, "worldName": WORLD });
                let _on_its_way_out = session.command("Page.createIsolatedWorld", params).await;
                continue;
            }
            match tokio::time::timeout_at(deadline, changes.changed()).await {
                Ok(Ok(())) => asked = false,
                Ok(Err(_)) => return Err(Error::TabClosed),
                Err(_) => {
                    return Err(Error::Timeout {
                        what: "the frame's document".to_owned(),
                        after: Duration::ZERO,
                        hint: String::new(),
                    });
                }
            }
        }
    }

    /// Takes note that a world is no more.
    pub(crate) fn forget(&self, context: &str) {
        let mut state = self.state();
        if state.main.as_deref() == Some(context) {
            state.main = None;
        }
        if state.utility.as_deref() == Some(context) {
            state.utility = None;
        }
    }

    /// Names what went wrong with the frame.
    pub(crate) fn explain(&self, error: CdpError) -> Error {
        match error {
            CdpError::Refused { message, .. } if went_away(&message) => Error::Navigated,
            CdpError::SessionGone { .. } if !self.is_attached() => Error::FrameGone,
            CdpError::SessionGone { .. } if !self.is_main() => Error::Navigated,
            other => match self.tab.upgrade() {
                Some(tab) => tab.explain(other),
                None => Error::TabClosed,
            },
        }
    }
}

fn call_params(function: &str, arguments: &[Argument<'_>], by_value: bool) -> Value {
    json!({
        "functionDeclaration": function,
        "arguments": Argument::list(arguments),
        "returnByValue": by_value,
        "awaitPromise": true,
        "userGesture": true,
    })
}

/// The code was for a document that was gone already.
fn never_ran(message: &str) -> bool {
    message.contains("uniqueContextId not found") || message.contains("Cannot find context")
}

/// The code's document went away while it ran.
pub(crate) fn went_away(message: &str) -> bool {
    message.contains("context was destroyed")
        || message.contains("navigated or closed")
        || message.contains("Promise was collected")
        || never_ran(message)
}

/// What code came to: a remote object, or what it threw.
pub(crate) fn outcome(mut answer: Value) -> Result<Value, Error> {
    match answer.get("exceptionDetails") {
        None => Ok(answer["result"].take()),
        Some(details) => Err(thrown(details)),
    }
}

/// Names what code threw.
pub(crate) fn thrown(details: &Value) -> Error {
    let exception = &details["exception"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let description = text(&exception["description"])
        .or_else(|| text(&exception["value"]))
        .or_else(|| (!exception["value"].is_null()).then(|| exception["value"].to_string()))
        .or_else(|| text(&details["text"]))
        .unwrap_or_default();
    let name = text(&exception["className"]).unwrap_or_else(|| "Error".to_owned());
    let (first, stack) = match description.find("\n    at ") {
        Some(at) => (&description[..at], description[at..].trim_start_matches('\n').to_owned()),
        None => (description.as_str(), String::new()),
    };
    let message = match first.split_once(": ") {
        Some((kind, message)) if kind == name || kind == "Uncaught" => message,
        _ => first,
    };
    Error::Script { name, message: message.to_owned(), stack }
}
