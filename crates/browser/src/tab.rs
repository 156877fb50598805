//! A tab: a page with its frames and what is known of it. What can be done with it is in `page/`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use atoll_cdp::{CdpError, Event, Session};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::context::Context;
use crate::element::Elements;
use crate::error::Error;
use crate::frame::{Frame, ON_LOAD, TELL_TITLE, WORLD};
use crate::frames::Frames;
use crate::instance::Instance;
use crate::page::{Console, Recorder, TrafficLog};
use crate::target::Target;
use crate::{Session as CdpSession, Size};

/// Hints that may wait to be read.
const HINTS: usize = 50;
/// How long a page may take to say its title.
const TITLE: Duration = Duration::from_secs(1);
/// How long a new page may take until it can be used.
const READY: Duration = Duration::from_secs(30);

/// Whether a tab can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Life {
    /// Not yet.
    Starting,
    /// It can.
    Ready,
    /// Its page's process has died.
    Crashed(String),
    /// It is gone.
    Closed,
}

/// A tab.
#[derive(Debug)]
pub struct Tab {
    target: Target,
    context: Weak<Context>,
    instance: Weak<Instance>,
    frames: Mutex<Frames>,
    /// Counts what is told of the frames, for whoever waits for something about them.
    changes: watch::Sender<u64>,
    life: watch::Sender<Life>,
    hints: Mutex<VecDeque<String>>,
    elements: Elements,
    pub(crate) console: Console,
    pub(crate) traffic: TrafficLog,
    pub(crate) recorder: Recorder,
}

impl Tab {
    pub(crate) fn new(
        context: &Arc<Context>,
        id: &Arc<str>,
        session: Session,
        tasks: &TaskTracker,
    ) -> Arc<Self> {
        Arc::new_cyclic(|tab: &Weak<Self>| {
            let main = Frame::new(id.clone(), tab.clone(), None, session.clone());
            let target = Target {
                kind: crate::Kind::Page,
                id: id.clone(),
                session,
                tab: Some(tab.clone()),
                tasks: tasks.clone(),
            };
            Self {
                target,
                context: Arc::downgrade(context),
                instance: context.weak_instance().clone(),
                frames: Mutex::new(Frames::new(Arc::new(main))),
                changes: watch::channel(0).0,
                life: watch::channel(Life::Starting).0,
                hints: Mutex::default(),
                elements: Elements::default(),
                console: Console::new(context.options().limits.console_entries),
                traffic: TrafficLog::default(),
                recorder: Recorder::default(),
            }
        })
    }

    /// The browser's name for it.
    pub fn id(&self) -> &str {
        &self.target.id
    }

    /// The way to its page.
    pub fn session(&self) -> &CdpSession {
        &self.target.session
    }

    /// It as a target.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The context it belongs to.
    pub fn context(&self) -> Result<Arc<Context>, Error> {
        self.context.upgrade().ok_or_else(|| self.explain_closed())
    }

    /// The run of the browser it is part of.
    pub(crate) fn instance(&self) -> Result<Arc<Instance>, Error> {
        self.instance.upgrade().ok_or_else(|| self.explain_closed())
    }

    /// For work that goes on beside its operations.
    pub fn tasks(&self) -> &TaskTracker {
        &self.target.tasks
    }

    /// What is remembered of its elements.
    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// What its main frame shows. One so new that the browser has not said yet is blank.
    pub fn url(&self) -> String {
        let url = self.main_frame().url();
        if url.is_empty() { "about:blank".to_owned() } else { url }
    }

    /// Its title. Of a page that does not answer, what the browser shows for it.
    pub async fn title(&self) -> Result<String, Error> {
        let params = json!({ "expression": "document.title", "returnByValue": true });
        let asked = self.session().command_within("Runtime.evaluate", params, TITLE).await;
        if let Ok(answer) = &asked
            && let Some(title) = answer["result"]["value"].as_str()
        {
            return Ok(title.to_owned());
        }
        let context = self.context()?;
        let params = json!({ "targetId": self.id() });
        let info = context.root().command("Target.getTargetInfo", params).await;
        let info = info.map_err(|error| self.explain(error))?;
        Ok(info["targetInfo"]["title"].as_str().unwrap_or_default().to_owned())
    }

