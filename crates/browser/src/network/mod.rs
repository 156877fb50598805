//! The requests of a context: a log of them from the first on, answers made up for them, headers added to them.
//!
//! A request is stopped on its way only while a route or an origin's headers ask for it; the log and headers for all
//! cost nothing. What is decided here holds for every target of the context, also for those that come later: each is
//! told before it runs.

mod address;
mod exchange;
mod har;
mod headers;
mod log;
mod routes;
mod stub;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atoll_cdp::{CdpError, Event};
use serde_json::{Value, json};

use self::har::Body;
use self::headers::Headers;
use self::log::{Log, Origin};
use self::routes::Routes;
use crate::Result;
use crate::options::Options;
use crate::pattern::UrlPattern;
use crate::target::{Kind, Target};

pub(crate) use self::address::Address;
pub use self::exchange::{End, Exchange, HeaderList, Response};
pub use self::headers::HeaderMap;
pub use self::routes::{Answer, Mock};

/// How long a target may take to hear of a change. One whose page is busy hears of it when it is not.
const TELL: Duration = Duration::from_secs(5);
/// Origins that are remembered for saving their storage; the latest ones.
const ORIGINS: usize = 1000;
/// Bytes of one body, and of all, that an archive carries.
const BODY: u64 = 1 << 20;
const BODIES: u64 = 32 << 20;
/// Bodies asked for at once.
const ASKED: usize = 32;

/// Why something could not be done with requests.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A header that cannot be sent.
    #[error("the header {name:?} cannot be used: {reason}")]
    Header {
        /// Its name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// Not an origin.
    #[error(
        "{origin:?} is no origin; write scheme, host and port only, such as https://api.example.com"
    )]
    Origin {
        /// What was given.
        origin: String,
    },
    /// No route has this pattern.
    #[error("there is no route {pattern:?}; there are: {}", list(.known))]
    NoSuchRoute {
        /// The pattern.
        pattern: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// As many routes as there may be.
    #[error(
        "there are {max} routes already, and no more are allowed; remove one, or use a wider pattern"
    )]
    TooManyRoutes {
        /// How many there may be.
        max: usize,
    },
}

fn list(patterns: &[String]) -> String {
    if patterns.is_empty() { "none".to_owned() } else { patterns.join(", ") }
}

/// The requests of one context.
#[derive(Debug)]
pub struct Network {
    state: Mutex<State>,
    /// Held while targets are told of a change, so that they hear of changes in order.
    telling: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct State {
    headers: Headers,
    routes: Routes,
    log: Log,
    targets: HashMap<String, Target>,
    /// Sessions whose every request gets an empty page.
    stubs: HashSet<String>,
    /// Origins that pages have been opened of, the latest last.
    origins: VecDeque<String>,
}

impl Network {
    /// Nothing added, nothing logged.
    pub fn new(options: &Options) -> Self {
        let state = State {
            headers: Headers::default(),
            routes: Routes::default(),
            log: Log::new(options.limits.network_entries),
            targets: HashMap::new(),
            stubs: HashSet::new(),
            origins: VecDeque::new(),
        };
        Self { state: Mutex::new(state), telling: tokio::sync::Mutex::default() }
    }

    /// A target is about to run.
    pub async fn attach(&self, target: &Target) -> Result<(), CdpError> {
        let commands = {
            let mut state = self.state();
            state.targets.insert(target.session.id().to_owned(), target.clone());
            let mut commands = Vec::new();
            if !state.headers.all.is_empty() {
                commands.push(state.extra_headers());
            }
            if state.intercepts() {
                commands.extend(INTERCEPT.map(|(method, params)| (method, params())));
            }
            commands
        };
        if commands.is_empty() {
            return Ok(());
        }
        tell(std::slice::from_ref(target), &commands).await
    }

    /// A `Network.*` or `Fetch.*` event.
    pub fn event(&self, target: &Target, event: &Arc<Event>) {
        let mut state = self.state();
        if event.method == "Fetch.requestPaused" {
            state.decide(target, &event.params);
            return;
        }
        if state.stubs.contains(target.session.id()) {
            return;
        }
        if event.method == "Network.requestWillBeSent" && event.params["type"] == "Document" {
            state.visit(event.params["request"]["url"].as_str().unwrap_or_default());
        }
        let tab = match target.kind {
            Kind::Page => Some(Arc::clone(&target.id)),
            Kind::Frame | Kind::Worker => target.tab().map(|tab| Arc::from(tab.id())),
        };
        let main_frame = (target.kind == Kind::Page).then_some(&*target.id);
        let origin = Origin { session: Some(&target.session), tab: tab.as_deref(), main_frame };
        state.log.event(origin, &event.method, &event.params);
    }

