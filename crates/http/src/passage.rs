//! One request's way through this face: the id it goes by, who served it, and the line logged when it is over.
//!
//! The line is written when the answer's head is ready, or when the client went away before that, so that no request
//! passes unseen. Nothing of a body or a query is in it.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Extensions, Method, StatusCode};
use axum::response::Response;
use uuid::Uuid;

use crate::metrics::{Counted, Metrics, Series};

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The status logged for a client that did not wait.
const CLIENT_LEFT: u16 = 499;

/// Who serves a route, for the log and the metrics.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    series: Arc<Series>,
    route: &'static str,
}

impl Served {
    pub(crate) fn new(metrics: &Metrics, operation: &'static str, route: &'static str) -> Self {
        let series = metrics.series(operation);
        Self { series, route }
    }
}

/// What travels with a request, in its extensions.
#[derive(Debug, Default)]
pub(crate) struct Passage {
    id: String,
    served: OnceLock<Served>,
}

impl Passage {
    /// The passage of the request with these extensions.
    pub(crate) fn of(extensions: &Extensions) -> Arc<Self> {
        extensions.get().cloned().unwrap_or_default()
    }

    /// The id the request is logged under.
    pub(crate) fn id(&self) -> &str {
        &self.id
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
    _counted: Counted,
}

impl Watch {
    /// Begins to watch a request; `unserved` stands for those nobody serves.
    pub(crate) fn begin(request: &mut Request, metrics: &Metrics, unserved: &Served) -> Self {
        let passage =
            Arc::new(Passage { id: request_id(request.headers()), served: OnceLock::new() });
        request.extensions_mut().insert(Arc::clone(&passage));
        Self {
            passage,
            method: request.method().clone(),
            started: Instant::now(),
            status: None,
            unserved: unserved.clone(),
            _counted: metrics.request(),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.passage.id
    }

    /// The answer is ready.
    pub(crate) fn finish(mut self, response: &mut Response) {
        self.status = Some(response.status());
        let headers = response.headers_mut();
        if let Ok(id) = HeaderValue::from_str(self.id()) {
            headers.insert(&REQUEST_ID, id);
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let status = self.status.map_or(CLIENT_LEFT, |status| status.as_u16());
        let took = self.started.elapsed();
        let served = self.passage.served.get().unwrap_or(&self.unserved);
        served.series.record(status, took);
        tracing::info!(
            method = self.method.as_str(),
            route = served.route,
            operation = served.series.operation(),
            status,
            duration_ms = took.as_secs_f64() * 1000.0,
            request_id = self.passage.id,
            "request"
        );
    }
}

/// The caller's id if it is a sane one, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let sane = |id: &&str| {
        (1..=128).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    let sent = headers.get(&REQUEST_ID).and_then(|id| id.to_str().ok());
    sent.filter(sane).map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
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
        for odd in ["", "a b", "x\u{e9}", &"a".repeat(129), "a\"b"] {
            assert_eq!(of(odd).len(), 36, "{odd}");
        }
    }
}
