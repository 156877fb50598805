//! The frames of a tab, kept as the browser tells of them.
//!
//! A frame keeps its identity while it moves from one process to another: a frame of another site gets a session of
//! its own, and loses it again when it comes back. Everything here happens on the reading task, in the order of events.

use std::collections::HashMap;
use std::sync::Arc;

use atoll_cdp::{Event, Session};
use serde_json::{Value, json};

use crate::frame::{Frame, TELL_TITLE, WORLD};
use crate::tab::Tab;

/// Frames a tab may have: a page that makes more is not worth following.
const FRAMES: usize = 4096;

/// All frames of a tab by name.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) main: Arc<Frame>,
    pub(crate) all: HashMap<Arc<str>, Arc<Frame>>,
}

impl Frames {
    pub(crate) fn new(main: Arc<Frame>) -> Self {
        let all = HashMap::from([(Arc::from(main.id()), main.clone())]);
        Self { main, all }
    }
}

impl Tab {
    /// The page's outermost frame.
    pub fn main_frame(&self) -> Arc<Frame> {
        self.lock_frames().main.clone()
    }

    /// All frames, those of other sites included, each before the ones in it.
    pub fn frames(&self) -> Vec<Arc<Frame>> {
        let mut found = Vec::new();
        let mut waiting = vec![self.main_frame()];
        while let Some(frame) = waiting.pop() {
            waiting.extend(frame.child_frames().into_iter().rev());
            found.push(frame);
        }
        found
    }

    /// A frame by the browser's name for it.
    pub fn frame(&self, id: &str) -> Option<Arc<Frame>> {
        self.lock_frames().all.get(id).cloned()
    }

    /// Takes in the frames that were there before anything was told of them.
    pub(crate) fn take_frame_tree(self: &Arc<Self>, session: &Session, tree: &Value) {
        let described = &tree["frame"];
        let Some(id) = described["id"].as_str() else { return };
        let frame = match self.frame(id) {
            Some(frame) => frame,
            None => match self.add_frame(session, id, described["parentId"].as_str()) {
                Some(frame) => frame,
                None => return,
            },
        };
        if frame.state().loader.is_empty() {
            show(&frame, described);
        }
        for child in tree["childFrames"].as_array().into_iter().flatten() {
            self.take_frame_tree(session, child);
        }
        self.changed();
    }

    /// A frame got a process, and a session, of its own.
    pub(crate) fn swap_frame(self: &Arc<Self>, session: &Session, id: &str, parent: Option<&str>) {
        let Some(frame) = self.frame(id).or_else(|| self.add_frame(session, id, parent)) else {
            return;
        };
        let children = std::mem::take(&mut frame.state().children);
        for child in children {
            self.remove_frame(&child);
        }
        let mut state = frame.state();
        state.session = session.clone();
        (state.main, state.utility) = (None, None);
        drop(state);
        self.changed();
    }

    /// A session of a frame has ended. The frame may have come home, or be about to: what the page around it was told
    /// before it answers decides.
    pub(crate) fn frame_session_ended(self: &Arc<Self>, session: &Session, id: &str) {
        let still_there = |tab: &Self, id: &str, session: &Session| {
            tab.frame(id).filter(|frame| frame.session().id() == session.id())
        };
        let Some(frame) = still_there(self, id, session) else { return };
        let Some(parent) = frame.parent() else { return };
        let (tab, session, id) = (self.clone(), session.clone(), id.to_owned());
        self.tasks().spawn(async move {
            // Whatever the answer is, it comes after what was told before.
            let _answered = parent.session().command("Page.enable", json!({})).await;
            if still_there(&tab, &id, &session).is_some() {
                tab.remove_frame(&id);
                tab.changed();
            }
        });
    }

