//! The log of a context's requests: from the first one on, the latest ones kept.
//!
//! The browser tells of one request in several events which may come by different sessions (a frame that moves to
//! another process) and out of order (the headers really sent). They are put together by the request's id, which the
//! whole browser uses once; a redirect is a request of its own with the same id.

use std::collections::{BTreeMap, HashMap, VecDeque};

use atoll_cdp::Session;
use serde_json::Value;

use super::exchange::{Exchange, HeaderList, Response, headers};

/// Where an event came from.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Origin<'a> {
    /// Who can be asked for bodies.
    pub(super) session: Option<&'a Session>,
    /// The tab it belongs to.
    pub(super) tab: Option<&'a str>,
    /// The main frame, where the event came from a page itself.
    pub(super) main_frame: Option<&'a str>,
}

/// A page whose requests are in the log.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) url: String,
    pub(super) started: f64,
}

/// The log.
#[derive(Debug)]
pub(super) struct Log {
    most: usize,
    /// Number of the first exchange kept.
    first: u64,
    exchanges: VecDeque<Exchange>,
    requests: HashMap<String, Hops>,
    pages: BTreeMap<u64, Page>,
    latest_page: u64,
    /// The page each tab shows.
    shown: HashMap<String, u64>,
}

/// What is known of one request id: its exchanges, one per redirect, and what came before they did.
#[derive(Debug, Default)]
struct Hops {
    numbers: Vec<u64>,
    sent: Vec<Option<HeaderList>>,
    received: Vec<Option<(HeaderList, Option<u16>)>>,
    route: Option<String>,
}

/// Requests of which something is known that never began; more are forgotten.
const STRAY: usize = 1000;

