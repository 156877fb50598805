//! The whole face: what happens to a request from its head to the head of its answer.
//!
//! In order: it is watched from now on, the guard judges where it comes from, its credential says who sends it, the
//! router finds its operation or page, which asks whether the sender may, and a panic becomes a 500.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use atoll_api::system::Limits;
use atoll_auth::{AuditLog, Authenticator};
use atoll_operation::{Method, Registry, Shape};
use atoll_proxy::Proxy;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::{MethodFilter, any, on};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::admission::{self, Admitted, Standing};
use crate::arrival::Arrival;
use crate::dialect::deep_agent::{ROUTES, Rooms};
use crate::dialect::{Failure, aio};
use crate::endpoint::Endpoint;
use crate::guard::{Guard, Verdict};
use crate::metrics::Metrics;
use crate::mount::Mount;
use crate::pages;
use crate::passage::{Served, Watch};
use crate::preview::{BESIDE_THE_PATH, Knowing, Named, Visiting};

/// Bytes of a request's target; what is larger belongs into a body.
const TARGET_BYTES: usize = 32 << 10;

/// What every request has to do with.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Knows who may come in.
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) audit: Option<Arc<AuditLog>>,
    /// Who may show our pages in a frame.
    pub(crate) ancestors: String,
    /// What a browser may do with an answer that says nothing else: show it, run nothing.
    pub(crate) policy: HeaderValue,
    pub(crate) limits: Arc<Limits>,
    pub(crate) metrics: Metrics,
    /// Connections to the servers behind windows.
    pub(crate) proxy: Proxy<Body>,
    /// Apps that know the path above them.
    pub(crate) knowing: Knowing,
    /// Cancelled when the server begins to stop: streams end.
    pub(crate) stop: CancellationToken,
    /// Cancelled when its time is over: everything ends.
    pub(crate) kill: CancellationToken,
    /// Connections and WebSockets that a stop waits for.
    pub(crate) tracker: TaskTracker,
}

impl Shared {
    /// What a server that asks for nothing starts with.
    pub(crate) fn new(limits: Arc<Limits>, metrics: Metrics, stop: CancellationToken) -> Self {
        let ancestors = "frame-ancestors 'self'".to_owned();
        Self {
            authenticator: Arc::default(),
            audit: None,
            policy: policy(&ancestors),
            ancestors,
            limits,
            metrics,
            proxy: Proxy::default(),
            knowing: Knowing::default(),
            stop,
            kill: CancellationToken::new(),
            tracker: TaskTracker::new(),
        }
    }

    /// The same for one that asks for credentials, or writes down who came.
    pub(crate) fn guarded_by(
        self,
        authenticator: Arc<Authenticator>,
        audit: Option<Arc<AuditLog>>,
    ) -> Self {
        Self { authenticator, audit, ..self }
    }