    /// A target is gone.
    pub fn detached(&self, target: &Target) {
        let mut state = self.state();
        state.targets.remove(target.session.id());
        state.stubs.remove(target.session.id());
        state.log.closed(&target.id);
    }

    /// Adds headers to every request, in place of those added before.
    pub async fn set_headers(&self, headers: HeaderMap) -> Result<()> {
        headers::check(&headers)?;
        let _turn = self.telling.lock().await;
        let (command, targets) = {
            let mut state = self.state();
            state.headers.all = headers;
            (state.extra_headers(), state.targets())
        };
        Ok(tell(&targets, &[command]).await?)
    }

    /// Adds headers to the requests to one origin, in place of those added for it; the origin in its usual form.
    pub async fn set_scoped_headers(&self, origin: &str, headers: HeaderMap) -> Result<String> {
        headers::check(&headers)?;
        let change = |state: &mut State| Ok(state.headers.scope(origin, headers)?);
        self.change(change).await
    }

    /// Adds a route as the strongest, in place of one with the same pattern; the patterns in force, strongest first.
    pub async fn add_route(&self, pattern: &str, answer: Answer) -> Result<Vec<String>> {
        self.change(|state| {
            state.routes.add(pattern, answer)?;
            Ok(state.routes.patterns())
        })
        .await
    }

    /// Removes a route; the patterns in force, strongest first.
    pub async fn remove_route(&self, pattern: &str) -> Result<Vec<String>> {
        self.change(|state| {
            state.routes.remove(pattern)?;
            Ok(state.routes.patterns())
        })
        .await
    }

    /// The latest requests, oldest first, whose address contains a text or fits a pattern.
    pub fn requests(&self, filter: Option<&str>, most: usize) -> Result<Vec<Exchange>> {
        let Some(filter) = filter.filter(|filter| !filter.is_empty()) else {
            return Ok(self.state().log.select(|_| true, most));
        };
        let between_slashes = filter.len() > 1
            && filter.starts_with('/')
            && filter[1..].contains('/')
            && filter.ends_with(['/', 'i']);
        let is_pattern = filter.contains('*') || between_slashes;
        if !is_pattern {
            return Ok(self.state().log.select(|url| url.contains(filter), most));
        }
        let pattern = UrlPattern::parse(filter)?;
        Ok(self.state().log.select(|url| pattern.matches(url), most))
    }

    /// Forgets the requests so far.
    pub fn clear(&self) {
        self.state().log.clear();
    }

    /// The log as an HTTP Archive, with the bodies of texts that the browser still has; and how many entries it has.
    pub async fn archive(&self, browser: &str) -> (Value, usize) {
        let (mut exchanges, pages) = {
            let state = self.state();
            (state.log.select(|_| true, usize::MAX), state.log.pages().clone())
        };
        // Events of different processes may overtake each other.
        exchanges.sort_by(|one, other| one.started.total_cmp(&other.started));
        let bodies = bodies(&exchanges).await;
        (har::archive(&exchanges, &pages, &bodies, browser), exchanges.len())
    }

    /// Origins that pages and frames have been opened of.
    pub(crate) fn origins(&self) -> Vec<String> {
        self.state().origins.iter().cloned().collect()
    }

