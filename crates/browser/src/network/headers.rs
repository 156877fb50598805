//! Headers added to requests: to all of them, or to those for one origin.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::NetworkError;
use super::address::Address;

/// Headers the browser must write itself: with a wrong one a request could not be read.
const RESERVED: [&str; 8] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Values by name.
pub type HeaderMap = BTreeMap<String, String>;

/// What is added.
#[derive(Debug, Clone, Default)]
pub(super) struct Headers {
    pub(super) all: HeaderMap,
    scoped: BTreeMap<String, HeaderMap>,
}

impl Headers {
    /// Whether any origin has headers of its own.
    pub(super) fn scoped(&self) -> bool {
        !self.scoped.is_empty()
    }

    /// Headers for one origin, in place of those it had; the origin as it will be compared.
    pub(super) fn scope(
        &mut self,
        origin: &str,
        headers: HeaderMap,
    ) -> Result<String, NetworkError> {
        let address = Address::parse(origin).filter(|address| address.path == "/");
        let Some(address) = address else {
            return Err(NetworkError::Origin { origin: origin.to_owned() });
        };
        let origin = address.origin();
        if headers.is_empty() {
            self.scoped.remove(&origin);
        } else {
            self.scoped.insert(origin.clone(), headers);
        }
        Ok(origin)
    }

    /// The headers of a request with what its origin gets; `None` when that is nothing.
    pub(super) fn for_request(&self, url: &str, own: &Value) -> Option<Value> {
        let added = self.scoped.get(&Address::parse(url)?.origin())?;
        let mut headers = own.as_object().cloned().unwrap_or_default();
        for (name, value) in self.all.iter().chain(added) {
            headers.retain(|known, _| !known.eq_ignore_ascii_case(name));
            headers.insert(name.clone(), Value::from(value.as_str()));
        }
        Some(entries(&headers))
    }
}

/// A map as the list the browser wants.
fn entries(headers: &Map<String, Value>) -> Value {
    headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
}

/// Refuses headers that cannot be sent.
pub(super) fn check(headers: &HeaderMap) -> Result<(), NetworkError> {
    headers.iter().try_for_each(|(name, value)| {
        let reason = if !is_token(name) {
            "its name may hold letters, digits and !#$%&'*+-.^_`|~ only"
        } else if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
            "the browser writes it itself"
        } else if value.chars().any(|char| char.is_control() && char != '\t') {
            "its value must not hold line breaks or other control characters"
        } else {
            return Ok(());
        };
        Err(NetworkError::Header { name: name.clone(), reason })
    })
}

/// Refuses headers that a made-up answer cannot have.
pub(super) fn check_answer(headers: &HeaderMap) -> Result<(), NetworkError> {
    headers.iter().try_for_each(|(name, value)| {
        let reason = if !is_token(name) {
            "its name may hold letters, digits and !#$%&'*+-.^_`|~ only"
        } else if value.chars().any(|char| char.is_control() && char != '\t' && char != '\n') {
            "its value must not hold control characters"
        } else {
            return Ok(());
        };
        Err(NetworkError::Header { name: name.clone(), reason })
    })
}

fn is_token(name: &str) -> bool {
    let special = b"!#$%&'*+-.^_`|~";
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || special.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_origins_headers_win_over_those_for_all_and_over_the_pages() {
        let mut headers =
            Headers { all: map(&[("X-A", "all"), ("X-B", "all")]), ..Headers::default() };
        headers.scope("https://API.example.com:443/", map(&[("x-a", "scoped")])).unwrap();
        let own = json!({"X-a": "page", "Accept": "*/*"});
        let sent = headers.for_request("https://api.example.com/x", &own).unwrap();
        let sent = sent.as_array().unwrap();
        let value = |name: &str| {
            let same = |entry: &&Value| entry["name"].as_str().unwrap().eq_ignore_ascii_case(name);
            let found: Vec<_> = sent.iter().filter(same).collect();
            assert_eq!(found.len(), 1, "{name} in {sent:?}");
            found[0]["value"].as_str().unwrap().to_owned()
        };
        assert_eq!(
            (value("x-a"), value("x-b"), value("accept")),
            ("scoped".into(), "all".into(), "*/*".into())
        );
        assert_eq!(headers.for_request("http://api.example.com/x", &own), None);
        headers.scope("https://api.example.com", HeaderMap::new()).unwrap();
        assert!(!headers.scoped());
    }

    #[test]
    fn what_cannot_be_sent_is_refused_by_name() {
        for bad in ["", "a b", "a:b", "Host", "CONTENT-LENGTH"] {
            assert!(check(&map(&[(bad, "x")])).is_err(), "{bad}");
        }
        assert!(check(&map(&[("a", "b\r\nc: d")])).is_err());
        assert!(check(&map(&[("X-Ok", "a b\tc"), ("Authorization", "Bearer x")])).is_ok());
        assert!(check_answer(&map(&[("Set-Cookie", "a=1\nb=2")])).is_ok());
        for origin in ["example.com", "https://example.com/path", ""] {
            assert!(Headers::default().scope(origin, map(&[("a", "b")])).is_err(), "{origin}");
        }
    }
}
