//! One operation behind its route: read the input, call, word the answer.

use std::error::Error as _;
use std::sync::Arc;

use atoll_operation::{Bound, Context, Error, Shape, Source};
use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::http::request::Parts;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::arrival::Arrival;
use crate::dialect::deep_agent::{Rooms, Route};
use crate::dialect::{Asked, Failure, Tongue, unencodable};
use crate::face::Shared;
use crate::origin::context;
use crate::passage::{Passage, Served};
use crate::preview::{self, Place};
use crate::request::{self, BodyLimit};
use crate::sse::Framing;
use crate::{sse, transfer, websocket, window};

/// Answered to whoever has a good credential, whatever its scopes: it says only that, and what they are.
const ANYBODY: [&str; 1] = ["auth_authenticate"];

/// An operation and what its requests share.
#[derive(Debug)]
pub(crate) struct Endpoint {
    bound: Arc<Bound>,
    served: Served,
    shared: Arc<Shared>,
    rooms: Arc<Rooms>,
    /// The way it is reached, where that is not its own.
    route: Option<&'static Route>,
}

impl Endpoint {
    pub(crate) fn new(bound: Arc<Bound>, rooms: &Arc<Rooms>, shared: &Arc<Shared>) -> Self {
        let spec = bound.spec();
        let mut served = Served::new(&shared.metrics, spec.id, spec.path);
        if spec.shape == Shape::Window {
            served = served.through_window();
        }
        if spec.scope == preview::SCOPE {
            served = served.through_app();
        }
        let (rooms, shared) = (Arc::clone(rooms), Arc::clone(shared));
        Self { bound, served, shared, rooms, route: None }
    }

    /// The same, reached by another route.
    pub(crate) fn by(&self, route: &'static Route) -> Self {
        Self {
            bound: Arc::clone(&self.bound),
            served: Served::new(&self.shared.metrics, self.bound.spec().id, route.path),
            shared: Arc::clone(&self.shared),
            rooms: Arc::clone(&self.rooms),
            route: Some(route),
        }
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
        let mut tongue = Tongue::of(&parts.headers, self.route);
        let permitted =
            if ANYBODY.contains(&spec.id) { Ok(()) } else { passage.permit(spec.scope) };
        let ready = match permitted {
            Ok(()) if tongue.has_base(spec) => {
                let cx = self.context(&parts);
                tongue.settle(&parts.headers, spec, &self.rooms, &cx).await
            }
            permitted => permitted,
        };
        if let Err(failure) = ready {
            Arrival::new(&parts.headers, body).drain().await;
            return tongue.failure(&failure, spec);
        }
        let outcome = match spec.shape {
            Shape::Conversation => self.converse(&tongue, parts, body).await,
            Shape::Unary | Shape::Streaming => self.carry_out(&tongue, parts, body).await,
            // Apart, since what they hold is large and most requests are neither.
            Shape::Upload => Box::pin(self.receive(&tongue, parts, body)).await,
            Shape::Download => self.send(&tongue, parts, body).await,
            Shape::Window => Box::pin(self.look_through(parts, body)).await,
        };
        let mut response = outcome.unwrap_or_else(|failure| tongue.failure(&failure, spec));
        if response.status() == StatusCode::UPGRADE_REQUIRED {
            let protocol = HeaderValue::from_static("websocket");
            response.headers_mut().insert(header::UPGRADE, protocol);
        }
        response
    }

    async fn carry_out(
        &self,
        tongue: &Tongue,
        mut parts: Parts,
        body: Body,
    ) -> Result<Response, Failure> {
        let (cx, input, asked) = self.read(tongue, &mut parts, body).await?;
        if self.bound.streams() && (tongue.streams() || sse::is_wanted(&parts.headers)) {
            let events = self.bound.stream(cx.clone(), input).await;
            let events = events.map_err(|error| self.failed(&cx, error));
            let framing = if tongue.streams() { Framing::Enclosed } else { Framing::Named };
            let events = match events {
                Ok(events) => tongue.events(asked, events),
                Err(failure) => {
                    let told = tongue.failed_stream(&failure, self.bound.spec());
                    told.ok_or(failure)?
                }
            };
            return Ok(sse::respond(events, framing, &cx, &self.shared));
        }
        let result = self.bound.call(cx.clone(), input).await;
        let result = result.map_err(|error| self.failed(&cx, error))?;
        Ok(tongue.success(self.bound.spec(), asked, result, cx.take_hint().as_deref()))
    }