    /// Size of the part of the page that can be seen.
    pub async fn viewport(&self) -> Result<Size, Error> {
        let metrics = self.command("Page.getLayoutMetrics", json!({})).await?;
        let view = &metrics["cssLayoutViewport"];
        Ok(Size {
            width: view["clientWidth"].as_f64().unwrap_or_default(),
            height: view["clientHeight"].as_f64().unwrap_or_default(),
        })
    }

    /// Tells whoever works with the tab something it did not ask for.
    pub fn hint(&self, text: String) {
        let mut hints = self.hints.lock().unwrap_or_else(PoisonError::into_inner);
        if hints.len() >= HINTS {
            hints.pop_front();
        }
        hints.push_back(text);
    }

    /// The same, unless that is about to be told already.
    pub(crate) fn hint_once(&self, text: String) {
        let known = self.hints.lock().unwrap_or_else(PoisonError::into_inner).contains(&text);
        if !known {
            self.hint(text);
        }
    }

    /// The hints since the last time.
    pub fn take_hints(&self) -> Vec<String> {
        let mut hints = self.hints.lock().unwrap_or_else(PoisonError::into_inner);
        hints.drain(..).collect()
    }

    /// Whether its page has died.
    pub fn is_crashed(&self) -> bool {
        matches!(*self.life.borrow(), Life::Crashed(_))
    }

    /// Whether it is gone.
    pub fn is_closed(&self) -> bool {
        *self.life.borrow() == Life::Closed
    }

    /// An operation that only looks at the page begins.
    pub(crate) fn begin_look(&self) {
        self.traffic.begin();
    }

    /// An operation that acts on the page begins: what is waited for afterwards may happen from here on.
    pub fn begin_action(&self) {
        self.begin_look();
        if let Ok(context) = self.context() {
            context.take_downloads();
        }
    }

    /// Sends a command to its page and names what goes wrong.
    pub async fn command(&self, method: &str, params: Value) -> Result<Value, Error> {
        self.session().command(method, params).await.map_err(|error| self.explain(error))
    }

    /// Names what went wrong with the page.
    pub(crate) fn explain(&self, error: CdpError) -> Error {
        match (error, &*self.life.borrow()) {
            (CdpError::SessionGone { .. }, Life::Crashed(why)) => {
                Error::TabCrashed { why: why.clone() }
            }
            (CdpError::Closed { why }, _) => match self.context.upgrade() {
                Some(context) => Error::BrowserGone { why: context.why_gone(why) },
                None => Error::BrowserGone { why },
            },
            (error, _) => error.into(),
        }
    }

