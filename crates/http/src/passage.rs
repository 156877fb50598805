//! One request's way through this face: the id it goes by, who served it, and the line logged when it is over.
//!
//! The line is written when the answer's head is ready, or when the client went away before that, so that no request
//! passes unseen; for apps, which have logs of their own, only at `debug`. Nothing of a body or a query is in it.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use atoll_auth::{AuditRecord, Principal};

use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Extensions, Method, StatusCode};
use axum::response::Response;
use uuid::Uuid;

use crate::admission::{self, Standing};
use crate::dialect::Failure;
use crate::face::Shared;
use crate::metrics::{Counted, Metrics, Series};

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The same to clients of another family.
static LOG_ID: HeaderName = HeaderName::from_static("x-log-id");
/// The status logged for a client that did not wait.
const CLIENT_LEFT: u16 = 499;

/// Who serves a route, for the log and the metrics.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    series: Arc<Series>,
    route: &'static str,
    /// Whether another program answers; then everything below the route is its.
    window: bool,
    /// Whether that program is an app of the sandbox's user, whose answers are its own in everything.
    app: bool,
}

impl Served {
    pub(crate) fn new(metrics: &Metrics, operation: &'static str, route: &'static str) -> Self {
        let series = metrics.series(operation);
        Self { series, route, window: false, app: false }
    }

    /// The same for a route below which another program answers.
    pub(crate) fn through_window(self) -> Self {
        Self { window: true, ..self }
    }

    /// The same for one below which an app answers.
    pub(crate) fn through_app(self) -> Self {
        Self { window: true, app: true, ..self }
    }
}

/// What travels with a request, in its extensions.
#[derive(Debug, Default)]
pub(crate) struct Passage {
    id: String,
    served: OnceLock<Served>,
    standing: OnceLock<Standing>,
    /// The path of the window, where its route does not say it.
    base: OnceLock<String>,
    peer: Option<IpAddr>,
}

/// The address a request came from, in its extensions; none for a unix socket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) Option<IpAddr>);

impl Passage {
    /// The passage of the request with these extensions.
    pub(crate) fn of(extensions: &Extensions) -> Arc<Self> {
        extensions.get().cloned().unwrap_or_default()
    }

    /// The id the request is logged under.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Notes as whom the request goes on.
    pub(crate) fn admit(&self, standing: Standing) {
        self.standing.get_or_init(|| standing);
    }

    /// Who sent the request, where that matters.
    pub(crate) fn principal(&self) -> Option<&Arc<Principal>> {
        match self.standing.get()? {
            Standing::Public => None,
            Standing::Known(principal) => Some(principal),
        }
    }

    /// Refuses what the sender may not do.
    pub(crate) fn permit(&self, scope: &str) -> Result<(), Failure> {
        admission::permit(self.standing.get(), scope)
    }

    /// The path below which the page lies that the request was for.
    pub(crate) fn base(&self) -> &str {
        let route =
            || self.served.get().filter(|served| served.window).map_or("/", |served| served.route);
        self.base.get().map_or_else(route, String::as_str)
    }

    /// Notes the path of the window the request was for.
    pub(crate) fn stand_at(&self, base: &str) {
        self.base.get_or_init(|| if base.is_empty() { "/" } else { base }.to_owned());
    }

    /// Whether an app answers.
    pub(crate) fn is_for_app(&self) -> bool {
        self.served.get().is_some_and(|served| served.app)
    }

    /// The address the request came from; none for a unix socket.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    /// Notes who serves the request; the first to say so counts.
    pub(crate) fn serve(&self, served: &Served) {
        self.served.get_or_init(|| served.clone());
    }
}

/// Watches a request until its answer has a head.
#[derive(Debug)]
pub(crate) struct Watch {
    passage: Arc<Passage>,
    method: Method,
    started: Instant,
    status: Option<StatusCode>,
    unserved: Served,
    peer: Option<IpAddr>,
    forwarded_for: Option<String>,
    shared: Arc<Shared>,
    _counted: Counted,
}

