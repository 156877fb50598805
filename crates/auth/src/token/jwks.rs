//! A JSON Web Key Set: public keys with their names and algorithms.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};

use super::{TokenKey, TokenKeyError, check_rsa};

/// Reads a set. Keys that are not for signatures are left out; a key of a kind we do not take is an error.
pub(super) fn read(text: &str) -> Result<Vec<TokenKey>, TokenKeyError> {
    let set: JwkSet = serde_json::from_str(text)
        .map_err(|_| TokenKeyError::Unreadable("it is JSON, but no {\"keys\": […]}"))?;
    let for_signatures =
        |jwk: &Jwk| matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
    let mut keys = Vec::new();
    for (position, jwk) in set.keys.iter().enumerate().filter(|(_, jwk)| for_signatures(jwk)) {
        let unusable = |problem| TokenKeyError::Unusable { position: position + 1, problem };
        let algorithm = algorithm(jwk).map_err(unusable)?;
        let key = DecodingKey::from_jwk(jwk).map_err(|_| unusable("its numbers are no key"))?;
        if matches!(jwk.algorithm, AlgorithmParameters::RSA(_)) {
            check_rsa(&key).map_err(unusable)?;
        }
        keys.push(TokenKey { id: jwk.common.key_id.clone(), key, algorithms: vec![algorithm] });
    }
    if keys.is_empty() {
        return Err(TokenKeyError::Unreadable("the set holds no key for signatures"));
    }
    Ok(keys)
}

/// The one algorithm a key is for: what it says, if that fits its kind, else the usual one of its kind.
fn algorithm(jwk: &Jwk) -> Result<Algorithm, &'static str> {
    const ODD: &str = "its `alg` does not fit its kind";
    let named = match jwk.common.key_algorithm {
        Some(named) => Some(Algorithm::try_from(named).map_err(|_| ODD)?),
        None => None,
    };
    let fitting: &[Algorithm] = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => &[
            Algorithm::RS256,
            Algorithm::RS384,
            Algorithm::RS512,
            Algorithm::PS256,
            Algorithm::PS384,
            Algorithm::PS512,
        ],
        AlgorithmParameters::EllipticCurve(parts) if parts.curve == EllipticCurve::P256 => {
            &[Algorithm::ES256]
        }
        AlgorithmParameters::EllipticCurve(parts) if parts.curve == EllipticCurve::P384 => {
            &[Algorithm::ES384]
        }
        AlgorithmParameters::OctetKeyPair(parts) if parts.curve == EllipticCurve::Ed25519 => {
            &[Algorithm::EdDSA]
        }
        AlgorithmParameters::OctetKey(_) => {
            return Err("it is a shared secret, which does not belong in a set of public keys");
        }
        _ => return Err("its kind is not supported; use RSA, P-256, P-384 or Ed25519"),
    };
    match named {
        None => fitting.first().copied().ok_or(ODD),
        Some(named) if fitting.contains(&named) => Ok(named),
        Some(_) => Err(ODD),
    }
}
