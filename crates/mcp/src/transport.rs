//! Streamable HTTP, as forgiving as clients need it.
//!
//! rmcp speaks the protocol: sessions, streams, resumption, the revision without sessions. It insists on what the
//! specification says clients must send. Real ones do not: documentation shows a bare `{"method", "params"}`, scripts
//! accept only JSON, agents forget their session. Such a request is completed here and answered at once, as JSON. What
//! cannot be meant is refused as JSON-RPC wants it. Host and origin were judged before a request comes here.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::Mcp;
use crate::server::Server;

/// A body on its way in or out.
pub type Body = UnsyncBoxBody<Bytes, Box<dyn StdError + Send + Sync>>;

static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const STREAM: &str = "text/event-stream";
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// The revision from which on there are no sessions and every request describes itself.
const SESSIONLESS: &str = "2026-07-28";
const VERSION_FIELD: &str = "io.modelcontextprotocol/protocolVersion";
/// How long a client may take over a body.
const PATIENCE: Duration = Duration::from_mins(2);

/// JSON-RPC's codes.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const TOO_MANY: i64 = -32000;

/// Answers requests.
pub(crate) struct Transport {
    sessions: Arc<LocalSessionManager>,
    with_sessions: StreamableHttpService<Server, LocalSessionManager>,
    without: StreamableHttpService<Server, NeverSessionManager>,
    body_bytes: usize,
    most_sessions: usize,
}

/// What is wrong with a request.
struct Refusal {
    status: StatusCode,
    code: i64,
    message: String,
    id: Value,
}

impl Refusal {
    fn new(status: StatusCode, code: i64, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), id: Value::Null }
    }

    fn into_response(self) -> Response<Body> {
        let error = json!({"code": self.code, "message": self.message});
        let body = json!({"jsonrpc": "2.0", "id": self.id, "error": error}).to_string();
        let mut response = Response::new(whole(body));
        *response.status_mut() = self.status;
        response.headers_mut().insert(header::CONTENT_TYPE, JSON);
        response
    }
}

impl Transport {
    pub(crate) fn new(mcp: &Mcp, stop: &CancellationToken) -> Self {
        let limits = &mcp.shared().limits;
        let count = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let body_bytes = count(limits.large_body_bytes);
        let mut manager = LocalSessionManager::default();
        let idle = Duration::from_secs(limits.mcp_session_idle_seconds);
        manager.session_config.keep_alive = Some(idle);
        let sessions = Arc::new(manager);
        let config = || {
            StreamableHttpServerConfig::default()
                .disable_allowed_hosts()
                .disable_allowed_origins()
                .with_json_response(true)
                .with_cancellation_token(stop.clone())
                .with_max_request_body_bytes(body_bytes)
        };
        let factory = |mcp: &Mcp| {
            let mcp = mcp.clone();
            move || Ok(Server::new(mcp.clone()))
        };
        let with_sessions =
            StreamableHttpService::new(factory(mcp), Arc::clone(&sessions), config());
        let without = StreamableHttpService::new(
            factory(mcp),
            Arc::new(NeverSessionManager::default()),
            config().with_legacy_session_mode(false),
        );
        let most_sessions = count(limits.mcp_sessions);
        Self { sessions, with_sessions, without, body_bytes, most_sessions }
    }

    pub(crate) async fn sessions(&self) -> usize {
        self.sessions.sessions.read().await.len()
    }

