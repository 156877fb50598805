//! Signed tokens (JWT): one verifier per key, each with the algorithms its key is for and no others.
//!
//! A token's header only chooses among the keys the operator configured; it never brings a key, an address of one or an
//! algorithm of its own. A token must say when it ends. Clocks may differ by [`LEEWAY_SECONDS`].

mod claims;
mod jwks;
mod pem;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk};
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode,
};
use thiserror::Error;

use crate::cache::{Cache, Verified};
use crate::fingerprint::Fingerprint;
use crate::principal::{How, Principal};
use crate::refusal::Refusal;
use crate::secret::Secret;
use claims::Claims;

/// How far clocks may differ.
const LEEWAY_SECONDS: u64 = 60;
/// Bytes of a token.
const LONGEST_TOKEN: usize = 8 << 10;
/// Keys there may be: each may have to be tried.
const MOST_KEYS: usize = 64;
/// Letters of a subject that are kept.
const LONGEST_SUBJECT: usize = 256;
const HMAC: [Algorithm; 3] = [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512];
/// Shortest RSA modulus, in bytes of base64: 2048 bits.
const SHORTEST_MODULUS: usize = 2048_usize.div_ceil(6);

/// A key for tokens that cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TokenKeyError {
    /// The text is no key.
    #[error(
        "it is neither a public key in PEM form, nor the base64 of one, nor a JSON Web Key Set: {0}"
    )]
    Unreadable(&'static str),
    /// A key is of a kind that is not accepted.
    #[error("key {position} of it cannot be used: {problem}")]
    Unusable {
        /// Counted from one.
        position: usize,
        /// Why not.
        problem: &'static str,
    },
    /// There are too many.
    #[error("it holds more than 64 keys")]
    TooMany,
    /// The secret is empty.
    #[error("the secret is empty")]
    Empty,
    /// The cryptographic library does not do what it must.
    #[error("the cryptographic library of this build does not verify tokens; this build is broken")]
    SelfTest,
}

/// What is asked of every token beyond its signature and time.
#[derive(Debug, Clone, Default)]
pub struct TokenRules {
    /// Accept only tokens with one of these in `aud`. Empty: only tokens without `aud`.
    pub audiences: Vec<String>,
    /// Accept only tokens with one of these in `iss`. Empty: any.
    pub issuers: Vec<String>,
}

/// The keys tokens may be signed with.
#[derive(Debug, Clone, Default)]
pub struct TokenKeys(Vec<TokenKey>);

#[derive(Debug, Clone)]
struct TokenKey {
    id: Option<String>,
    key: DecodingKey,
    algorithms: Vec<Algorithm>,
}

impl TokenKeys {
    /// Accepts tokens signed with the private half of a public key: one or several in PEM form (RSA, for RS256), the
    /// base64 of that, or a JSON Web Key Set.
    pub fn add_public(&mut self, text: &str) -> Result<(), TokenKeyError> {
        let text = text.trim().trim_start_matches('\u{feff}');
        let keys = if text.starts_with('{') { jwks::read(text)? } else { pem::read(text)? };
        self.0.extend(keys);
        if self.0.len() > MOST_KEYS { Err(TokenKeyError::TooMany) } else { Ok(()) }
    }

    /// Accepts tokens signed with a shared secret (HS256, HS384, HS512).
    pub fn add_secret(&mut self, secret: &Secret) -> Result<(), TokenKeyError> {
        if secret.expose().is_empty() {
            return Err(TokenKeyError::Empty);
        }
        let key = DecodingKey::from_secret(secret.expose().as_bytes());
        self.0.push(TokenKey { id: None, key, algorithms: HMAC.to_vec() });
        Ok(())
    }

    /// Whether no key is accepted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every key is a shared secret.
    pub(crate) fn are_secrets(&self) -> bool {
        self.0.iter().all(|key| key.algorithms == HMAC)
    }
}

/// Refuses an RSA key that is too short to be safe, or is none at all.
fn check_rsa(key: &DecodingKey) -> Result<(), &'static str> {
    let parts = Jwk::from_decoding_key(key, None).map(|jwk| jwk.algorithm);
    match parts {
        Ok(AlgorithmParameters::RSA(parts)) if parts.n.len() >= SHORTEST_MODULUS => Ok(()),
        Ok(AlgorithmParameters::RSA(_)) => {
            Err("an RSA key of less than 2048 bits is not safe; make a longer one")
        }
        _ => Err("it is not a public RSA key"),
    }
}

/// Verifies tokens.
#[derive(Debug)]
pub(crate) struct Tokens {
    verifiers: Vec<Verifier>,
    cache: Cache,
}

#[derive(Debug)]
struct Verifier {
    id: Option<String>,
    key: DecodingKey,
    validation: Validation,
}

