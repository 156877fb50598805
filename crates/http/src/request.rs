//! Reads a request into one input object: path, query and JSON body together.
//!
//! An empty body is `{}`, whatever its content type. The same field in two places is refused, since a proxy and the
//! server might otherwise each believe another one; parameters the operation does not know are left out, since clients
//! append tickets and routing hints. A body over the limit is never held in memory: it is read on and dropped for a
//! while, so that the refusal reaches a client that is still sending.

use std::time::Duration;

use atoll_operation::{Error, FieldError, InputShape, Kind};
use axum::RequestPartsExt;
use axum::body::{Body, HttpBody};
use axum::extract::RawPathParams;
use axum::http::StatusCode;
use axum::http::header;
use axum::http::request::Parts;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::dialect::Failure;
use crate::dialect::aio::Alias;

/// How long a client may stay silent in the middle of a body.
const BODY_PATIENCE: Duration = Duration::from_secs(30);
/// How much of a refused body is read on, and for how long.
const DRAIN_BYTES: usize = 64 << 20;
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

/// The input a request carries for an operation of this shape.
pub(crate) async fn read_input(
    parts: &mut Parts,
    body: Body,
    shape: &InputShape,
    aliases: &[Alias],
    body_limit: u64,
) -> Result<Value, Failure> {
    let bytes = read_body(parts, body, body_limit).await?;
    let mut input = match parse(&bytes)? {
        Value::Null => Map::new(),
        Value::Object(input) => input,
        // Nothing can be merged into it; the shape names the mistake.
        other => return Ok(other),
    };
    let Ok(path) = parts.extract::<RawPathParams>().await else {
        return Err(Failure::new(
            StatusCode::BAD_REQUEST,
            "request.path",
            "the path holds bytes that are not UTF-8",
        ));
    };
    for (name, text) in &path {
        add(&mut input, name, shape.coerce_text(name, text))?;
    }
    let query = parts.uri.query().unwrap_or_default();
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        let alias = aliases.iter().find(|alias| alias.alias == name);
        if shape.declares(&name) {
            add(&mut input, &name, shape.coerce_text(&name, &text))?;
        } else if let Some(alias) = alias.filter(|alias| shape.declares(alias.field)) {
            add(&mut input, &name, shape.coerce_text(alias.field, &text))?;
        }
    }
    rename(&mut input, shape, aliases);
    Ok(Value::Object(input))
}

fn add(input: &mut Map<String, Value>, name: &str, value: Value) -> Result<(), Failure> {
    if input.get(name).is_some_and(|known| !known.is_null()) {
        let message = format!("{name} is given twice; give it once, in the path, query or body");
        return Err(Error::new(Kind::InvalidArgument, "input.twice", message).into());
    }
    input.insert(name.to_owned(), value);
    Ok(())
}

/// Gives fields sent under another name their own; a field sent under its own name wins.
fn rename(input: &mut Map<String, Value>, shape: &InputShape, aliases: &[Alias]) {
    for Alias { alias, field } in aliases {
        let absent = input.get(*field).is_none_or(Value::is_null);
        if absent
            && shape.declares(field)
            && !shape.declares(alias)
            && let Some(value) = input.remove(*alias)
        {
            input.insert((*field).to_owned(), value);
        }
    }
}

fn parse(body: &[u8]) -> Result<Value, Failure> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Null);
    }
    serde_json::from_slice(body).map_err(|error| {
        let message = format!("the body is not JSON: {error}");
        let path = Vec::new();
        let rule = "json";
        Error::invalid_input(vec![FieldError { path, message, rule }]).into()
    })
}

async fn read_body(parts: &Parts, mut body: Body, limit: u64) -> Result<Bytes, Failure> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let size = body.size_hint();
    if size.exact() == Some(0) {
        return Ok(Bytes::new());
    }
    if usize::try_from(size.lower()).is_ok_and(|size| size > limit) {
        if !parts.headers.contains_key(header::EXPECT) {
            drain(body).await;
        }
        return Err(too_large(limit));
    }
    let mut first = Bytes::new();
    let mut joined = BytesMut::new();
    loop {
        let Ok(frame) = timeout(BODY_PATIENCE, body.frame()).await else {
            return Err(Failure::new(
                StatusCode::REQUEST_TIMEOUT,
                "request.slow",
                "the body stopped arriving; send it without pauses",
            ));
        };
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|error| {
            Failure::new(
                StatusCode::BAD_REQUEST,
                "request.body",
                format!("the body could not be read: {error}"),
            )
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if first.len() + joined.len() + data.len() > limit {
            drain(body).await;
            return Err(too_large(limit));
        }
        // Most bodies are one frame, which is then not copied.
        if first.is_empty() && joined.is_empty() {
            first = data;
        } else {
            joined.extend_from_slice(&std::mem::take(&mut first));
            joined.extend_from_slice(&data);
        }
    }
    Ok(if joined.is_empty() { first } else { joined.freeze() })
}

async fn drain(mut body: Body) {
    let reading = async {
        let mut left = DRAIN_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            let size = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(size) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    };
    // Either way the answer follows; a client that still sends after it has been told twice.
    drop(timeout(DRAIN_PATIENCE, reading).await);
}

fn too_large(limit: usize) -> Failure {
    let message = format!(
        "the body is over the limit of {limit} bytes (request_body_bytes of /v1/limits); send less at a time"
    );
    Error::new(Kind::TooLarge, "request.too_large", message).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::extract::Request;
    use futures::stream::{self, StreamExt};
    use std::io;

    async fn read(body: Body) -> Result<Bytes, Failure> {
        read_body(&Request::new(()).into_parts().0, body, 10).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_arriving_is_given_up() {
        let first = stream::iter([Ok::<_, io::Error>("{")]);
        let failure = read(Body::from_stream(first.chain(stream::pending()))).await.unwrap_err();
        assert_eq!(failure.status, StatusCode::REQUEST_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_over_the_limit_is_not_waited_for_for_ever() {
        let endless = stream::iter([Ok::<_, io::Error>("12345678901")]).chain(stream::pending());
        let failure = read(Body::from_stream(endless)).await.unwrap_err();
        assert_eq!(failure.status, StatusCode::PAYLOAD_TOO_LARGE);
        let flood = stream::repeat(Bytes::from(vec![b'x'; 1 << 20])).map(Ok::<_, io::Error>);
        let failure = read(Body::from_stream(flood)).await.unwrap_err();
        assert_eq!(failure.status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_a_bad_request() {
        let broken = stream::iter([Ok("{"), Err(io::Error::other("gone"))]);
        let failure = read(Body::from_stream(broken)).await.unwrap_err();
        assert_eq!(failure.status, StatusCode::BAD_REQUEST);
    }
}
