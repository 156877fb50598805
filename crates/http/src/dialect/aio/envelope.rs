//! The envelope on the wire.

use atoll_operation::{FieldError, Method, Spec};
use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::response::Response;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use super::{echoes, hoist, is_bare, message, refusal_fields};
use crate::dialect::Failure;

/// The answer to an operation that was carried out.
pub(crate) fn success(spec: &Spec, result: Value, hint: Option<&str>) -> Response {
    success_saying(message(spec.id), spec, result, hint)
}

/// The same with these words.
pub(crate) fn success_saying(
    message: &str,
    spec: &Spec,
    result: Value,
    hint: Option<&str>,
) -> Response {
    if is_bare(spec.id) {
        return json_answer(StatusCode::OK, result.to_string().into_bytes());
    }
    let (data, beside) = match (hoist(spec.id), result) {
        (Some(hoist), Value::Object(mut fields)) => {
            let data = fields.remove(hoist.data).unwrap_or_default();
            (data, fields)
        }
        (None, Value::Object(fields)) if echoes(spec.id) => {
            let beside = fields.clone();
            (Value::Object(fields), beside)
        }
        (_, result) => (result, Map::new()),
    };
    respond(
        StatusCode::OK,
        &Envelope { success: true, message, data: &data, hint, code: 0, beside: &beside },
    )
}

/// An answer with status 200 that is no success to clients that read its `code`.
pub(crate) fn exception(code: u16, message: &str, data: &Value) -> Response {
    let beside = &Map::new();
    respond(StatusCode::OK, &Envelope { success: false, message, data, hint: None, code, beside })
}

/// The answer to a request that was not. `spec` is the operation it was for, where one was found.
pub(crate) fn failure(failure: &Failure, spec: Option<&Spec>) -> Response {
    let Failure { status, error } = failure;
    let refused = spec.filter(|spec| {
        refusal_of(failure).is_some() && refusal_fields(spec.id, &Map::new()).is_some()
    });
    let answered = if refused.is_some() { StatusCode::OK } else { *status };
    respond_to(failure, spec, answered, *status, error.message())
}

/// The same with this status, whoever refused, and these words.
pub(crate) fn failure_worded(
    failure: &Failure,
    spec: Option<&Spec>,
    status: StatusCode,
    message: &str,
) -> Response {
    respond_to(failure, spec, status, status, message)
}

/// What a file system said, where one refused.
fn refusal_of(failure: &Failure) -> Option<&Map<String, Value>> {
    let details = failure.error.details().and_then(Value::as_object);
    details.filter(|details| details.contains_key("error_type"))
}

fn respond_to(
    failure: &Failure,
    spec: Option<&Spec>,
    answered: StatusCode,
    code: StatusCode,
    message: &str,
) -> Response {
    let Failure { status, error } = failure;
    let mut beside = Map::new();
    beside.insert("error_code".to_owned(), json!(error.code()));
    if let Some(details) = error.details() {
        beside.insert("details".to_owned(), details.clone());
    }
    let data = match (refusal_of(failure), spec) {
        (Some(refusal), Some(spec)) => refused_by_the_file_system(spec, refusal),
        _ => Value::Null,
    };
    if *status == StatusCode::UNPROCESSABLE_ENTITY {
        let fields = error.fields().iter();
        let (detail, errors) = fields.map(|field| report(field, spec)).unzip();
        beside.insert("detail".to_owned(), Value::Array(detail));
        beside.insert("errors".to_owned(), Value::Array(errors));
    }
    respond(
        answered,
        &Envelope {
            success: false,
            message,
            data: &data,
            hint: error.hint(),
            code: code.as_u16(),
            beside: &beside,
        },
    )
}

/// What a file system refused is the answer's `data`, with the fields a result must have.
fn refused_by_the_file_system(spec: &Spec, refusal: &Map<String, Value>) -> Value {
    let mut data = refusal.clone();
    if let Some(Value::Object(fields)) = refusal_fields(spec.id, refusal) {
        data.extend(fields);
    }
    Value::Object(data)
}

/// A mistake in one field: as the published document has it, and as its servers were seen to answer.
fn report(field: &FieldError, spec: Option<&Spec>) -> (Value, Value) {
    let place = place(field, spec);
    let mut location = vec![json!(place)];
    location.extend(field.path.iter().map(|segment| {
        let index = segment.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        match index.and_then(|index| index.parse::<u64>().ok()) {
            Some(index) => json!(index),
            None => json!(segment),
        }
    }));
    let mut dotted = vec![place];
    dotted.extend(field.path.iter().map(String::as_str));
    (
        json!({"loc": location, "msg": field.message, "type": field.rule}),
        json!({"location": dotted.join("."), "message": field.message, "type": field.rule}),
    )
}

/// Where in the request a field was looked for.
fn place(field: &FieldError, spec: Option<&Spec>) -> &'static str {
    let Some((spec, name)) = spec.zip(field.path.first()) else {
        return "body";
    };
    let bodiless = matches!(spec.method, Method::Get | Method::Delete) && !spec.json_body;
    if spec.path.contains(&format!("{{{name}}}")) {
        "path"
    } else if bodiless || spec.query.contains(&name.as_str()) {
        "query"
    } else {
        "body"
    }
}

struct Envelope<'a> {
    success: bool,
    message: &'a str,
    data: &'a Value,
    hint: Option<&'a str>,
    code: u16,
    beside: &'a Map<String, Value>,
}

impl Serialize for Envelope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(5 + self.beside.len()))?;
        map.serialize_entry("success", &self.success)?;
        map.serialize_entry("message", self.message)?;
        map.serialize_entry("data", self.data)?;
        map.serialize_entry("hint", &self.hint)?;
        map.serialize_entry("code", &self.code)?;
        for (name, value) in self.beside {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

fn respond(status: StatusCode, envelope: &Envelope<'_>) -> Response {
    // Text keys and JSON values always serialise; an empty body would be the only trace if they did not.
    json_answer(status, serde_json::to_vec(envelope).unwrap_or_default())
}

fn json_answer(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