    /// Takes in an event about frames or their worlds.
    pub(crate) fn frame_event(self: &Arc<Self>, session: &Session, event: &Event) {
        let params = &event.params;
        let named = |field: &str| params[field].as_str().unwrap_or_default();
        match event.method.as_str() {
            "Page.frameAttached" => {
                let id = named("frameId");
                match self.frame(id) {
                    // It comes home from a process of its own.
                    Some(frame) if frame.session().id() != session.id() => {
                        self.swap_frame(session, id, None);
                    }
                    Some(_) => {}
                    None => {
                        self.add_frame(session, id, params["parentFrameId"].as_str());
                    }
                }
            }
            "Page.frameNavigated" => self.frame_navigated(session, &params["frame"]),
            "Page.navigatedWithinDocument" => {
                if let Some(frame) = self.frame(named("frameId")) {
                    named("url").clone_into(&mut frame.state().url);
                }
            }
            "Page.frameDetached" => {
                // One that moves to another process is only told of here; its new session comes by itself.
                if named("reason") != "swap" {
                    self.remove_frame(named("frameId"));
                }
            }
            "Page.lifecycleEvent" => {
                if let Some(frame) = self.frame(named("frameId")) {
                    lifecycle(&frame, named("loaderId"), named("name"));
                }
            }
            "Runtime.bindingCalled" if named("name") == TELL_TITLE => {
                if session.id() == self.session().id() {
                    self.main_frame().state().title = params["payload"].as_str().map(str::to_owned);
                }
            }
            "Runtime.executionContextCreated" => self.world_made(session, &params["context"]),
            "Runtime.executionContextDestroyed" => {
                let context = named("executionContextUniqueId");
                for frame in self.frames() {
                    frame.forget(context);
                }
            }
            "Runtime.executionContextsCleared" => {
                for frame in self.frames() {
                    let mut state = frame.state();
                    if state.session.id() == session.id() {
                        (state.main, state.utility) = (None, None);
                    }
                }
            }
            _ => return,
        }
        self.changed();
    }

    fn frame_navigated(self: &Arc<Self>, session: &Session, described: &Value) {
        let Some(id) = described["id"].as_str() else { return };
        let parent = described["parentId"].as_str();
        let Some(frame) = self.frame(id).or_else(|| self.add_frame(session, id, parent)) else {
            return;
        };
        let children = std::mem::take(&mut frame.state().children);
        for child in children {
            self.remove_frame(&child);
        }
        show(&frame, described);
        if frame.is_main() {
            self.elements().navigated();
            self.traffic.navigated(described["loaderId"].as_str().unwrap_or_default());
            self.revive();
        }
    }

    fn world_made(&self, session: &Session, context: &Value) {
        let auxiliary = &context["auxData"];
        let Some(frame) = auxiliary["frameId"].as_str().and_then(|id| self.frame(id)) else {
            return;
        };
        let unique = context["uniqueId"].as_str().map(Arc::from);
        let mut state = frame.state();
        if state.session.id() != session.id() {
            return;
        }
        if auxiliary["isDefault"].as_bool() == Some(true) {
            state.main = unique;
        } else if context["name"].as_str() == Some(WORLD) {
            state.utility = unique;
        }
    }

    fn add_frame(
        self: &Arc<Self>,
        session: &Session,
        id: &str,
        parent: Option<&str>,
    ) -> Option<Arc<Frame>> {
        let parent = self.frame(parent?)?;
        let mut frames = self.lock_frames();
        if frames.all.len() >= FRAMES {
            return None;
        }
        let id: Arc<str> = Arc::from(id);
        let frame = Arc::new(Frame::new(
            id.clone(),
            Arc::downgrade(self),
            Some(Arc::from(parent.id())),
            session.clone(),
        ));
        parent.state().children.push(id.clone());
        frames.all.insert(id, frame.clone());
        Some(frame)
    }

    fn remove_frame(&self, id: &str) {
        let Some(frame) = self.frame(id) else { return };
        if frame.is_main() {
            return;
        }
        if let Some(parent) = frame.parent() {
            parent.state().children.retain(|child| **child != *id);
        }
        let mut waiting = vec![frame];
        while let Some(frame) = waiting.pop() {
            waiting.extend(frame.child_frames());
            frame.state().attached = false;
            self.lock_frames().all.remove(frame.id());
        }
    }
}

fn show(frame: &Frame, described: &Value) {
    let text = |field: &str| described[field].as_str().unwrap_or_default();
    let mut state = frame.state();
    text("loaderId").clone_into(&mut state.loader);
    state.title = None;
    text("name").clone_into(&mut state.name);
    state.url = format!("{}{}", text("url"), text("urlFragment"));
}

fn lifecycle(frame: &Frame, loader: &str, name: &str) {
    let mut state = frame.state();
    if state.lifecycle_of != loader {
        // Something late about the document before is of no interest.
        if !matches!(name, "init" | "commit") {
            return;
        }
        state.lifecycle.clear();
        loader.clone_into(&mut state.lifecycle_of);
    }
    if !state.lifecycle.iter().any(|known| known == name) {
        state.lifecycle.push(name.to_owned());
    }
}