    /// The same for one whose pages others may show in a frame.
    pub(crate) fn shown_by(self, origins: &[String]) -> Self {
        let plain = |origin: &&String| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b":/.-[]".contains(&byte);
            !origin.is_empty() && origin.bytes().all(allowed)
        };
        let others = origins.iter().filter(plain).map(|origin| format!(" {origin}"));
        let ancestors = self.ancestors.clone() + &others.collect::<String>();
        Self { policy: policy(&ancestors), ancestors, ..self }
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

fn policy(ancestors: &str) -> HeaderValue {
    let strict = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    HeaderValue::from_str(&format!("default-src 'none'; {ancestors}")).unwrap_or(strict)
}

/// The router with everything round it.
#[derive(Debug)]
pub(crate) struct Face {
    router: Router,
    /// Answers for apps that are named beside the path.
    apps: Option<Arc<Endpoint>>,
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
        mounts: Vec<Mount>,
        shared: Arc<Shared>,
    ) -> Self {
        let rooms = Arc::new(Rooms::of(&registry));
        let endpoints: Vec<_> = registry
            .into_operations()
            .into_iter()
            .map(|bound| Arc::new(Endpoint::new(bound, &rooms, &shared)))
            .collect();
        let apps = endpoints.iter().find(|each| each.bound().spec().id == BESIDE_THE_PATH).cloned();
        let mut router = pages::router(&endpoints, version, &shared);
        for endpoint in endpoints {
            let spec = *endpoint.bound().spec();
            for route in ROUTES.iter().filter(|route| route.operation == spec.id) {
                let endpoint = Arc::new(endpoint.by(route));
                let handler = move |request: Request| async move { endpoint.answer(request).await };
                router = router.route(route.path, on(filter(route.method), handler));
            }
            let handler = move |request: Request| async move { endpoint.answer(request).await };
            if spec.shape == Shape::Window {
                for below in ["", "/", "/{*below}"] {
                    router = router.route(&format!("{}{below}", spec.path), any(handler.clone()));
                }
            } else if spec.remainder {
                let (above, last) = spec.path.rsplit_once('{').unwrap_or((spec.path, ""));
                let path = format!("{above}{{*{last}");
                router = router.route(&path, on(filter(spec.method), handler));
            } else {
                router = router.route(spec.path, on(filter(spec.method), handler));
            }
        }
        for mount in mounts {
            router = mount.add_to(router, &shared);
        }
        let unserved = Served::new(&shared.metrics, "none", "none");
        Self {
            router: router.fallback(unknown_path).method_not_allowed_fallback(unknown_method),
            apps,
            guard,
            shared,
            unserved,
        }
    }

    /// Answers a request.
    pub(crate) async fn answer(&self, mut request: Request) -> Response {
        let watch = Watch::begin(&mut request, &self.shared, &self.unserved);
        let in_host = || self.guard.named_port(request.headers());
        if let Some(named) = Named::of(request.headers(), in_host) {
            request.extensions_mut().insert(named);
        }
        let target = request.uri().path_and_query().map_or("", |target| target.as_str());
        let verdict = if target.len() > TARGET_BYTES {
            Verdict::Refused(too_long())
        } else {
            self.guard.judge(&request)
        };
        let mut response = match verdict {
            Verdict::Refused(failure) => aio::failure(&failure, None),
            Verdict::Preflight(headers) => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                response.headers_mut().extend(headers);
                response
            }
            Verdict::Admitted { headers, own } => {
                let mut response = self.authenticate(request, own, &watch).await;
                response.headers_mut().extend(headers);
                response
            }
        };
        watch.finish(&mut response);
        response
    }

    /// Answers a request of somebody who is let in.
    async fn authenticate(&self, mut request: Request, own: bool, watch: &Watch) -> Response {
        let authenticator = &self.shared.authenticator;
        let Admitted { standing, visit } = match admission::admit(authenticator, &request, own) {
            Ok(admitted) => admitted,
            Err(failure) => {
                let (parts, body) = request.into_parts();
                Arrival::new(&parts.headers, body).drain().await;
                let mut response = aio::failure(&failure, None);
                admission::challenge(&mut response);
                return response;
            }
        };
        watch.passage().admit(standing.clone());
        if visit.is_some() {
            request.extensions_mut().insert(Visiting);
        }
        let mut response = self.route(request, watch.id()).await;
        if let (Some(visit), Standing::Known(principal)) = (visit, standing) {
            visit.welcome(authenticator, &principal, watch.passage(), &mut response);
        }
        response
    }

    async fn route(&self, request: Request, id: &str) -> Response {
        let named = request.extensions().get::<Named>().is_some();
        let routed = async {
            match &self.apps {
                Some(apps) if named => Ok(apps.answer(request).await),
                _ => self.router.clone().oneshot(request).await,
            }
        };
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

fn too_long() -> Failure {
    Failure::new(
        StatusCode::URI_TOO_LONG,
        "request.target",
        format!("the path and query have more than {TARGET_BYTES} bytes; send values in the body"),
    )
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
