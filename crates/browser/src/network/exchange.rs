//! One request and what came of it.

use std::time::Duration;

use atoll_cdp::Session;
use serde_json::{Map, Value};

/// Characters of an address that are kept: one that carries its content itself may have millions.
const ADDRESS: usize = 8 << 10;
/// Characters of all headers together, and of what was sent, that are kept.
const HEADERS: usize = 32 << 10;
const SENT: usize = 16 << 10;

/// Names and values, in the order they came.
pub type HeaderList = Vec<(String, String)>;

/// A request and what came of it.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    /// Its address.
    pub url: String,
    /// Its method.
    pub method: String,
    /// What it was for, in small letters: `document`, `script`, `xhr`.
    pub resource_type: String,
    /// When it began, in seconds since 1970.
    pub started: f64,
    /// Its headers.
    pub headers: HeaderList,
    /// What was sent with it, or the beginning of that.
    pub sent: Option<String>,
    /// The answer, once it has begun.
    pub response: Option<Response>,
    /// How it ended, once it has.
    pub end: Option<End>,
    /// Pattern of the route that decided on it.
    pub route: Option<String>,
    pub(super) request_id: String,
    /// The page of the log it belongs to.
    pub(super) page: Option<u64>,
    /// When it began by the browser's own clock.
    pub(super) clock: f64,
    /// Bytes of the body so far, unpacked.
    pub(super) body_bytes: u64,
    /// Who can be asked for the body.
    pub(super) session: Option<Session>,
}

/// The head of an answer.
#[derive(Debug, Clone, Default)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// The words that go with it.
    pub status_text: String,
    /// Its headers.
    pub headers: HeaderList,
    /// Media type of its body.
    pub mime_type: String,
    /// Whether it came from a cache.
    pub from_cache: bool,
    pub(super) protocol: String,
    pub(super) server: Option<String>,
    pub(super) timing: Option<Map<String, Value>>,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// How long it took.
    pub took: Duration,
    /// Bytes that came over the network.
    pub transferred: u64,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

impl Exchange {
    /// What `Network.requestWillBeSent` says.
    pub(super) fn begin(params: &Value) -> Self {
        let request = &params["request"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            url: cut(&address(request), ADDRESS),
            method: text(&request["method"]),
            resource_type: text(&params["type"]).to_ascii_lowercase(),
            started: params["wallTime"].as_f64().unwrap_or_default(),
            headers: headers(&request["headers"]),
            sent: request["postData"].as_str().map(|sent| cut(sent, SENT)),
            request_id: text(&params["requestId"]),
            clock: params["timestamp"].as_f64().unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Ends it at this time of the browser's clock.
    pub(super) fn finish(&mut self, clock: Option<f64>, transferred: u64, error: Option<String>) {
        let seconds = clock.map_or(0.0, |clock| clock - self.clock);
        let took = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        self.end = Some(End { took, transferred, error });
    }
}

impl Response {
    /// What the browser says of an answer.
    pub(super) fn read(response: &Value) -> Self {
        let text = |name: &str| response[name].as_str().unwrap_or_default().to_owned();
        let flag = |name: &str| response[name].as_bool().unwrap_or_default();
        let status = response["status"].as_u64().unwrap_or_default();
        Self {
            status: u16::try_from(status).unwrap_or_default(),
            status_text: cut(&text("statusText"), 1000),
            headers: headers(&response["headers"]),
            mime_type: text("mimeType"),
            from_cache: flag("fromDiskCache") || flag("fromPrefetchCache"),
            protocol: text("protocol"),
            server: response["remoteIPAddress"].as_str().map(str::to_owned),
            timing: response["timing"].as_object().cloned(),
        }
    }
}

/// The address with its fragment, which the browser keeps apart.
fn address(request: &Value) -> String {
    let url = request["url"].as_str().unwrap_or_default();
    let fragment = request["urlFragment"].as_str().unwrap_or_default();
    format!("{url}{fragment}")
}

/// Headers as a list; one that came several times has its values on several lines.
pub(super) fn headers(value: &Value) -> HeaderList {
    let mut left = HEADERS;
    let mut list = Vec::new();
    for (name, values) in value.as_object().into_iter().flatten() {
        for value in values.as_str().unwrap_or_default().split('\n') {
            let value = cut(value, left);
            left = left.saturating_sub(name.len() + value.len());
            list.push((name.clone(), value));
            if left == 0 {
                return list;
            }
        }
    }
    list
}

/// At most this many bytes of a text, with a mark where it was cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", &text[..end])
}
