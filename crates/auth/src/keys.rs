//! API keys: long random texts that a caller sends as they are. Only their fingerprints are kept.

use std::sync::Arc;

use thiserror::Error;

use crate::fingerprint::Fingerprint;
use crate::principal::{How, Principal};
use crate::scopes::Scopes;
use crate::secret::Secret;

/// Keys there may be: each is compared with what a caller sends.
const MOST_KEYS: usize = 1000;
/// Longest key, in bytes.
const LONGEST_KEY: usize = 1024;

/// The keys that are accepted.
#[derive(Debug, Clone, Default)]
pub struct ApiKeys(Vec<ApiKey>);

#[derive(Debug, Clone)]
struct ApiKey {
    fingerprint: Fingerprint,
    principal: Arc<Principal>,
}

/// A file of keys that cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {line}: {problem}")]
pub struct KeyFileError {
    /// Counted from one.
    pub line: usize,
    /// What is wrong and what is right.
    pub problem: &'static str,
}

impl ApiKeys {
    /// Accepts a key.
    pub fn add(&mut self, name: &str, key: &Secret, scopes: Scopes) {
        self.insert(name, Fingerprint::of(key.expose().as_bytes()), scopes);
    }

    /// Accepts the keys a file lists: on each line a name, the SHA-256 of the key in hexadecimal digits, and, where the
    /// key is not to be used for everything, its scopes with commas between them. `#` begins a comment.
    pub fn add_file(&mut self, text: &str) -> Result<(), KeyFileError> {
        for (position, content) in text.lines().enumerate() {
            let wrong = |problem| KeyFileError { line: position + 1, problem };
            let content = content.split('#').next().unwrap_or_default();
            let mut words = content.split_whitespace();
            let Some(name) = words.next() else {
                continue;
            };
            let (Some(hash), scopes, None) = (words.next(), words.next(), words.next()) else {
                return Err(wrong("write: NAME SHA256 [SCOPE,SCOPE…]"));
            };
            let hash = hash.strip_prefix("sha256:").unwrap_or(hash);
            let fingerprint = Fingerprint::from_hex(hash).ok_or_else(|| {
                wrong("the second word must be the SHA-256 of the key: 64 hexadecimal digits")
            })?;
            if self.0.iter().any(|key| key.principal.id == name) {
                return Err(wrong("this name is used by another key"));
            }
            if self.0.len() >= MOST_KEYS {
                return Err(wrong("there are more than 1000 keys"));
            }
            let scopes = scopes.map_or(Scopes::ALL, |list| {
                Scopes::only(list.split(',').filter(|scope| !scope.is_empty()))
            });
            self.insert(name, fingerprint, scopes);
        }
        Ok(())
    }

    fn insert(&mut self, name: &str, fingerprint: Fingerprint, scopes: Scopes) {
        let principal = Principal { how: How::ApiKey, id: name.to_owned(), scopes };
        self.0.push(ApiKey { fingerprint, principal: Arc::new(principal) });
    }

    /// Whether no key is accepted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whose key this is. Every key is looked at, so that the time tells nothing.
    pub(crate) fn find(&self, sent: &str) -> Option<Arc<Principal>> {
        if self.0.is_empty() || sent.is_empty() || sent.len() > LONGEST_KEY {
            return None;
        }
        let sent = Fingerprint::of(sent.as_bytes());
        let mut found = None;
        for key in &self.0 {
            if key.fingerprint.is(&sent) && found.is_none() {
                found = Some(Arc::clone(&key.principal));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_key_is_known_by_its_hash_and_brings_its_scopes() {
        let mut keys = ApiKeys::default();
        keys.add("master", &Secret::new("one key"), Scopes::ALL);
        let file = format!("# who  hash  scopes\n\nci sha256:{ABC} file:read,shell # comment\n");
        keys.add_file(&file).unwrap();
        assert_eq!(keys.find("one key").unwrap().id, "master");
        let ci = keys.find("abc").unwrap();
        assert_eq!((ci.id.as_str(), ci.how), ("ci", How::ApiKey));
        assert!(ci.scopes.permit("shell:write") && !ci.scopes.permit("file:write"));
        for unknown in ["", "abd", "abc ", "ABC", ABC, "one", &"x".repeat(5000)] {
            assert!(keys.find(unknown).is_none(), "{unknown}");
        }
        assert!(!format!("{keys:?}").contains("7816"));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, line) in [
            ("ci", 1),
            ("\n\nci 123", 3),
            (&format!("a {ABC}\na {ABC}"), 2),
            (&format!("a {ABC} file shell"), 1),
        ] {
            let error = ApiKeys::default().add_file(text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
        }
        let many: String = (0..=MOST_KEYS).map(|number| format!("k{number} {ABC}\n")).collect();
        assert_eq!(ApiKeys::default().add_file(&many).unwrap_err().line, MOST_KEYS + 1);
    }
}