    pub(crate) async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let answered = match parts.method {
            Method::POST => self.post(parts, body).await,
            Method::GET if !accepts(&parts.headers, STREAM) => Err(Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                INVALID_REQUEST,
                "this is an MCP endpoint: give its address to an MCP client, or POST JSON-RPC to it",
            )),
            _ => Ok(self.with_sessions.handle(Request::from_parts(parts, body)).await.map(boxed)),
        };
        answered.unwrap_or_else(Refusal::into_response)
    }

    async fn post(&self, mut parts: Parts, body: Body) -> Result<Response<Body>, Refusal> {
        let bytes = self.read(body).await?;
        let mut message = parse(&bytes)?;
        let streams = accepts(&parts.headers, STREAM);
        let session = parts.headers.contains_key(&SESSION);
        let opens = message.get("method").and_then(Value::as_str) == Some("initialize");
        complete(&mut parts.headers);
        if is_sessionless(&parts.headers, &message) {
            return Ok(send(&self.with_sessions, parts, bytes).await);
        }
        if streams && (session || opens) {
            if opens && !session && self.sessions().await >= self.most_sessions {
                let most = self.most_sessions;
                let message = format!(
                    "there are {most} sessions already (mcp_sessions of /v1/limits); end some with DELETE, or call without one"
                );
                return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, TOO_MANY, message));
            }
            return Ok(send(&self.with_sessions, parts, bytes).await);
        }
        if session && !self.knows_session(&parts.headers).await {
            let advice = "there is no such session: initialize again, or call without one";
            return Err(Refusal::new(StatusCode::NOT_FOUND, TOO_MANY, advice));
        }
        parts.headers.remove(&SESSION);
        fill_in(&mut message, streams);
        let completed = serde_json::to_vec(&message).unwrap_or_default();
        Ok(send(&self.without, parts, completed.into()).await)
    }

    async fn knows_session(&self, headers: &HeaderMap) -> bool {
        let Some(id) = headers.get(&SESSION).and_then(|id| id.to_str().ok()) else {
            return false;
        };
        self.sessions.sessions.read().await.contains_key(id)
    }

    async fn read(&self, mut body: Body) -> Result<Bytes, Refusal> {
        let reading = async {
            let mut bytes = BytesMut::new();
            let mut over = false;
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| {
                    let message = format!("the body could not be read: {error}");
                    Refusal::new(StatusCode::BAD_REQUEST, PARSE_ERROR, message)
                })?;
                let Ok(data) = frame.into_data() else { continue };
                // What is too much is read on and dropped, so that the refusal reaches a client that is still sending.
                over |= bytes.len() + data.len() > self.body_bytes;
                if !over {
                    bytes.extend_from_slice(&data);
                }
            }
            if over {
                let most = self.body_bytes;
                let message =
                    format!("a message has at most {most} bytes (large_body_bytes of /v1/limits)");
                return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, INVALID_REQUEST, message));
            }
            Ok(bytes.freeze())
        };
        tokio::time::timeout(PATIENCE, reading).await.unwrap_or_else(|_| {
            let message = "the body stopped arriving; send it without pauses";
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, INVALID_REQUEST, message))
        })
    }
}

async fn send<M: SessionManager>(
    service: &StreamableHttpService<Server, M>,
    parts: Parts,
    body: Bytes,
) -> Response<Body> {
    service.handle(Request::from_parts(parts, Full::new(body))).await.map(boxed)
}

/// The one message a body holds.
fn parse(bytes: &[u8]) -> Result<Map<String, Value>, Refusal> {
    let bad = |code, message: String| Refusal::new(StatusCode::BAD_REQUEST, code, message);
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| bad(PARSE_ERROR, format!("the body is not JSON: {error}")))?;
    let message = match value {
        Value::Object(message) => message,
        Value::Array(_) => {
            let advice = "batches are not part of MCP any more: send one message per request";
            return Err(bad(INVALID_REQUEST, advice.to_owned()));
        }
        _ => return Err(bad(INVALID_REQUEST, "the body is no JSON-RPC message".to_owned())),
    };
    let wrong = |problem: &str| {
        let mut refusal = bad(INVALID_REQUEST, problem.to_owned());
        refusal.id = message.get("id").filter(|id| is_id(id)).cloned().unwrap_or_default();
        refusal
    };
    match message.get("method") {
        Some(Value::String(_)) => {}
        Some(_) => return Err(wrong("method must be text")),
        None if message.contains_key("result") || message.contains_key("error") => {}
        None => return Err(wrong("the message has no method")),
    }
    if message.get("jsonrpc").is_some_and(|version| version != "2.0") {
        return Err(wrong("jsonrpc must be \"2.0\""));
    }
    if message.get("id").is_some_and(|id| !is_id(id) && !id.is_null()) {
        return Err(wrong("id must be text or a whole number"));
    }
    if message.get("params").is_some_and(|params| !params.is_object() && !params.is_null()) {
        return Err(wrong("params must be an object"));
    }
    Ok(message)
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// Whether a request is of the revision that knows no sessions.
fn is_sessionless(headers: &HeaderMap, message: &Map<String, Value>) -> bool {
    let version = headers.get(&VERSION).and_then(|version| version.to_str().ok());
    let meta = message.get("params").and_then(|params| params.get("_meta"));
    version.is_some_and(|version| version >= SESSIONLESS)
        || meta.is_some_and(|meta| meta.get(VERSION_FIELD).is_some())
        || message.get("method").and_then(Value::as_str) == Some("server/discover")
}