impl Log {
    /// Keeps this many requests.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            first: 0,
            exchanges: VecDeque::new(),
            requests: HashMap::new(),
            pages: BTreeMap::new(),
            latest_page: 0,
            shown: HashMap::new(),
        }
    }

    /// Takes note of an event.
    pub(super) fn event(&mut self, origin: Origin<'_>, method: &str, params: &Value) {
        let id = params["requestId"].as_str().unwrap_or_default();
        match method {
            "Network.requestWillBeSent" => self.begin(origin, id, params),
            "Network.requestWillBeSentExtraInfo" => {
                self.hops(id).sent.push(Some(headers(&params["headers"])));
                self.settle(id);
            }
            "Network.responseReceivedExtraInfo" => {
                let status = params["statusCode"].as_u64().and_then(|code| code.try_into().ok());
                self.hops(id).received.push(Some((headers(&params["headers"]), status)));
                self.settle(id);
            }
            "Network.requestServedFromCache" => {
                if let Some(exchange) = self.latest(id) {
                    exchange.response.get_or_insert_default().from_cache = true;
                }
            }
            "Network.responseReceived" => {
                if let Some(exchange) = self.latest(id) {
                    exchange.answered(&params["response"]);
                    exchange.session = origin.session.cloned();
                }
                self.settle(id);
            }
            "Network.dataReceived" => {
                if let Some(exchange) = self.latest(id) {
                    exchange.body_bytes += params["dataLength"].as_u64().unwrap_or_default();
                }
            }
            "Network.loadingFinished" => {
                if let Some(exchange) = self.latest(id) {
                    let bytes = params["encodedDataLength"].as_f64().unwrap_or_default();
                    exchange.finish(params["timestamp"].as_f64(), whole(bytes), None);
                }
            }
            "Network.loadingFailed" => {
                if let Some(exchange) = self.latest(id) {
                    let error = params["errorText"].as_str().unwrap_or("failed");
                    let error = if error.is_empty() { "cancelled" } else { error };
                    exchange.finish(params["timestamp"].as_f64(), 0, Some(error.to_owned()));
                }
            }
            _ => self.socket(origin, id, method, params),
        }
    }

    /// Notes which route decided on a request, which may not have begun yet.
    pub(super) fn note_route(&mut self, id: &str, pattern: &str) {
        self.hops(id).route = Some(pattern.to_owned());
        self.settle(id);
    }

    /// The latest exchanges whose address fits, oldest first.
    pub(super) fn select(&self, fits: impl Fn(&str) -> bool, most: usize) -> Vec<Exchange> {
        let fitting = self.exchanges.iter().rev().filter(|exchange| fits(&exchange.url));
        let mut latest: Vec<_> = fitting.take(most).cloned().collect();
        latest.reverse();
        latest
    }

    /// The pages the log knows of, by number.
    pub(super) fn pages(&self) -> &BTreeMap<u64, Page> {
        &self.pages
    }

    /// Forgets everything that has ended.
    pub(super) fn clear(&mut self) {
        self.first += self.exchanges.len() as u64;
        self.exchanges.clear();
        self.requests.clear();
        let shown: Vec<u64> = self.shown.values().copied().collect();
        self.pages.retain(|number, _| shown.contains(number));
    }

    /// A tab is gone.
    pub(super) fn closed(&mut self, tab: &str) {
        self.shown.remove(tab);
    }

    fn begin(&mut self, origin: Origin<'_>, id: &str, params: &Value) {
        let mut exchange = Exchange::begin(params);
        let redirect = &params["redirectResponse"];
        if redirect.is_object() {
            if let Some(previous) = self.latest(id) {
                previous.answered(redirect);
                let bytes = redirect["encodedDataLength"].as_f64().unwrap_or_default();
                previous.finish(params["timestamp"].as_f64(), whole(bytes), None);
            }
        } else if exchange.resource_type == "document"
            && origin.main_frame.is_some_and(|frame| params["frameId"] == frame)
            && let Some(tab) = origin.tab
        {
            self.latest_page += 1;
            let page = Page { url: exchange.url.clone(), started: exchange.started };
            self.pages.insert(self.latest_page, page);
            self.shown.insert(tab.to_owned(), self.latest_page);
            if self.pages.len() > self.most {
                self.pages.pop_first();
            }
        }
        exchange.page = origin.tab.and_then(|tab| self.shown.get(tab)).copied();
        self.push(id, exchange);
    }

    /// A WebSocket, which has events of its own.
    fn socket(&mut self, origin: Origin<'_>, id: &str, method: &str, params: &Value) {
        match method {
            "Network.webSocketCreated" => {
                let exchange = Exchange {
                    url: params["url"].as_str().unwrap_or_default().to_owned(),
                    method: "GET".to_owned(),
                    resource_type: "websocket".to_owned(),
                    started: now(),
                    request_id: id.to_owned(),
                    page: origin.tab.and_then(|tab| self.shown.get(tab)).copied(),
                    ..Exchange::default()
                };
                self.push(id, exchange);
            }
            "Network.webSocketWillSendHandshakeRequest" => {
                if let Some(exchange) = self.latest(id) {
                    exchange.headers = headers(&params["request"]["headers"]);
                    exchange.started = params["wallTime"].as_f64().unwrap_or(exchange.started);
                    exchange.clock = params["timestamp"].as_f64().unwrap_or_default();
                }
            }
            "Network.webSocketHandshakeResponseReceived" => {
                if let Some(exchange) = self.latest(id) {
                    exchange.answered(&params["response"]);
                }
            }
            "Network.webSocketFrameError" => {
                if let Some(exchange) = self.latest(id) {
                    let error = params["errorMessage"].as_str().unwrap_or("failed").to_owned();
                    exchange.finish(params["timestamp"].as_f64(), 0, Some(error));
                }
            }
            "Network.webSocketClosed" => {
                if let Some(exchange) = self.latest(id)
                    && exchange.end.is_none()
                {
                    exchange.finish(params["timestamp"].as_f64(), 0, None);
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, id: &str, exchange: Exchange) {
        let number = self.first + self.exchanges.len() as u64;
        self.exchanges.push_back(exchange);
        self.hops(id).numbers.push(number);
        self.settle(id);
        while self.exchanges.len() > self.most {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.exchanges.pop_front() else { return };
        self.first += 1;
        let first = self.first;
        if let Some(hops) = self.requests.get_mut(&oldest.request_id)
            && hops.numbers.iter().all(|number| *number < first)
        {
            self.requests.remove(&oldest.request_id);
        }
    }

    fn hops(&mut self, id: &str) -> &mut Hops {
        if self.requests.len() > self.most + STRAY {
            self.requests.retain(|_, hops| !hops.numbers.is_empty());
        }
        self.requests.entry(id.to_owned()).or_default()
    }

    fn latest(&mut self, id: &str) -> Option<&mut Exchange> {
        let number = *self.requests.get(id)?.numbers.last()?;
        self.numbered(number)
    }

    fn numbered(&mut self, number: u64) -> Option<&mut Exchange> {
        let place = number.checked_sub(self.first)?;
        self.exchanges.get_mut(usize::try_from(place).ok()?)
    }

    /// Gives exchanges what is known of them apart from the event they began with: the headers really sent and
    /// received, which come for each redirect in order, and the route.
    fn settle(&mut self, id: &str) {
        let Some(mut hops) = self.requests.remove(id) else { return };
        for (place, &number) in hops.numbers.iter().enumerate() {
            let Some(exchange) = self.numbered(number) else { continue };
            if let Some(sent) = hops.sent.get_mut(place).and_then(Option::take) {
                exchange.headers = sent;
            }
            if let Some(response) = &mut exchange.response
                && let Some((headers, status)) = hops.received.get_mut(place).and_then(Option::take)
            {
                response.headers = headers;
                response.status = status.unwrap_or(response.status);
            }
        }
        if let Some(exchange) = hops.numbers.last().and_then(|&number| self.numbered(number)) {
            exchange.route = hops.route.take().or(exchange.route.take());
        }
        self.requests.insert(id.to_owned(), hops);
    }
}

impl Exchange {
    fn answered(&mut self, response: &Value) {
        let cached = self.response.as_ref().is_some_and(|known| known.from_cache);
        let mut response = Response::read(response);
        response.from_cache |= cached;
        self.response = Some(response);
    }
}

/// A count that the browser writes as a floating point number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn whole(number: f64) -> u64 {
    number as u64
}

/// Seconds since 1970.
fn now() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests;
