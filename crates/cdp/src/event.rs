//! Events, and who gets which.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::Value;
use tokio::sync::mpsc;

use crate::error::CdpError;

/// Events that may wait for one subscriber. More mean that it does not read: it is told so instead of being fed.
const WAITING: usize = 16_384;

/// Something that happened in the browser.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The session it came by; empty for the browser itself.
    pub session: Arc<str>,
    /// What happened, such as `Page.loadEventFired`.
    pub method: String,
    /// Its particulars.
    pub params: Value,
}

/// The events somebody asked for, in order.
#[derive(Debug)]
pub struct Subscription {
    receiver: mpsc::Receiver<Arc<Event>>,
    end: Arc<Mutex<Option<CdpError>>>,
    id: u64,
    all: Weak<Mutex<Subscribers>>,
}

impl Subscription {
    /// The next event, or why there will be none.
    pub async fn next(&mut self) -> Result<Arc<Event>, CdpError> {
        match self.receiver.recv().await {
            Some(event) => Ok(event),
            None => Err(self.end()),
        }
    }

    /// The next event if it has come already.
    pub fn try_next(&mut self) -> Option<Arc<Event>> {
        self.receiver.try_recv().ok()
    }

    fn end(&self) -> CdpError {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.clone().unwrap_or_else(|| CdpError::Closed { why: "nobody listens".to_owned() })
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(all) = self.all.upgrade() {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.list.retain(|subscriber| subscriber.id != self.id);
        }
    }
}

/// Everybody who asked for events.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    list: Vec<Subscriber>,
    latest: u64,
    /// Why the connection ended, once it has.
    ended: Option<CdpError>,
}

#[derive(Debug)]
struct Subscriber {
    id: u64,
    /// `None` for any.
    session: Option<Arc<str>>,
    methods: Vec<String>,
    sender: mpsc::Sender<Arc<Event>>,
    end: Arc<Mutex<Option<CdpError>>>,
}

impl Subscribers {
    pub(crate) fn add(
        this: &Arc<Mutex<Self>>,
        session: Option<Arc<str>>,
        methods: &[&str],
    ) -> Subscription {
        let (sender, receiver) = mpsc::channel(WAITING);
        let mut all = this.lock().unwrap_or_else(PoisonError::into_inner);
        all.latest += 1;
        let id = all.latest;
        let end = Arc::new(Mutex::new(all.ended.clone()));
        if all.ended.is_none() {
            let methods = methods.iter().map(|&method| method.to_owned()).collect();
            all.list.push(Subscriber { id, session, methods, sender, end: end.clone() });
        }
        Subscription { receiver, end, id, all: Arc::downgrade(this) }
    }

    pub(crate) fn deliver(&mut self, event: &Arc<Event>) {
        self.list.retain(|subscriber| {
            if !subscriber.wants(event) {
                return true;
            }
            match subscriber.sender.try_send(event.clone()) {
                Ok(()) => true,
                Err(_) => subscriber.close(CdpError::Overflow { events: WAITING }),
            }
        });
    }

    /// Ends those that listen to one session, or everybody.
    pub(crate) fn end(&mut self, session: Option<&str>, why: &CdpError) {
        if session.is_none() {
            self.ended = Some(why.clone());
        }
        self.list.retain(|subscriber| match session {
            Some(session) if subscriber.session.as_deref() != Some(session) => true,
            _ => subscriber.close(why.clone()),
        });
    }
}

impl Subscriber {
    fn wants(&self, event: &Event) -> bool {
        self.session.as_ref().is_none_or(|session| *session == event.session)
            && self.methods.contains(&event.method)
    }

    /// Says why nothing more will come. Always false: it is not kept.
    fn close(&self, why: CdpError) -> bool {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        false
    }
}
