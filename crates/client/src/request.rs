//! Puts an input into a request: path, query or JSON body, as the operation's declaration says.

use atoll_operation::{Method, Spec};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::ClientError;

/// What may stand in a path segment as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A request's target and body.
#[derive(Debug)]
pub(crate) struct Target {
    /// Path and query.
    pub(crate) path: String,
    /// JSON body, where the method carries one.
    pub(crate) body: Option<Vec<u8>>,
}

pub(crate) fn target<T: Serialize>(spec: &Spec, input: &T) -> Result<Target, ClientError> {
    let mut fields = fields(input)?;
    let mut path = fill_path(spec.path, &mut fields)?;
    if matches!(spec.method, Method::Get | Method::Delete) {
        if !fields.is_empty() {
            let mut query = form_urlencoded::Serializer::new(String::new());
            for (name, value) in &fields {
                query.append_pair(name, &as_text(value));
            }
            path = format!("{path}?{}", query.finish());
        }
        return Ok(Target { path, body: None });
    }
    let body = Some(serde_json::to_vec(&fields).map_err(unusable)?);
    Ok(Target { path, body })
}

/// The path of a request whose body is a form, and the form's fields.
pub(crate) fn form_fields<T: Serialize>(
    spec: &Spec,
    input: &T,
) -> Result<(String, Vec<(String, String)>), ClientError> {
    let mut fields = fields(input)?;
    let path = fill_path(spec.path, &mut fields)?;
    let fields = fields.iter().map(|(name, value)| (name.clone(), as_text(value))).collect();
    Ok((path, fields))
}

/// The fields of an input that are given.
fn fields<T: Serialize>(input: &T) -> Result<Map<String, Value>, ClientError> {
    let Value::Object(mut fields) = serde_json::to_value(input).map_err(unusable)? else {
        return Err(ClientError::Input("an input is an object".to_owned()));
    };
    fields.retain(|_, value| !value.is_null());
    Ok(fields)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
fn unusable(error: serde_json::Error) -> ClientError {
    ClientError::Input(error.to_string())
}

fn fill_path(template: &str, fields: &mut Map<String, Value>) -> Result<String, ClientError> {
    let mut path = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        let text = fields.remove(name).map(|value| as_text(&value)).unwrap_or_default();
        if text.is_empty() {
            return Err(ClientError::Input(format!(
                "{name} is part of the path and must not be empty"
            )));
        }
        path.push_str(before);
        path.extend(utf8_percent_encode(&text, SEGMENT));
        rest = after;
    }
    path.push_str(rest);
    Ok(path)
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_carries_what_the_path_does_not() {
        let spec = Spec::post("a_b", "/v1/{session_id}/close", "a:write");
        let input = json!({"session_id": "a/b c", "force": true, "reason": null});
        let target = target(&spec, &input).unwrap();
        assert_eq!(target.path, "/v1/a%2Fb%20c/close");
        assert_eq!(target.body.as_deref(), Some(&br#"{"force":true}"#[..]));
    }

    #[test]
    fn a_get_carries_everything_in_its_address() {
        let spec = Spec::get("a_b", "/v1/x", "a:read");
        let target = target(&spec, &json!({"text": "a&b", "limit": 3})).unwrap();
        let (path, query) = target.path.split_once('?').unwrap();
        let mut query: Vec<_> = query.split('&').collect();
        query.sort_unstable();
        assert_eq!((path, &query[..]), ("/v1/x", &["limit=3", "text=a%26b"][..]));
        assert!(target.body.is_none());
    }

    #[test]
    fn an_empty_path_parameter_is_refused() {
        let spec = Spec::delete("a_b", "/v1/sessions/{session_id}", "a:write");
        let error = target(&spec, &json!({"session_id": ""})).unwrap_err();
        assert!(error.to_string().contains("session_id"), "{error}");
    }
}
