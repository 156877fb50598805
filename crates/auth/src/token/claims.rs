//! What a token says of its holder.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};

use crate::scopes::Scopes;

/// The claims that matter here. A claim that is there twice makes the token unreadable.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Claims {
    exp: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<Value>,
    /// Scopes with spaces between them, as OAuth writes them.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    scope: Option<Value>,
    /// Scopes as a list.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    scopes: Option<Value>,
}

/// A claim that is there, be it `null`: only one that is absent restricts nothing.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Claims {
    /// Claims that end at this time.
    pub(super) fn ending(seconds: u64) -> Self {
        Self { exp: Some(seconds.into()), ..Self::default() }
    }

    /// When the token ends, in seconds since 1970.
    pub(super) fn ends(&self) -> Option<u64> {
        let time = self.exp.as_ref()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to lie between 0 and 2^53"
        )]
        let whole = |time: f64| (0.0..9e15).contains(&time).then_some(time as u64);
        time.as_u64().or_else(|| time.as_f64().and_then(whole))
    }

    pub(super) fn subject(&self) -> Option<&str> {
        let subject = self.sub.as_ref()?.as_str()?;
        Some(subject).filter(|subject| !subject.is_empty())
    }

    /// What the token allows; nothing when the claim cannot be understood, which must not mean "everything".
    pub(super) fn scopes(&self) -> Option<Scopes> {
        let listed = match (&self.scope, &self.scopes) {
            (None, None) => return Some(Scopes::ALL),
            (Some(listed), None) | (None, Some(listed)) => listed,
            (Some(_), Some(_)) => return None,
        };
        match listed {
            Value::String(text) => Some(Scopes::only(text.split_whitespace())),
            Value::Array(items) => {
                let items: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
                Some(Scopes::only(items?))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(claims: Value) -> Option<Scopes> {
        serde_json::from_value::<Claims>(claims).ok()?.scopes()
    }

    #[test]
    fn scopes_are_read_in_both_forms_and_never_misread_as_everything() {
        assert_eq!(read(json!({})), Some(Scopes::ALL));
        let two = Scopes::only(["a", "b:read"]);
        assert_eq!(read(json!({"scope": " a  b:read "})), Some(two.clone()));
        assert_eq!(read(json!({"scopes": ["a", "b:read"]})), Some(two));
        assert_eq!(read(json!({"scope": ""})), Some(Scopes::only([""; 0])));
        for odd in [
            json!({"scope": 1}),
            json!({"scopes": {"a": true}}),
            json!({"scopes": ["a", 2]}),
            json!({"scope": true}),
            json!({"scope": "a", "scopes": ["b"]}),
            json!({"scope": null}),
            json!({"scopes": null}),
        ] {
            assert_eq!(read(odd.clone()), None, "{odd}");
        }
    }

    #[test]
    fn a_claim_that_is_there_twice_is_not_read() {
        assert!(serde_json::from_str::<Claims>(r#"{"scope":"a","scope":"b"}"#).is_err());
    }

    #[test]
    fn times_may_have_fractions_but_must_be_times() {
        let ends = |exp: Value| serde_json::from_value::<Claims>(json!({"exp": exp})).ok()?.ends();
        assert_eq!(ends(json!(17)), Some(17));
        assert_eq!(ends(json!(17.9)), Some(17));
        for odd in [json!(-1), json!("17"), json!(1e300), json!([17]), json!(null)] {
            assert_eq!(ends(odd.clone()), None, "{odd}");
        }
    }
}