    /// Opens the conversation before the connection changes over, so that a refusal is an ordinary answer.
    async fn converse(
        &self,
        tongue: &Tongue,
        mut parts: Parts,
        body: Body,
    ) -> Result<Response, Failure> {
        let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await;
        let upgrade = upgrade.map_err(|rejection| {
            Failure::new(
                StatusCode::UPGRADE_REQUIRED,
                "request.upgrade",
                format!("connect to {} with a WebSocket: {rejection}", self.bound.spec().path),
            )
        })?;
        let (cx, input, _) = self.read(tongue, &mut parts, body).await?;
        let (up, messages) = websocket::channel();
        let down = self.bound.converse(cx.clone(), input, messages).await;
        let down = down.map_err(|error| self.failed(&cx, error))?;
        Ok(websocket::respond(upgrade, up, down, cx, &self.shared))
    }

    async fn receive(
        &self,
        tongue: &Tongue,
        mut parts: Parts,
        body: Body,
    ) -> Result<Response, Failure> {
        let cx = self.context(&parts);
        let spec = self.bound.spec();
        let limit = BodyLimit {
            bytes: self.shared.limits.upload_bytes,
            name: "upload_bytes",
            advice: "send it in parts and put them together here",
        };
        let reading = tongue.reading(spec);
        let received =
            transfer::receive(&self.bound, &cx, &mut parts, body, reading, limit).await?;
        let result = received.map_err(|error| self.failed(&cx, error))?;
        Ok(tongue.success(spec, Asked::Plainly, result, cx.take_hint().as_deref()))
    }

    async fn send(
        &self,
        tongue: &Tongue,
        mut parts: Parts,
        body: Body,
    ) -> Result<Response, Failure> {
        let (cx, input, asked) = self.read(tongue, &mut parts, body).await?;
        let content = self.bound.fetch(cx.clone(), input).await;
        let mut content = content.map_err(|error| self.failed(&cx, error))?;
        let spec = self.bound.spec();
        if let Some(field) = tongue.encoded_as() {
            let Source::Bytes(bytes) = content.source else {
                return Err(unencodable(spec).into());
            };
            let result = json!({field: STANDARD.encode(bytes)});
            return Ok(tongue.success(spec, asked, result, cx.take_hint().as_deref()));
        }
        Tongue::present(spec, &parts.uri, &mut content);
        Ok(transfer::respond(content, &parts, self.bound.spec(), &cx, &self.shared))
    }

    /// Passes the request on to the server behind the window.
    async fn look_through(&self, mut parts: Parts, body: Body) -> Result<Response, Failure> {
        let cx = self.context(&parts);
        let Place { base, input } = Place::of(self.bound.spec().path, &mut parts)?;
        Passage::of(&parts.extensions).stand_at(&base);
        let upstream = self.bound.open(cx.clone(), input).await;
        let upstream = upstream.map_err(|error| self.failed(&cx, error))?;
        let request = Request::from_parts(parts, body);
        window::pass(upstream, &base, request, &self.shared).await
    }

    async fn read(
        &self,
        tongue: &Tongue,
        parts: &mut Parts,
        body: Body,
    ) -> Result<(Context, Value, Asked), Failure> {
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
        let (shape, reading) = (self.bound.input_shape(), tongue.reading(spec));
        let mut input = request::read_input(parts, body, shape, reading, limit).await?;
        let asked = tongue.understand(spec, &mut input)?;
        Ok((self.context(parts), input, asked))
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
