//! What this server offers beside operations: health, metrics, the API's description and the pages people open.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::assets::{self, XTERM, cached, page};
use crate::dialect::aio;
use crate::endpoint::Endpoint;
use crate::face::Shared;
use crate::origin::context;
use crate::passage::{Passage, Served};
use crate::{dashboard, swagger, vnc};

const TEXT: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Routes to every page.
pub(crate) fn router(endpoints: &[Arc<Endpoint>], version: &str, shared: &Arc<Shared>) -> Router {
    let health = Bytes::from(json!({"status": "ok", "version": version}).to_string());
    let described =
        endpoints.iter().find(|endpoint| endpoint.bound().spec().id == "sandbox_get_context");
    let described = described.cloned();
    let figures = Arc::clone(shared);

    let mut pages = Pages::new(shared);
    pages.add("/health", move |_| page("application/json", health.clone()));
    pages
        .add_for("/metrics", Some("system:read"), move |_| page(METRICS, figures.metrics.render()));
    pages.add("/v1/openapi.json", description(endpoints, version));
    pages.add("/docs", |_| redirect("v1/docs"));
    pages.add("/favicon.ico", |_| empty(StatusCode::NO_CONTENT));
    pages.add_dashboard();
    for file in XTERM {
        pages.add(file.path, assets::serve(file));
    }
    for file in swagger::files() {
        let serve = assets::serve(file);
        let policy = swagger::policy(&shared.ancestors);
        pages.add(file.path, move |request| with_policy(serve(request), &policy));
    }
    for path in ["/vnc", "/vnc/"] {
        let to = if path.ends_with('/') { "index.html" } else { "vnc/index.html" };
        pages.add(path, move |request| redirect_with_query(to, request));
    }
    let desktop = vnc::files().map(|file| (file, "desktop:read"));
    let browser = vnc::BROWSER_UI.iter().map(|file| (file, "browser:write"));
    for (file, scope) in desktop.chain(browser) {
        let serve = assets::serve(file);
        let policy = vnc::policy(&shared.ancestors);
        let answer = move |request: &Request| with_policy(serve(request), &policy);
        pages.add_for(file.path, Some(scope), answer);
    }
    let served = pages.served("/llms.txt");
    let handler = move |request: Request| async move {
        let passage = Passage::of(request.extensions());
        passage.serve(&served);
        if let Err(failure) = passage.permit("system:read") {
            return aio::failure(&failure, None);
        }
        manual(described.as_deref(), &request.into_parts().0).await
    };
    pages.router.route("/llms.txt", get(handler))
}

/// The OpenAPI document.
fn description(
    endpoints: &[Arc<Endpoint>],
    version: &str,
) -> impl Fn(&Request) -> Response + Clone + Send + Sync + 'static {
    let (endpoints, version) = (endpoints.to_vec(), version.to_owned());
    cached("application/json", move || {
        let declarations = endpoints.iter().map(|endpoint| endpoint.bound().declaration());
        Bytes::from(aio::openapi(declarations, &version).to_string())
    })
}

/// The router so far.
struct Pages<'a> {
    router: Router,
    shared: &'a Arc<Shared>,
}

impl<'a> Pages<'a> {
    fn new(shared: &'a Arc<Shared>) -> Self {
        let router = Router::new();
        Self { router, shared }
    }

    fn served(&self, path: &'static str) -> Served {
        Served::new(&self.shared.metrics, path, path)
    }

    fn add(
        &mut self,
        path: &'static str,
        answer: impl Fn(&Request) -> Response + Clone + Send + Sync + 'static,
    ) {
        self.add_for(path, None, answer);
    }

    /// The dashboard and the terminal; without them the front page leads to the API.
    fn add_dashboard(&mut self) {
        let files = dashboard::files(&self.shared.ancestors);
        if files.is_empty() {
            self.add("/", |_| redirect("v1/docs"));
        }
        for dashboard::Served { path, file, scope, policy } in files {
            let serve = assets::serve(file);
            self.add_for(path, scope, move |request| {
                let response = serve(request);
                match &policy {
                    Some(policy) => with_policy(response, policy),
                    None => response,
                }
            });
        }
        for (path, to) in dashboard::TERMINALS {
            self.add(path, move |request| redirect_with_query(to, request));
        }
        for (path, to) in dashboard::PROGRAMS {
            self.add(path, move |request| redirect_with_query(to, request));
        }
    }

    /// A page for those who have this scope.
    fn add_for(
        &mut self,
        path: &'static str,
        scope: Option<&'static str>,
        answer: impl Fn(&Request) -> Response + Clone + Send + Sync + 'static,
    ) {
        let served = self.served(path);
        let handler = async move |request: Request| {
            let passage = Passage::of(request.extensions());
            passage.serve(&served);
            match scope.map_or(Ok(()), |scope| passage.permit(scope)) {
                Ok(()) => answer(&request),
                Err(failure) => aio::failure(&failure, None),
            }
        };
        self.router = std::mem::take(&mut self.router).route(path, get(handler));
    }
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Leads on by a relative address, which holds behind a path prefix too.
fn redirect(to: &'static str) -> Response {
    let mut response = empty(StatusCode::TEMPORARY_REDIRECT);
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(to));
    response
}

/// The same, keeping what the address says behind the path.
fn redirect_with_query(to: &'static str, request: &Request) -> Response {
    let mut response = redirect(to);
    let join = if to.contains('?') { '&' } else { '?' };
    let query = request.uri().query().map(|query| format!("{to}{join}{query}"));
    if let Some(Ok(to)) = query.map(|to| HeaderValue::from_str(&to)) {
        response.headers_mut().insert(header::LOCATION, to);
    }
    response
}

fn with_policy(mut response: Response, policy: &HeaderValue) -> Response {
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy.clone());
    response
}

/// The manual for agents: what this sandbox is, and where the API is described.
async fn manual(described: Option<&Endpoint>, request: &Parts) -> Response {
    let Some(bound) = described.map(Endpoint::bound) else {
        return page(TEXT, "API documentation: /v1/docs\nOpenAPI document: /v1/openapi.json\n");
    };
    let passage = Passage::of(&request.extensions);
    let cx = context(passage.id(), &request.headers, &request.uri, bound.input_shape());
    let [docs, document] = ["/v1/docs", "/v1/openapi.json"].map(|path| cx.link(path, &[]));
    match bound.call(cx, Value::Null).await {
        Ok(result) => {
            let text = result["text"].as_str().unwrap_or_default().trim_end();
            let links = format!("API documentation: {docs}\nOpenAPI document: {document}\n");
            page(TEXT, format!("{text}\n\n{links}"))
        }
        Err(error) => aio::failure(&error.into(), Some(bound.spec())),
    }
}