    /// Changes what is decided on requests, and whether they are stopped on their way at all.
    async fn change<T>(&self, change: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let _turn = self.telling.lock().await;
        let (result, commands, targets) = {
            let mut state = self.state();
            let before = state.intercepts();
            let result = change(&mut state)?;
            let commands = match (before, state.intercepts()) {
                (false, true) => INTERCEPT.map(|(method, params)| (method, params())).to_vec(),
                (true, false) => RELEASE.map(|(method, params)| (method, params())).to_vec(),
                _ => Vec::new(),
            };
            (result, commands, state.targets())
        };
        tell(&targets, &commands).await?;
        Ok(result)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Command = (&'static str, Value);
/// A command whose parameters are made when it is sent.
type Recipe = (&'static str, fn() -> Value);

/// Stops every request on its way. Caches would answer some without asking.
const INTERCEPT: [Recipe; 2] = [
    ("Network.setCacheDisabled", || json!({"cacheDisabled": true})),
    ("Fetch.enable", || json!({"patterns": [{"urlPattern": "*", "requestStage": "Request"}]})),
];
const RELEASE: [Recipe; 2] = [
    ("Fetch.disable", || json!({})),
    ("Network.setCacheDisabled", || json!({"cacheDisabled": false})),
];

impl State {
    fn intercepts(&self) -> bool {
        self.headers.scoped() || !self.routes.is_empty()
    }

    fn extra_headers(&self) -> Command {
        ("Network.setExtraHTTPHeaders", json!({"headers": self.headers.all}))
    }

    fn targets(&self) -> Vec<Target> {
        self.targets.values().cloned().collect()
    }

    /// Lets a request that was stopped pass, fail or be answered.
    fn decide(&mut self, target: &Target, params: &Value) {
        let id = params["requestId"].as_str().unwrap_or_default();
        let request = &params["request"];
        let url = request["url"].as_str().unwrap_or_default();
        let (method, order) = if self.stubs.contains(target.session.id()) {
            ("Fetch.fulfillRequest", stub::empty_page(id))
        } else {
            match self.routes.find(url) {
                Some((pattern, Answer::Mock(mock))) => {
                    let order = mock.fulfilment(id, request);
                    note(&mut self.log, params, pattern);
                    ("Fetch.fulfillRequest", order)
                }
                Some((pattern, Answer::Abort)) => {
                    note(&mut self.log, params, pattern);
                    (
                        "Fetch.failRequest",
                        json!({"requestId": id, "errorReason": "BlockedByClient"}),
                    )
                }
                Some((_, Answer::Pass)) | None => {
                    let mut order = json!({"requestId": id});
                    if let Some(headers) = self.headers.for_request(url, &request["headers"]) {
                        order["headers"] = headers;
                    }
                    ("Fetch.continueRequest", order)
                }
            }
        };
        // A request that was given up meanwhile cannot be answered, and need not be.
        if let Err(error) = target.session.start(method, order) {
            tracing::debug!(%error, "a request was not decided on");
        }
    }

    /// Remembers an origin as the latest.
    fn visit(&mut self, url: &str) {
        let address = Address::parse(url);
        let web = address.filter(|address| matches!(address.scheme.as_str(), "http" | "https"));
        let Some(origin) = web.map(|address| address.origin()) else { return };
        self.origins.retain(|known| *known != origin);
        self.origins.push_back(origin);
        if self.origins.len() > ORIGINS {
            self.origins.pop_front();
        }
    }
}

fn note(log: &mut Log, params: &Value, pattern: &str) {
    if let Some(id) = params["networkId"].as_str() {
        log.note_route(id, pattern);
    }
}

/// Gives targets commands, all at once. Those that are gone or cannot do it, as some workers cannot, do not matter.
async fn tell(targets: &[Target], commands: &[Command]) -> Result<(), CdpError> {
    let mut replies = Vec::new();
    for target in targets {
        for (method, params) in commands {
            match target.session.start(method, params.clone()) {
                Ok(reply) => replies.push((target.kind, reply.within(TELL))),
                Err(CdpError::SessionGone { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    let (kinds, replies): (Vec<_>, Vec<_>) = replies.into_iter().unzip();
    for (kind, answer) in kinds.into_iter().zip(futures::future::join_all(replies).await) {
        match answer {
            Ok(_) | Err(CdpError::SessionGone { .. } | CdpError::Timeout { .. }) => {}
            Err(CdpError::Refused { .. }) if kind == Kind::Worker => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Bodies of texts that are not too large, as far as the browser still has them, by position.
async fn bodies(exchanges: &[Exchange]) -> HashMap<usize, Body> {
    let mut left = BODIES;
    let mut wanted = Vec::new();
    // Of the latest ones there is most hope.
    for (place, exchange) in exchanges.iter().enumerate().rev() {
        let Some(session) = &exchange.session else { continue };
        let textual =
            exchange.response.as_ref().is_some_and(|response| is_text(&response.mime_type));
        let complete = exchange.end.as_ref().is_some_and(|end| end.error.is_none());
        let size = exchange.body_bytes;
        if textual && complete && (1..=BODY).contains(&size) && size <= left {
            left -= size;
            wanted.push((place, session, &exchange.request_id));
        }
    }
    let mut bodies = HashMap::new();
    for some in wanted.chunks(ASKED) {
        let asked = some.iter().map(async |(place, session, id)| {
            let params = json!({"requestId": id});
            let answer =
                session.command_within("Network.getResponseBody", params, TELL).await.ok()?;
            let text = answer["body"].as_str()?.to_owned();
            Some((*place, Body { text, base64: answer["base64Encoded"] == true }))
        });
        bodies.extend(futures::future::join_all(asked).await.into_iter().flatten());
    }
    bodies
}

fn is_text(mime_type: &str) -> bool {
    let kind = mime_type.to_ascii_lowercase();
    kind.starts_with("text/")
        || ["json", "javascript", "ecmascript", "xml", "x-www-form-urlencoded"]
            .iter()
            .any(|word| kind.contains(word))
}

/// When an exchange began, as a date.
pub fn date(exchange: &Exchange) -> String {
    har::time(exchange.started)
}
