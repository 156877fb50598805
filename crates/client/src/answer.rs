//! Takes the envelope off an answer.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{ClientError, FieldProblem, Refusal};

#[derive(Deserialize)]
struct Envelope {
    success: bool,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    hint: Option<String>,
    #[serde(default)]
    error_code: Option<String>,
    #[serde(default)]
    details: Option<Value>,
    #[serde(default)]
    errors: Vec<FieldProblem>,
    #[serde(flatten)]
    beside: Map<String, Value>,
}

/// The result an answer carries.
pub(crate) fn read<T: DeserializeOwned>(
    operation: &str,
    status: u16,
    body: &[u8],
) -> Result<T, ClientError> {
    // These results are the whole answer; the server's dialect says why.
    if operation.starts_with("auth_") && (200..300).contains(&status) {
        return serde_json::from_slice(body).map_err(|error| unreadable(status, &error));
    }
    let envelope: Envelope = match serde_json::from_slice(body) {
        Ok(envelope) => envelope,
        Err(_) if !(200..300).contains(&status) => {
            return Err(refusal_without_envelope(status, body));
        }
        Err(error) => return Err(unreadable(status, &error)),
    };
    if !envelope.success {
        return Err(refused(status, envelope));
    }
    // This one result lies beside `data` on the wire; the server's dialect says why.
    let result = if operation == "sandbox_get_context" {
        let mut result = envelope.beside;
        result.insert("text".to_owned(), envelope.data);
        Value::Object(result)
    } else {
        envelope.data
    };
    serde_json::from_value(result).map_err(|error| unreadable(status, &error))
}

/// The refusal an answer that is no result carries.
pub(crate) fn read_refusal(status: u16, body: &[u8]) -> ClientError {
    match serde_json::from_slice(body) {
        Ok(envelope) => refused(status, envelope),
        Err(_) => refusal_without_envelope(status, body),
    }
}

fn unreadable(status: u16, error: &serde_json::Error) -> ClientError {
    let message = error.to_string();
    ClientError::Answer { status, message }
}

fn refused(status: u16, envelope: Envelope) -> ClientError {
    ClientError::Refused(Box::new(Refusal {
        status,
        error_code: envelope.error_code.unwrap_or_default(),
        message: envelope.message.unwrap_or_else(|| format!("HTTP {status}")),
        hint: envelope.hint,
        details: envelope.details,
        fields: envelope.errors,
    }))
}

/// Something between the client and the server answered in its own words.
fn refusal_without_envelope(status: u16, body: &[u8]) -> ClientError {
    let text: String = String::from_utf8_lossy(body).chars().take(200).collect();
    ClientError::Refused(Box::new(Refusal {
        status,
        error_code: String::new(),
        message: format!("HTTP {status}: {text}"),
        hint: None,
        details: None,
        fields: Vec::new(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_comes_out_of_its_envelope() {
        let read =
            read::<Vec<u8>>("x", 200, br#"{"success":true,"message":"m","data":[1],"hint":null}"#);
        assert_eq!(read.unwrap(), [1]);
        let nothing = super::read::<()>("x", 200, br#"{"success":true,"data":null,"code":0}"#);
        assert!(nothing.is_ok());
    }

    #[test]
    fn a_hoisted_result_is_put_together_again() {
        let body = br#"{"success":true,"data":"t","home_dir":"/h","code":0}"#;
        let result = read::<Value>("sandbox_get_context", 200, body).unwrap();
        assert_eq!((&result["text"], &result["home_dir"]), (&Value::from("t"), &Value::from("/h")));
    }

    #[test]
    fn a_refusal_carries_code_message_and_fields() {
        let body = br#"{"success":false,"message":"timeout: bad","data":null,"hint":"h","code":422,
            "error_code":"input.invalid","errors":[{"location":"body.timeout","message":"bad","type":"minimum"}]}"#;
        let error = read::<()>("x", 422, body).unwrap_err();
        assert_eq!(error.status(), Some(422));
        assert_eq!(error.error_code(), Some("input.invalid"));
        assert_eq!(error.to_string(), "timeout: bad");
        let refusal = error.refusal().unwrap();
        assert_eq!(refusal.fields[0].location, "body.timeout");
        assert_eq!(refusal.hint.as_deref(), Some("h"));
    }

    #[test]
    fn a_proxys_own_error_page_is_a_refusal_too() {
        let error = read::<()>("x", 502, b"<h1>Bad Gateway</h1>").unwrap_err();
        assert_eq!(error.status(), Some(502));
        assert!(error.to_string().contains("Bad Gateway"));
        assert!(matches!(
            read::<()>("x", 200, b"<h1>Welcome</h1>").unwrap_err(),
            ClientError::Answer { status: 200, .. }
        ));
    }
}