/// Adds the headers rmcp insists on.
fn complete(headers: &mut HeaderMap) {
    headers.insert(header::ACCEPT, BOTH);
    headers.insert(header::CONTENT_TYPE, JSON);
}

/// Adds what a message without a session may lack.
fn fill_in(message: &mut Map<String, Value>, streams: bool) {
    message.entry("jsonrpc").or_insert_with(|| json!("2.0"));
    let notifies = message
        .get("method")
        .and_then(Value::as_str)
        .is_none_or(|method| method.starts_with("notifications/"));
    if !notifies && message.get("id").is_none_or(Value::is_null) {
        message.insert("id".to_owned(), json!(1));
    }
    if message.get("params").is_some_and(Value::is_null) {
        message.remove("params");
    }
    // Who takes only one answer cannot be told of progress.
    if !streams
        && let Some(Value::Object(params)) = message.get_mut("params")
        && let Some(Value::Object(meta)) = params.get_mut("_meta")
    {
        meta.remove("progressToken");
    }
    // An `initialize` may lack everything when somebody only tries it.
    if message.get("method").and_then(Value::as_str) == Some("initialize") {
        let params = message.entry("params").or_insert_with(|| json!({}));
        if let Value::Object(params) = params {
            params.entry("protocolVersion").or_insert_with(|| json!("2025-06-18"));
            params.entry("capabilities").or_insert_with(|| json!({}));
            params
                .entry("clientInfo")
                .or_insert_with(|| json!({"name": "unknown", "version": "0"}));
        }
    }
}

fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let mut accepted =
        headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.contains(media_type))
}

fn whole(text: String) -> Body {
    Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync()
}

fn boxed(body: http_body_util::combinators::BoxBody<Bytes, std::convert::Infallible>) -> Body {
    body.map_err(|never| match never {}).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_call_is_completed() {
        let mut message =
            parse(br#"{"method": "tools/call", "params": {"name": "x"}}"#).ok().unwrap();
        fill_in(&mut message, false);
        assert_eq!(message["jsonrpc"], "2.0");
        assert_eq!(message["id"], 1);
        let mut notice = parse(br#"{"method": "notifications/initialized"}"#).ok().unwrap();
        fill_in(&mut notice, false);
        assert!(!notice.contains_key("id"));
    }

    #[test]
    fn what_is_no_message_is_refused_by_its_fault() {
        for (body, code, id) in [
            ("{", PARSE_ERROR, Value::Null),
            ("[]", INVALID_REQUEST, Value::Null),
            ("1", INVALID_REQUEST, Value::Null),
            ("{}", INVALID_REQUEST, Value::Null),
            (r#"{"id": 7}"#, INVALID_REQUEST, json!(7)),
            (r#"{"id": 7, "method": 1}"#, INVALID_REQUEST, json!(7)),
            (r#"{"id": {}, "method": "x"}"#, INVALID_REQUEST, Value::Null),
            (r#"{"id": 1, "method": "x", "params": []}"#, INVALID_REQUEST, json!(1)),
            (r#"{"id": 1, "method": "x", "jsonrpc": "1.0"}"#, INVALID_REQUEST, json!(1)),
        ] {
            let refusal = parse(body.as_bytes()).expect_err(body);
            assert_eq!((refusal.code, refusal.id), (code, id), "{body}");
        }
    }
}
