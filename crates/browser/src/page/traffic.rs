//! Which requests are under way, and which there were since the latest action: what waits are about. The log of all
//! requests is in `network/`.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atoll_cdp::Event;
use serde_json::Value;
use tokio::time::Instant;

/// Requests and responses remembered since the latest action.
const RECENT: usize = 1000;
/// Requests under way that are followed.
const UNDER_WAY: usize = 4096;

/// A request, or the response to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// Where to.
    pub url: String,
    /// How, such as `GET`; empty for a response.
    pub method: String,
    /// What came back; `None` for a request.
    pub status: Option<u16>,
    /// What for, such as `Document` or `Fetch`.
    pub resource_type: String,
    /// The browser's name for the request.
    pub request_id: String,
}

#[derive(Debug)]
pub(crate) struct TrafficLog(Mutex<Log>);

#[derive(Debug)]
struct Log {
    recent: VecDeque<Traffic>,
    /// Session and request, with the document it is for.
    under_way: HashMap<(Arc<str>, String), String>,
    /// When a request last began or ended.
    active: Instant,
    /// Document and status of the latest page that came.
    document: Option<(String, u16)>,
}

impl Default for TrafficLog {
    fn default() -> Self {
        let log = Log {
            recent: VecDeque::new(),
            under_way: HashMap::new(),
            active: Instant::now(),
            document: None,
        };
        Self(Mutex::new(log))
    }
}

impl TrafficLog {
    fn lock(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An action begins.
    pub(crate) fn begin(&self) {
        self.lock().recent.clear();
    }

    pub(crate) fn event(&self, event: &Event) {
        let params = &event.params;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let id = text(&params["requestId"]);
        let key = (event.session.clone(), id.clone());
        let mut log = self.lock();
        match event.method.as_str() {
            "Network.requestWillBeSent" => {
                let kind = text(&params["type"]);
                // A stream of events never ends; a page that has one is quiet nevertheless.
                if kind != "EventSource" && log.under_way.len() < UNDER_WAY {
                    log.under_way.insert(key, text(&params["loaderId"]));
                }
                log.active = Instant::now();
                log.remember(Traffic {
                    url: text(&params["request"]["url"]),
                    method: text(&params["request"]["method"]),
                    status: None,
                    resource_type: kind,
                    request_id: id,
                });
            }
            "Network.responseReceived" => {
                let response = &params["response"];
                let status = response["status"].as_u64().and_then(|code| u16::try_from(code).ok());
                if params["type"] == "Document"
                    && params["loaderId"].as_str() == Some(&id)
                    && let Some(status) = status
                {
                    log.document = Some((id.clone(), status));
                }
                log.remember(Traffic {
                    url: text(&response["url"]),
                    method: String::new(),
                    status: Some(status.unwrap_or_default()),
                    resource_type: text(&params["type"]),
                    request_id: id,
                });
            }
            _ => {
                log.under_way.remove(&key);
                log.active = Instant::now();
            }
        }
    }

    /// A new document is shown: requests for others are over, whether that was told or not.
    pub(crate) fn navigated(&self, loader: &str) {
        self.lock().under_way.retain(|_, of| of == loader);
    }

    pub(crate) fn session_ended(&self, session: &str) {
        self.lock().under_way.retain(|(of, _), _| **of != *session);
    }

    /// Since when nothing has been under way, if so.
    pub(crate) fn quiet_since(&self) -> Option<Instant> {
        let log = self.lock();
        log.under_way.is_empty().then_some(log.active)
    }

    /// How many requests are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.lock().under_way.len()
    }

    /// The first since the latest action that fits.
    pub(crate) fn find(&self, fits: impl Fn(&Traffic) -> bool) -> Option<Traffic> {
        self.lock().recent.iter().find(|traffic| fits(traffic)).cloned()
    }

    /// Status of a document.
    pub(crate) fn status_of(&self, loader: &str) -> Option<u16> {
        self.lock().document.as_ref().filter(|(of, _)| of == loader).map(|(_, status)| *status)
    }
}

impl Log {
    fn remember(&mut self, traffic: Traffic) {
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(traffic);
    }
}