impl Tokens {
    /// Makes the verifiers and tries the cryptography once, so that a broken build fails now.
    pub(crate) fn new(keys: TokenKeys, rules: &TokenRules) -> Result<Self, TokenKeyError> {
        self_test()?;
        let verifiers = keys.0.into_iter().map(|TokenKey { id, key, algorithms }| {
            let mut validation = Validation {
                algorithms,
                leeway: LEEWAY_SECONDS,
                validate_nbf: true,
                ..Validation::default()
            };
            let mut required = vec!["exp"];
            if !rules.audiences.is_empty() {
                validation.set_audience(&rules.audiences);
                required.push("aud");
            }
            if !rules.issuers.is_empty() {
                validation.set_issuer(&rules.issuers);
                required.push("iss");
            }
            validation.set_required_spec_claims(&required);
            Verifier { id, key, validation }
        });
        Ok(Self { verifiers: verifiers.collect(), cache: Cache::default() })
    }

    /// Verifies none.
    pub(crate) fn none() -> Self {
        Self { verifiers: Vec::new(), cache: Cache::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.verifiers.is_empty()
    }

    /// Whether there are some, and all of them shared secrets.
    pub(crate) fn are_secrets(&self) -> bool {
        let is_secret = |verifier: &Verifier| verifier.validation.algorithms == HMAC;
        !self.is_empty() && self.verifiers.iter().all(is_secret)
    }

    /// Who signed in with this token.
    pub(crate) fn find(&self, token: &str) -> Result<Arc<Principal>, Refusal> {
        if self.verifiers.is_empty() || token.len() > LONGEST_TOKEN {
            return Err(Refusal::Unknown);
        }
        let fingerprint = Fingerprint::of(token.as_bytes());
        if let Some(known) = self.cache.get(&fingerprint, seconds_now()) {
            return Ok(known);
        }
        let verified = self.verify(token)?;
        let principal = Arc::clone(&verified.principal);
        self.cache.put(fingerprint, verified);
        Ok(principal)
    }

    fn verify(&self, token: &str) -> Result<Verified, Refusal> {
        let header = decode_header(token).map_err(|_| Refusal::Unknown)?;
        // Whoever signs with extensions wants them understood; none is.
        let extended = header.crit.is_some() || header.enc.is_some() || header.zip.is_some();
        if extended || header.extras.inner().contains_key("b64") {
            return Err(Refusal::Unknown);
        }
        let fitting = self.verifiers.iter().filter(|verifier| {
            let named = header.kid.as_ref().zip(verifier.id.as_ref());
            verifier.validation.algorithms.contains(&header.alg)
                && named.is_none_or(|(wanted, id)| wanted == id)
        });
        // The most telling refusal counts: another key's "unknown signature" explains nothing.
        let mut refusal = Refusal::Unknown;
        for verifier in fitting {
            match decode::<Claims>(token, &verifier.key, &verifier.validation) {
                Ok(data) => return verified(&data.claims, verifier.id.as_deref()),
                Err(error) => refusal = refusal.max(reason(error.kind())),
            }
        }
        Err(refusal)
    }
}

fn verified(claims: &Claims, key: Option<&str>) -> Result<Verified, Refusal> {
    let scopes = claims.scopes().ok_or(Refusal::Claims)?;
    let until = claims.ends().ok_or(Refusal::Claims)?.saturating_add(LEEWAY_SECONDS);
    let id = claims.subject().or(key).unwrap_or("token");
    let id = id.chars().take(LONGEST_SUBJECT).collect();
    let principal = Principal { how: How::Token, id, scopes };
    Ok(Verified { principal: Arc::new(principal), until })
}

/// What a token's holder may know of why it was refused. The signature is checked before any claim.
fn reason(kind: &ErrorKind) -> Refusal {
    match kind {
        ErrorKind::ExpiredSignature => Refusal::Expired,
        ErrorKind::ImmatureSignature => Refusal::Early,
        ErrorKind::InvalidAudience => Refusal::Audience,
        ErrorKind::InvalidIssuer => Refusal::Issuer,
        ErrorKind::MissingRequiredClaim(claim) if claim == "aud" => Refusal::Audience,
        ErrorKind::MissingRequiredClaim(claim) if claim == "iss" => Refusal::Issuer,
        ErrorKind::MissingRequiredClaim(_) => Refusal::NoExpiry,
        ErrorKind::InvalidClaimFormat(_) => Refusal::Claims,
        _ => Refusal::Unknown,
    }
}

/// Signs and verifies once: the library panics or refuses at first use when it was built wrongly.
fn self_test() -> Result<(), TokenKeyError> {
    let secret = b"only for this test";
    let claims = Claims::ending(seconds_now() + 1000);
    let token = encode(&Header::default(), &claims, &EncodingKey::from_secret(secret))
        .map_err(|_| TokenKeyError::SelfTest)?;
    let verify = |key: &[u8]| {
        decode::<Claims>(&token, &DecodingKey::from_secret(key), &Validation::default()).is_ok()
    };
    if verify(secret) && !verify(b"another") { Ok(()) } else { Err(TokenKeyError::SelfTest) }
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests;