    /// Refuses when nothing can be done with it.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match &*self.life.borrow() {
            Life::Crashed(why) => Err(Error::TabCrashed { why: why.clone() }),
            Life::Closed => Err(self.explain_closed()),
            Life::Starting | Life::Ready => Ok(()),
        }
    }

    /// It is gone: alone, or with its browser.
    fn explain_closed(&self) -> Error {
        match self.context.upgrade().map(|context| context.why_gone(String::new())) {
            Some(why) if !why.is_empty() => Error::BrowserGone { why },
            Some(_) => Error::TabClosed,
            // A context goes when it is closed, or with the browser.
            None => match self.instance.upgrade() {
                Some(instance) => match instance.why_gone() {
                    Some(why) => Error::BrowserGone { why },
                    None => Error::TabClosed,
                },
                None => Error::BrowserGone { why: "it was ended".to_owned() },
            },
        }
    }

    /// Follows what is told of its frames and its life.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn lock_frames(&self) -> MutexGuard<'_, Frames> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_life(&self, life: Life) {
        self.life.send_if_modified(|now| {
            // What is gone stays gone.
            let changed = *now != Life::Closed && *now != life;
            if changed {
                *now = life;
            }
            changed
        });
        self.changed();
    }

    /// A crashed page that shows a document again lives.
    pub(crate) fn revive(&self) {
        if self.is_crashed() {
            self.set_life(Life::Ready);
        }
    }

    /// Waits until it can be used. One whose page has died can: it can be reloaded.
    pub(crate) async fn ready(&self) -> Result<(), Error> {
        let mut life = self.life.subscribe();
        let waited = tokio::time::timeout(READY, life.wait_for(|life| *life != Life::Starting));
        match waited.await {
            Ok(Ok(life)) if *life == Life::Closed => Err(Error::TabClosed),
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err(Error::TabClosed),
            Err(_) => Err(Error::Timeout {
                what: "the start of a page".to_owned(),
                after: READY,
                hint: String::new(),
            }),
        }
    }

    /// Takes in an event of one of its sessions.
    pub(crate) fn event(self: &Arc<Self>, target: &Target, event: &Arc<Event>) {
        match event.method.as_str() {
            "Inspector.targetCrashed" => self.crashed(target, "its process died"),
            "Inspector.targetReloadedAfterCrash" if target.id == self.target.id => self.revive(),
            "Page.javascriptDialogOpening" => self.answer_dialog(target, &event.params),
            "Page.windowOpen" => {
                if let Some(context) = self.context.upgrade() {
                    context.window_opening(self, event.params["url"].as_str().unwrap_or_default());
                }
            }
            "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded" => {
                self.console.event(event);
            }
            "Network.requestWillBeSent"
            | "Network.responseReceived"
            | "Network.loadingFinished"
            | "Network.loadingFailed" => {
                self.traffic.event(event);
                self.changed();
            }
            "Page.screencastFrame" => self.recorder.frame(target, &event.params),
            _ => self.frame_event(&target.session, event),
        }
    }

    /// The process of a page, or of a frame in it, died.
    pub(crate) fn crashed(&self, target: &Target, why: &str) {
        if target.id == self.target.id {
            self.set_life(Life::Crashed(why.to_owned()));
        } else {
            self.hint("a frame of the page has crashed".to_owned());
        }
        if let Some(context) = self.context.upgrade() {
            context.fail_session(target.session.id(), "its process died");
        }
    }
}

/// Makes a page, or a frame of another site, ready to be followed, and lets it run. Everything is sent at once and
/// carried out in order.
pub(crate) async fn attach(
    tab: &Arc<Tab>,
    target: &Target,
    network: &crate::network::Network,
) -> Result<(), CdpError> {
    let session = &target.session;
    let tree = session.start("Page.getFrameTree", json!({}))?;
    let mut replies = vec![
        session.start("Page.enable", json!({}))?,
        session.start("Page.setLifecycleEventsEnabled", json!({ "enabled": true }))?,
        session.start("Runtime.enable", json!({}))?,
        session.start(
            "Runtime.addBinding",
            json!({ "name": TELL_TITLE, "executionContextName": WORLD }),
        )?,
        session.start(
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": ON_LOAD, "worldName": WORLD, "runImmediately": true }),
        )?,
        session.start("Network.enable", json!({ "maxPostDataSize": 65536 }))?,
        session.start("Log.enable", json!({}))?,
        session.start("Inspector.enable", json!({}))?,
        session.start("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }))?,
        session.start(
            "Target.setAutoAttach",
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
        )?,
    ];
    let hooked = network.attach(target).await;
    // Before any answer is waited for: a window that a link opened gives none until it runs.
    replies.push(session.start("Runtime.runIfWaitingForDebugger", json!({}))?);
    if let Ok(tree) = tree.answer().await {
        tab.take_frame_tree(session, &tree["frameTree"]);
    }
    for reply in replies {
        // A frame has no focus to emulate, and so on: what a target cannot do is no failure.
        if let Err(error @ (CdpError::Closed { .. } | CdpError::SessionGone { .. })) =
            reply.answer().await
        {
            return Err(error);
        }
    }
    hooked
}
