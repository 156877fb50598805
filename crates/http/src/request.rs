//! Reads a request into one input object: path, query and JSON body together.
//!
//! An empty body is `{}`, whatever its content type. The same field in two places is refused, since a proxy and the
//! server might otherwise each believe another one; parameters the operation does not know are left out, since clients
//! append tickets and routing hints. A body over the limit is never held in memory: it is read on and dropped for a
//! while, so that the refusal reaches a client that is still sending.

use atoll_operation::{Error, FieldError, InputShape, Kind};
use axum::RequestPartsExt;
use axum::body::Body;
use axum::extract::RawPathParams;
use axum::http::StatusCode;
use axum::http::request::Parts;
use bytes::{Bytes, BytesMut};
use serde_json::{Map, Value};

use crate::arrival::Arrival;
use crate::dialect::aio::Alias;
use crate::dialect::{Failure, Reading};

/// Fields that may be said once for all calls of a client, in a header. What a call says itself counts more.
const FIELDS_BY_HEADER: &[(&str, &str)] = &[("x-browser-context", "context")];

/// How large a body may be, and what a refusal says about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimit {
    pub(crate) bytes: u64,
    /// What `/v1/limits` calls it.
    pub(crate) name: &'static str,
    /// What to do instead.
    pub(crate) advice: &'static str,
}

impl BodyLimit {
    /// The refusal of what is over the limit; `what` names it.
    pub(crate) fn exceeded(self, what: &str) -> Failure {
        let Self { bytes, name, advice } = self;
        let message =
            format!("{what} is over the limit of {bytes} bytes ({name} of /v1/limits); {advice}");
        Error::new(Kind::TooLarge, "request.too_large", message).into()
    }
}

/// The fields of an input as they are gathered.
#[derive(Clone)]
pub(crate) struct Fields<'a> {
    values: Map<String, Value>,
    shape: &'a InputShape,
    reading: Reading<'a>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(shape: &'a InputShape, reading: Reading<'a>) -> Self {
        Self { values: Map::new(), shape, reading }
    }

    /// Adds what the path and the query carry.
    pub(crate) async fn add_target(&mut self, parts: &mut Parts) -> Result<(), Failure> {
        let Ok(path) = parts.extract::<RawPathParams>().await else {
            return Err(Failure::new(
                StatusCode::BAD_REQUEST,
                "request.path",
                "the path holds bytes that are not UTF-8",
            ));
        };
        for (name, text) in &path {
            self.add(name, self.shape.coerce_text(name, text))?;
        }
        let query = parts.uri.query().unwrap_or_default();
        for (name, text) in form_urlencoded::parse(query.as_bytes()) {
            self.add_text(&name, &text)?;
        }
        for (header, field) in FIELDS_BY_HEADER {
            let value = parts.headers.get(*header).and_then(|value| value.to_str().ok());
            let absent = self.values.get(*field).is_none_or(Value::is_null);
            if let Some(text) = value.filter(|_| absent && self.shape.declares(field)) {
                self.add(field, self.shape.coerce_text(field, text))?;
            }
        }
        Ok(())
    }

    /// Adds a field that came as text; one the operation does not know is left out.
    pub(crate) fn add_text(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        let mut known =
            self.reading.aliases.iter().filter(|alias| self.shape.declares(alias.field));
        let meant = if self.shape.declares(name) {
            Some(name)
        } else {
            known.find(|alias| alias.alias == name).map(|alias| alias.field)
        };
        match meant {
            Some(meant) => self.add(name, self.shape.coerce_text(meant, text)),
            None => Ok(()),
        }
    }

    fn add(&mut self, name: &str, value: Value) -> Result<(), Failure> {
        if self.values.get(name).is_some_and(|known| !known.is_null()) {
            let message =
                format!("{name} is given twice; give it once, in the path, query or body");
            return Err(Error::new(Kind::InvalidArgument, "input.twice", message).into());
        }
        self.values.insert(name.to_owned(), value);
        Ok(())
    }

    /// The input, fields sent under another name under their own; a field sent under its own name wins.
    pub(crate) fn into_input(self) -> Value {
        let mut input = self.values;
        for Alias { alias, field } in self.reading.aliases {
            let absent = input.get(*field).is_none_or(Value::is_null);
            if absent
                && self.shape.declares(field)
                && !self.shape.declares(alias)
                && let Some(value) = input.remove(*alias)
            {
                input.insert((*field).to_owned(), value);
            }
        }
        if let Some(base) = self.reading.base {
            base.resolve(&mut input);
        }
        Value::Object(input)
    }
}

/// The input a request carries for an operation of this shape.
pub(crate) async fn read_input(
    parts: &mut Parts,
    body: Body,
    shape: &InputShape,
    reading: Reading<'_>,
    limit: BodyLimit,
) -> Result<Value, Failure> {
    let bytes = read_body(Arrival::new(&parts.headers, body), limit).await?;
    let mut fields = Fields::new(shape, reading);
    match parse(&bytes)? {
        Value::Null => {}
        Value::Object(values) => fields.values = values,
        // Nothing can be merged into it; the shape names the mistake.
        other => return Ok(other),
    }
    fields.add_target(parts).await?;
    Ok(fields.into_input())
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

async fn read_body(mut arrival: Arrival, limit: BodyLimit) -> Result<Bytes, Failure> {
    let most = usize::try_from(limit.bytes).unwrap_or(usize::MAX);
    if arrival.announced() > limit.bytes {
        arrival.drain().await;
        return Err(limit.exceeded("the body"));
    }
    let mut first = Bytes::new();
    let mut joined = BytesMut::new();
    while let Some(data) = arrival.next().await? {
        if first.len() + joined.len() + data.len() > most {
            arrival.drain().await;
            return Err(limit.exceeded("the body"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderMap;
    use futures::stream::{self, StreamExt};
    use std::io;

    #[tokio::test(start_paused = true)]
    async fn a_body_over_the_limit_is_not_waited_for_for_ever() {
        let limit = BodyLimit { bytes: 10, name: "some_bytes", advice: "send less" };
        let endless = stream::iter([Ok::<_, io::Error>("12345678901")]).chain(stream::pending());
        let arrival = Arrival::new(&HeaderMap::new(), Body::from_stream(endless));
        let failure = read_body(arrival, limit).await.unwrap_err();
        assert_eq!(failure.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert!(failure.error.message().contains("10 bytes (some_bytes of /v1/limits)"));
    }
}
