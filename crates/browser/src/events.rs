//! Which event goes where. All of this happens on the connection's reading task, so what is known is always as new as
//! the latest answer; what takes time is done in tasks of its own.

use std::sync::Arc;

use atoll_cdp::{CdpError, Event, Session};
use serde_json::{Value, json};

use crate::context::Context;
use crate::instance::{Instance, Slot};
use crate::tab::{self, Life, Tab};
use crate::target::{Kind, Target};

impl Instance {
    pub(crate) fn event(self: &Arc<Self>, event: &Arc<Event>) {
        match event.method.as_str() {
            "Target.attachedToTarget" => self.attached(event),
            "Target.detachedFromTarget" => {
                self.detached(event.params["sessionId"].as_str().unwrap_or_default());
            }
            "Browser.downloadWillBegin" => self.download_begins(&event.params),
            "Browser.downloadProgress" => {
                for context in self.contexts() {
                    if context.downloads.progress(&event.params, &self.options().downloads) {
                        context.changed();
                    }
                }
            }
            _ => {
                let slot = self.lock_sessions().get(&event.session).cloned();
                let Some(Slot { target, context }) = slot else { return };
                if event.method.starts_with("Network.") || event.method.starts_with("Fetch.") {
                    context.network().event(&target, event);
                }
                if let Some(tab) = target.tab() {
                    tab.event(&target, event);
                }
            }
        }
    }

    fn attached(self: &Arc<Self>, event: &Event) {
        let info = &event.params["targetInfo"];
        let text = |field: &str| info[field].as_str().unwrap_or_default();
        let session = self.session(event.params["sessionId"].as_str().unwrap_or_default());
        let parent = self.lock_sessions().get(&event.session).cloned();
        let context = match &parent {
            Some(slot) => Some(slot.context.clone()),
            None => self.context_by_id(text("browserContextId")),
        };
        let Some(context) = context else {
            // It belongs to somebody else who drives this browser.
            return self.leave_alone(&session);
        };
        let id: Arc<str> = Arc::from(text("targetId"));
        match (text("type"), parent.as_ref().and_then(|slot| slot.target.tab())) {
            ("page", None) => {
                let opener = info["openerId"].as_str();
                if !context.has_room() {
                    context.refuse_tab(opener);
                    // It must run before it is closed: its opener's code waits for it.
                    self.leave_alone(&session);
                    drop(self.root().start("Target.closeTarget", json!({ "targetId": &*id })));
                    return;
                }
                let tab = Tab::new(&context, &id, session.clone(), self.tasks());
                self.add_session(tab.target(), &context);
                context.add_tab(tab.clone(), opener, text("url"));
                self.tasks().spawn(start_page(context, tab));
            }
            ("iframe", Some(tab)) => {
                let target = self.target(Kind::Frame, id, session, Some(&tab));
                self.add_session(&target, &context);
                tab.swap_frame(&target.session, &target.id, info["parentFrameId"].as_str());
                self.tasks().spawn(start_frame(context, tab, target));
            }
            ("worker" | "shared_worker" | "service_worker", tab) => {
                let target = self.target(Kind::Worker, id, session, tab.as_ref());
                self.add_session(&target, &context);
                self.tasks().spawn(start_worker(context, target));
            }
            _ => self.leave_alone(&session),
        }
    }

    fn target(&self, kind: Kind, id: Arc<str>, session: Session, tab: Option<&Arc<Tab>>) -> Target {
        Target { kind, id, session, tab: tab.map(Arc::downgrade), tasks: self.tasks().clone() }
    }

    fn add_session(&self, target: &Target, context: &Arc<Context>) {
        let slot = Slot { target: target.clone(), context: context.clone() };
        self.lock_sessions().insert(Arc::from(target.session.id()), slot);
    }

    /// Lets a target run that is none of our business.
    fn leave_alone(&self, session: &Session) {
        // Nobody waits for it: a target that is gone needs nothing.
        drop(session.start("Runtime.runIfWaitingForDebugger", json!({})));
        let params = json!({ "sessionId": session.id() });
        drop(self.root().start("Target.detachFromTarget", params));
    }

    fn detached(&self, session: &str) {
        let Some(Slot { target, context }) = self.lock_sessions().remove(session) else { return };
        context.network().detached(&target);
        if let Some(tab) = target.tab() {
            tab.traffic.session_ended(session);
        }
        match (target.kind, target.tab()) {
            (Kind::Page, _) => context.remove_tab(&target.id),
            (Kind::Frame, Some(tab)) => tab.frame_session_ended(&target.session, &target.id),
            (Kind::Frame, None) | (Kind::Worker, _) => {}
        }
    }

    fn download_begins(&self, params: &Value) {
        let frame = params["frameId"].as_str().unwrap_or_default();
        let contexts = self.contexts();
        let shows =
            |context: &&Arc<Context>| context.tabs().iter().any(|tab| tab.frame(frame).is_some());
        // A window that opens only to download is gone before anything is known of it.
        if let Some(context) = contexts.iter().find(shows).or(contexts.first()) {
            context.downloads.begin(params);
            context.changed();
        }
    }
}

async fn start_page(context: Arc<Context>, tab: Arc<Tab>) {
    match tab::attach(&tab, tab.target(), context.network()).await {
        Ok(()) => tab.set_life(Life::Ready),
        Err(error) => {
            tracing::debug!(%error, "a page was gone before it could be used");
            tab.set_life(Life::Closed);
        }
    }
}

async fn start_frame(context: Arc<Context>, tab: Arc<Tab>, target: Target) {
    if let Err(error) = tab::attach(&tab, &target, context.network()).await {
        tracing::debug!(%error, "a frame was gone before it could be used");
    }
}

async fn start_worker(context: Arc<Context>, target: Target) {
    if let Err(error) = run_worker(&context, &target).await {
        tracing::debug!(%error, "a worker was gone before it could be followed");
    }
}

async fn run_worker(context: &Context, target: &Target) -> Result<(), CdpError> {
    let session = &target.session;
    drop(session.start("Network.enable", json!({}))?);
    drop(session.start("Runtime.enable", json!({}))?);
    drop(session.start(
        "Target.setAutoAttach",
        json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
    )?);
    let hooked = context.network().attach(target).await;
    drop(session.start("Runtime.runIfWaitingForDebugger", json!({}))?);
    hooked
}
