//! The whole face: what happens to a request from its head to the head of its answer.
//!
//! In order: it is watched from now on, the guard judges it, the router finds its operation or page, and a panic
//! becomes a 500.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use atoll_api::system::Limits;
use atoll_operation::{Method, Registry, Shape};
use atoll_proxy::Proxy;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{MethodFilter, any, on};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::dialect::{Failure, aio};
use crate::endpoint::Endpoint;
use crate::guard::{Guard, Verdict};
use crate::metrics::Metrics;
use crate::pages;
use crate::passage::{Served, Watch};

/// What every request has to do with.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) limits: Arc<Limits>,
    pub(crate) metrics: Metrics,
    /// Connections to the servers behind windows.
    pub(crate) proxy: Proxy,
    /// Cancelled when the server begins to stop: streams end.
    pub(crate) stop: CancellationToken,
    /// Cancelled when its time is over: everything ends.
    pub(crate) kill: CancellationToken,
    /// Connections and WebSockets that a stop waits for.
    pub(crate) tracker: TaskTracker,
}

impl Shared {
    pub(crate) fn new(limits: Arc<Limits>, metrics: Metrics, stop: CancellationToken) -> Self {
        Self {
            limits,
            metrics,
            proxy: Proxy::default(),
            stop,
            kill: CancellationToken::new(),
            tracker: TaskTracker::new(),
        }
    }

    /// Counts and logs a panic that was caught.
    pub(crate) fn panicked(&self, panic: &(dyn Any + Send), request_id: &str) {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref().map(String::as_str));
        let cause = text.unwrap_or("a panic without a message");
        tracing::error!(request_id, cause, "panicked");
        self.metrics.panicked();
    }
}

/// The router with everything round it.
#[derive(Debug)]
pub(crate) struct Face {
    router: Router,
    guard: Guard,
    shared: Arc<Shared>,
    /// Requests that met neither an operation nor a page.
    unserved: Served,
}

impl Face {
    pub(crate) fn new(
        registry: Registry,
        guard: Guard,
        version: &str,
        shared: Arc<Shared>,
    ) -> Self {
        let endpoints: Vec<_> = registry
            .into_operations()
            .into_iter()
            .map(|bound| Arc::new(Endpoint::new(bound, &shared)))
            .collect();
        let mut router = pages::router(&endpoints, version, &shared);
        for endpoint in endpoints {
            let spec = *endpoint.bound().spec();
            let handler = move |request: Request| async move { endpoint.answer(request).await };
            if spec.shape == Shape::Window {
                for below in ["", "/", "/{*below}"] {
                    router = router.route(&format!("{}{below}", spec.path), any(handler.clone()));
                }
            } else {
                router = router.route(spec.path, on(filter(spec.method), handler));
            }
        }
        let unserved = Served::new(&shared.metrics, "none", "none");
        Self {
            router: router.fallback(unknown_path).method_not_allowed_fallback(unknown_method),
            guard,
            shared,
            unserved,
        }
    }

    /// Answers a request.
    pub(crate) async fn answer(&self, mut request: Request) -> Response {
        let watch = Watch::begin(&mut request, &self.shared.metrics, &self.unserved);
        let verdict = self.guard.judge(&request);
        let mut response = match verdict {
            Verdict::Refused(failure) => aio::failure(&failure, None),
            Verdict::Preflight(headers) => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                response.headers_mut().extend(headers);
                response
            }
            Verdict::Admitted(headers) => {
                let mut response = self.route(request, watch.id()).await;
                response.headers_mut().extend(headers);
                response
            }
        };
        watch.finish(&mut response);
        response
    }

    async fn route(&self, request: Request, id: &str) -> Response {
        let routed = self.router.clone().oneshot(request);
        match AssertUnwindSafe(routed).catch_unwind().await {
            Ok(Ok(response)) => response,
            Ok(Err(impossible)) => match impossible {},
            Err(panic) => {
                self.shared.panicked(panic.as_ref(), id);
                aio::failure(&Failure::panicked(), None)
            }
        }
    }
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}

async fn unknown_path(request: Request) -> Response {
    let failure = Failure::new(
        StatusCode::NOT_FOUND,
        "request.unknown_path",
        format!("there is nothing at {}; /v1/docs lists what there is", request.uri().path()),
    );
    aio::failure(&failure, None)
}

async fn unknown_method(request: Request) -> Response {
    let failure = Failure::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "request.method",
        format!(
            "{} is not answered at {}; the Allow header says what is",
            request.method(),
            request.uri().path()
        ),
    );
    aio::failure(&failure, None)
}
