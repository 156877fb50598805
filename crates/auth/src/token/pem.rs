//! Public keys in PEM form, as operators paste them: plain, in base64 as a whole, with `\n` written out, several in a row.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::{Algorithm, DecodingKey};

use super::{TokenKey, TokenKeyError, check_rsa};

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// Reads one or several keys.
pub(super) fn read(text: &str) -> Result<Vec<TokenKey>, TokenKeyError> {
    let decoded;
    let text = if text.contains(BEGIN) {
        text
    } else {
        let packed: String = text.split_whitespace().collect();
        let bytes = STANDARD.decode(packed.trim_end_matches('=').to_owned() + padding(&packed));
        let bytes = bytes.map_err(|_| TokenKeyError::Unreadable("it is no base64"))?;
        decoded = String::from_utf8(bytes)
            .map_err(|_| TokenKeyError::Unreadable("its base64 holds no text"))?;
        decoded.as_str()
    };
    // Environment files often hold line breaks as two letters.
    let text = text.replace("\\n", "\n");
    let mut keys = Vec::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find(BEGIN) {
        let block = rest.get(start..).unwrap_or_default();
        let end = block.find(END).and_then(|end| {
            let tail = end + END.len();
            Some(tail + block.get(tail..)?.find(DASHES)? + DASHES.len())
        });
        let end = end.ok_or(TokenKeyError::Unreadable("a key does not end"))?;
        let (block, after) = block.split_at(end);
        keys.push(key(block, keys.len() + 1)?);
        rest = after;
    }
    if keys.is_empty() { Err(TokenKeyError::Unreadable("there is no key in it")) } else { Ok(keys) }
}

/// What base64 of this length ends in.
fn padding(packed: &str) -> &'static str {
    match packed.trim_end_matches('=').len() % 4 {
        2 => "==",
        3 => "=",
        _ => "",
    }
}

fn key(block: &str, position: usize) -> Result<TokenKey, TokenKeyError> {
    let unusable = |problem| TokenKeyError::Unusable { position, problem };
    if block.contains("PRIVATE KEY") {
        return Err(unusable("it is a private key; keep it and give the public one"));
    }
    if block.contains("BEGIN CERTIFICATE") {
        return Err(unusable("it is a certificate; give the public key alone"));
    }
    // Line breaks may have become spaces on the way through a shell.
    let lines = block.replace("\r\n", "\n");
    let body = lines.strip_prefix(BEGIN).and_then(|rest| rest.split_once(DASHES));
    let (label, rest) = body.ok_or_else(|| unusable("its first line is broken"))?;
    let base64 = rest.split(END).next().unwrap_or_default();
    let base64: String = base64.split_whitespace().collect();
    let tidy = format!("{BEGIN}{label}{DASHES}\n{base64}\n{END}{label}{DASHES}\n");
    let key = DecodingKey::from_rsa_pem(tidy.as_bytes()).map_err(|_| {
        unusable("it is not an RSA key; give keys of other kinds as a JSON Web Key Set")
    })?;
    check_rsa(&key).map_err(unusable)?;
    Ok(TokenKey { id: None, key, algorithms: vec![Algorithm::RS256] })
}