impl Watch {
    /// Begins to watch a request; `unserved` stands for those nobody serves.
    pub(crate) fn begin(request: &mut Request, shared: &Arc<Shared>, unserved: &Served) -> Self {
        let id = request_id(request.headers());
        let peer = request.extensions_mut().remove::<Peer>().and_then(|peer| peer.0);
        let passage = Arc::new(Passage { id, peer, ..Passage::default() });
        request.extensions_mut().insert(Arc::clone(&passage));
        let recorded = shared.audit.is_some();
        Self {
            passage,
            method: request.method().clone(),
            started: Instant::now(),
            status: None,
            unserved: unserved.clone(),
            peer,
            forwarded_for: recorded.then(|| forwarded_for(request.headers())).flatten(),
            shared: Arc::clone(shared),
            _counted: shared.metrics.request(),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.passage.id
    }

    pub(crate) fn passage(&self) -> &Passage {
        &self.passage
    }

    /// The answer is ready.
    pub(crate) fn finish(mut self, response: &mut Response) {
        self.status = Some(response.status());
        let headers = response.headers_mut();
        let app = self.passage.is_for_app();
        if let Ok(id) = HeaderValue::from_str(self.id())
            && !(app && headers.contains_key(&REQUEST_ID))
        {
            headers.insert(&REQUEST_ID, id);
        }
        if app {
            // What a browser may do with an app's page is the app's to say.
            return;
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        let window = self.passage.served.get().is_some_and(|served| served.window);
        if !window && !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
            headers.insert(header::CONTENT_SECURITY_POLICY, self.shared.policy.clone());
        }
    }

    fn record(&self, served: &Served, status: u16) {
        let public = matches!(self.passage.standing.get(), Some(Standing::Public));
        if let Some(audit) = self.shared.audit.as_ref().filter(|_| !public) {
            let ip = self.peer.map(|ip| ip.to_string());
            audit.record(&AuditRecord {
                principal: self.passage.principal().map(Arc::as_ref),
                ip: ip.as_deref(),
                forwarded_for: self.forwarded_for.as_deref(),
                method: self.method.as_str(),
                route: served.route,
                operation: served.series.operation(),
                status,
                took: self.started.elapsed(),
                request_id: &self.passage.id,
            });
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let status = self.status.map_or(CLIENT_LEFT, |status| status.as_u16());
        let took = self.started.elapsed();
        let served = self.passage.served.get().unwrap_or(&self.unserved);
        served.series.record(status, took);
        self.record(served, status);
        macro_rules! tell {
            ($level:ident) => {
                tracing::$level!(
                    method = self.method.as_str(),
                    route = served.route,
                    operation = served.series.operation(),
                    status,
                    duration_ms = took.as_secs_f64() * 1000.0,
                    request_id = self.passage.id,
                    "request"
                )
            };
        }
        // What an app answers is in its own log; a page of it asks for hundreds of files.
        if served.app && !matches!(status, 401 | 403) {
            tell!(debug);
        } else {
            tell!(info);
        }
    }
}

/// The address nearest to the caller that proxies name, if it looks like one.
fn forwarded_for(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("x-forwarded-for")?.to_str().ok()?;
    let first = value.split(',').next()?.trim();
    first.parse::<IpAddr>().ok().map(|ip| ip.to_string())
}

/// The caller's id if it is a sane one, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let sane = |id: &&str| {
        (1..=128).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    let names = [&REQUEST_ID, &LOG_ID].into_iter();
    let mut sent = names.filter_map(|name| headers.get(name)?.to_str().ok());
    sent.find(sane).map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_request_id_is_kept_when_it_is_sane() {
        let of = |id: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(&REQUEST_ID, id.parse().unwrap());
            request_id(&headers)
        };
        assert_eq!(of("trace-1.a_B"), "trace-1.a_B");
        let logged: HeaderMap =
            [(LOG_ID.clone(), HeaderValue::from_static("log-1"))].into_iter().collect();
        assert_eq!(request_id(&logged), "log-1");
        for odd in ["", "a b", "x\u{e9}", &"a".repeat(129), "a\"b"] {
            assert_eq!(of(odd).len(), 36, "{odd}");
        }
    }
}
