//! One operation behind its route: read the input, call, word the answer.

use std::error::Error as _;
use std::sync::Arc;

use atoll_operation::{Bound, Context, Error, Shape};
use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::http::request::Parts;
use axum::response::Response;
use serde_json::Value;

use crate::arrival::Arrival;
use crate::dialect::{Failure, aio};
use crate::face::Shared;
use crate::origin::context;
use crate::passage::{Passage, Served};
use crate::request::{self, BodyLimit};
use crate::{sse, transfer, websocket, window};

/// Answered to whoever has a good credential, whatever its scopes: it says only that, and what they are.
const ANYBODY: [&str; 1] = ["auth_authenticate"];

/// An operation and what its requests share.
#[derive(Debug)]
pub(crate) struct Endpoint {
    bound: Arc<Bound>,
    served: Served,
    shared: Arc<Shared>,
}

impl Endpoint {
    pub(crate) fn new(bound: Arc<Bound>, shared: &Arc<Shared>) -> Self {
        let spec = bound.spec();
        let mut served = Served::new(&shared.metrics, spec.id, spec.path);
        if spec.shape == Shape::Window {
            served = served.through_window();
        }
        Self { bound, served, shared: Arc::clone(shared) }
    }

    pub(crate) fn bound(&self) -> &Bound {
        &self.bound
    }

    /// Answers a request for this operation.
    pub(crate) async fn answer(&self, request: Request) -> Response {
        let passage = Passage::of(request.extensions());
        passage.serve(&self.served);
        let (parts, body) = request.into_parts();
        let spec = self.bound.spec();
        if !ANYBODY.contains(&spec.id)
            && let Err(failure) = passage.permit(spec.scope)
        {
            Arrival::new(&parts.headers, body).drain().await;
            return aio::failure(&failure, Some(spec));
        }
        let outcome = match spec.shape {
            Shape::Conversation => self.converse(parts, body).await,
            Shape::Unary | Shape::Streaming => self.carry_out(parts, body).await,
            Shape::Upload => self.receive(parts, body).await,
            Shape::Download => self.send(parts, body).await,
            Shape::Window => self.look_through(parts, body).await,
        };
        let mut response = outcome.unwrap_or_else(|failure| aio::failure(&failure, Some(spec)));
        if response.status() == StatusCode::UPGRADE_REQUIRED {
            let protocol = HeaderValue::from_static("websocket");
            response.headers_mut().insert(header::UPGRADE, protocol);
        }
        response
    }

    async fn carry_out(&self, mut parts: Parts, body: Body) -> Result<Response, Failure> {
        let (cx, input) = self.read(&mut parts, body).await?;
        if self.bound.streams() && sse::is_wanted(&parts.headers) {
            let events = self.bound.stream(cx.clone(), input).await;
            let events = events.map_err(|error| self.failed(&cx, error))?;
            return Ok(sse::respond(events, &cx, &self.shared));
        }
        let result = self.bound.call(cx.clone(), input).await;
        let result = result.map_err(|error| self.failed(&cx, error))?;
        Ok(aio::success(self.bound.spec(), result, cx.take_hint().as_deref()))
    }

    /// Opens the conversation before the connection changes over, so that a refusal is an ordinary answer.
    async fn converse(&self, mut parts: Parts, body: Body) -> Result<Response, Failure> {
        let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await;
        let upgrade = upgrade.map_err(|rejection| {
            Failure::new(
                StatusCode::UPGRADE_REQUIRED,
                "request.upgrade",
                format!("connect to {} with a WebSocket: {rejection}", self.bound.spec().path),
            )
        })?;
        let (cx, input) = self.read(&mut parts, body).await?;
        let (up, messages) = websocket::channel();
        let down = self.bound.converse(cx.clone(), input, messages).await;
        let down = down.map_err(|error| self.failed(&cx, error))?;
        Ok(websocket::respond(upgrade, up, down, cx, &self.shared))
    }

    async fn receive(&self, mut parts: Parts, body: Body) -> Result<Response, Failure> {
        let cx = self.context(&parts);
        let spec = self.bound.spec();
        let limit = BodyLimit {
            bytes: self.shared.limits.upload_bytes,
            name: "upload_bytes",
            advice: "send it in parts and put them together here",
        };
        let aliases = aio::aliases(spec.id);
        let received =
            transfer::receive(&self.bound, &cx, &mut parts, body, aliases, limit).await?;
        let result = received.map_err(|error| self.failed(&cx, error))?;
        Ok(aio::success(spec, result, cx.take_hint().as_deref()))
    }

    async fn send(&self, mut parts: Parts, body: Body) -> Result<Response, Failure> {
        let (cx, input) = self.read(&mut parts, body).await?;
        let content = self.bound.fetch(cx.clone(), input).await;
        let content = content.map_err(|error| self.failed(&cx, error))?;
        Ok(transfer::respond(content, &parts, self.bound.spec(), &cx, &self.shared))
    }

    /// Passes the request on to the server behind the window.
    async fn look_through(&self, parts: Parts, body: Body) -> Result<Response, Failure> {
        let cx = self.context(&parts);
        let upstream = self.bound.open(cx.clone(), Value::Null).await;
        let upstream = upstream.map_err(|error| self.failed(&cx, error))?;
        let request = Request::from_parts(parts, body);
        window::pass(upstream, self.bound.spec().path, request, &self.shared).await
    }

    async fn read(&self, parts: &mut Parts, body: Body) -> Result<(Context, Value), Failure> {
        let spec = self.bound.spec();
        let limits = &self.shared.limits;
        let limit = if spec.large_body {
            BodyLimit {
                bytes: limits.large_body_bytes,
                name: "large_body_bytes",
                advice: "send a file of any size to /v1/file/upload instead",
            }
        } else {
            BodyLimit {
                bytes: limits.request_body_bytes,
                name: "request_body_bytes",
                advice: "send less at a time",
            }
        };
        let (shape, aliases) = (self.bound.input_shape(), aio::aliases(spec.id));
        let input = request::read_input(parts, body, shape, aliases, limit).await?;
        Ok((self.context(parts), input))
    }

    fn context(&self, parts: &Parts) -> Context {
        let passage = Passage::of(&parts.extensions);
        let cx = context(passage.id(), &parts.headers, &parts.uri, self.bound.input_shape());
        let cx = match passage.principal().cloned() {
            Some(principal) => cx.called_by(principal),
            None => cx,
        };
        // An operation may carry out others, which ask for scopes of their own.
        cx.permitting(move |scope| passage.permit(scope).is_ok())
    }

    /// Logs the private cause of a failure, which the caller is not told.
    fn failed(&self, cx: &Context, error: Error) -> Failure {
        if let Some(cause) = error.source() {
            let (operation, request_id) = (self.bound.spec().id, cx.request_id());
            let chain = std::iter::successors(Some(cause), |cause| (*cause).source());
            let cause = chain.map(ToString::to_string).collect::<Vec<_>>().join(": ");
            tracing::warn!(operation, request_id, code = error.code(), %error, cause, "failed");
        }
        error.into()
    }
}
