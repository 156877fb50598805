//! The token corpus: everything that has ever been tried, made by hand so that no library forbids it.

mod sets;

use std::sync::LazyLock;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKey, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    RSA_PKCS1_SHA512,
};
use aws_lc_rs::{hmac, signature};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::*;
use crate::scopes::Scopes;

static OURS: LazyLock<RsaKey> = LazyLock::new(|| RsaKey::generate(KeySize::Rsa2048).unwrap());
static THEIRS: LazyLock<RsaKey> = LazyLock::new(|| RsaKey::generate(KeySize::Rsa2048).unwrap());
const SECRET: &str = "a shared secret that is long enough";

fn pem(key: &RsaKey) -> String {
    let der: PublicKeyX509Der<'_> = key.public_key().as_der().unwrap();
    let base64 = STANDARD.encode(der.as_ref());
    let lines: Vec<_> = base64.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn message(header: &Value, claims: &Value) -> String {
    format!("{}.{}", part(header), part(claims))
}

fn signed(message: &str, signature: &[u8]) -> String {
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn rsa_signature(
    key: &RsaKey,
    message: &str,
    with: &'static dyn signature::RsaEncoding,
) -> Vec<u8> {
    let mut bytes = vec![0; key.public_modulus_len()];
    key.sign(with, &SystemRandom::new(), message.as_bytes(), &mut bytes).unwrap();
    bytes
}

fn rs256(key: &RsaKey, header: &Value, claims: &Value) -> String {
    let message = message(header, claims);
    signed(&message, &rsa_signature(key, &message, &RSA_PKCS1_SHA256))
}

fn hs256(secret: &[u8], header: &Value, claims: &Value) -> String {
    let message = message(header, claims);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    signed(&message, hmac::sign(&key, message.as_bytes()).as_ref())
}

fn later() -> u64 {
    seconds_now() + 600
}

fn good() -> Value {
    json!({"exp": later(), "sub": "somebody"})
}

fn header() -> Value {
    json!({"alg": "RS256", "typ": "JWT"})
}

fn tokens_with(rules: &TokenRules) -> Tokens {
    let mut keys = TokenKeys::default();
    keys.add_public(&pem(&OURS)).unwrap();
    Tokens::new(keys, rules).unwrap()
}

fn tokens() -> Tokens {
    tokens_with(&TokenRules::default())
}

fn secret_tokens() -> Tokens {
    let mut keys = TokenKeys::default();
    keys.add_secret(&Secret::new(SECRET)).unwrap();
    Tokens::new(keys, &TokenRules::default()).unwrap()
}

#[test]
fn a_good_token_names_its_holder_and_its_scopes() {
    let tokens = tokens();
    let who = tokens.find(&rs256(&OURS, &header(), &good())).unwrap();
    assert_eq!((who.how, who.id.as_str()), (How::Token, "somebody"));
    assert_eq!(who.scopes, Scopes::ALL);
    let narrow = json!({"exp": later(), "scope": "file:read"});
    let who = tokens.find(&rs256(&OURS, &header(), &narrow)).unwrap();
    assert!(who.scopes.permit("file:read") && !who.scopes.permit("file:write"));
    assert_eq!(who.id, "token");
    let least = json!({"exp": later()});
    assert!(tokens.find(&rs256(&OURS, &json!({"alg": "RS256"}), &least)).is_ok());
}

#[test]
fn clocks_may_differ_by_a_minute_and_no_more() {
    let tokens = tokens();
    let find = |claims: Value| tokens.find(&rs256(&OURS, &header(), &claims));
    let now = seconds_now();
    assert!(find(json!({"exp": now - 50})).is_ok());
    assert_eq!(find(json!({"exp": now - 70})), Err(Refusal::Expired));
    assert!(find(json!({"exp": later(), "nbf": now + 50})).is_ok());
    assert_eq!(find(json!({"exp": later(), "nbf": now + 70})), Err(Refusal::Early));
}

#[test]
fn audience_and_issuer_are_held_to_what_is_configured() {
    let find = |tokens: &Tokens, more: Value| {
        let mut claims = good();
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tokens.find(&rs256(&OURS, &header(), &claims)).map(drop)
    };
    let plain = tokens();
    assert_eq!(find(&plain, json!({"aud": "somebody else"})), Err(Refusal::Audience));
    assert_eq!(find(&plain, json!({"iss": "anybody"})), Ok(()));
    let strict = tokens_with(&TokenRules {
        audiences: vec!["atoll".to_owned()],
        issuers: vec!["https://id.test".to_owned()],
    });
    let right = json!({"aud": ["x", "atoll"], "iss": "https://id.test"});
    assert_eq!(find(&strict, right), Ok(()));
    for (wrong, refusal) in [
        (json!({"aud": "atoll"}), Refusal::Issuer),
        (json!({"iss": "https://id.test"}), Refusal::Audience),
        (json!({"aud": "other", "iss": "https://id.test"}), Refusal::Audience),
        (json!({"aud": "atoll", "iss": "https://evil.test"}), Refusal::Issuer),
        (json!({"aud": ["a", "b"], "iss": "https://id.test"}), Refusal::Audience),
        (json!({"aud": 7, "iss": "https://id.test"}), Refusal::Audience),
        (json!({"aud": "Atoll", "iss": "https://id.test"}), Refusal::Audience),
        (json!({"aud": "atoll", "iss": "https://id.test/"}), Refusal::Issuer),
    ] {
        assert_eq!(find(&strict, wrong.clone()), Err(refusal), "{wrong}");
    }
}

/// Tokens that must not be accepted by a server that knows our public key, with what each of them tries.
fn corpus() -> Vec<(&'static str, String)> {
    let public = pem(&OURS);
    let good = good();
    let valid = rs256(&OURS, &header(), &good);
    let mut parts = valid.split('.');
    let (head, body, signature) =
        (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let unsigned = |alg: &str| format!("{}.", message(&json!({"alg": alg, "typ": "JWT"}), &good));
    let with = |more: Value| {
        let mut header = header();
        header.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        header
    };
    let claims = |value: Value| rs256(&OURS, &header(), &value);
    let confused = |key: &[u8]| hs256(key, &json!({"alg": "HS256", "typ": "JWT"}), &good);
    let der: PublicKeyX509Der<'_> = OURS.public_key().as_der().unwrap();
    let (modulus, exponent) = {
        let public = THEIRS.public_key();
        let parts = signature::RsaPublicKeyComponents::<Vec<u8>>::from(public);
        (URL_SAFE_NO_PAD.encode(parts.n), URL_SAFE_NO_PAD.encode(parts.e))
    };
    let embedded = json!({"jwk": {"kty": "RSA", "n": modulus, "e": exponent}});
    let mut flipped = signature.to_owned();
    let first = if flipped.starts_with('A') { "B" } else { "A" };
    flipped.replace_range(0..1, first);
    let sha512 = message(&header(), &good);
    let sha512 = signed(&sha512, &rsa_signature(&OURS, &sha512, &RSA_PKCS1_SHA512));
    let twice = format!(r#"{{"exp":1,"exp":{}}}"#, later());
    let twice = format!("{head}.{}", URL_SAFE_NO_PAD.encode(twice));
    let twice = signed(&twice, &rsa_signature(&OURS, &twice, &RSA_PKCS1_SHA256));
    vec![
        ("nothing", String::new()),
        ("two dots", "..".to_owned()),
        ("words", "a.b.c".to_owned()),
        ("alg none", unsigned("none")),
        ("alg None", unsigned("None")),
        ("alg NONE", unsigned("NONE")),
        ("alg empty", unsigned("")),
        ("RS256 without a signature", unsigned("RS256")),
        ("HS256 without a signature", unsigned("HS256")),
        ("no alg", rs256(&OURS, &json!({"typ": "JWT"}), &good)),
        ("alg as a list", rs256(&OURS, &json!({"alg": ["RS256"]}), &good)),
        ("alg in lower case", rs256(&OURS, &json!({"alg": "rs256"}), &good)),
        ("alg of another length", rs256(&OURS, &json!({"alg": "RS384"}), &good)),
        ("signature of another length", sha512),
        ("PS256 named", rs256(&OURS, &json!({"alg": "PS256"}), &good)),
        ("public key as a shared secret", confused(public.as_bytes())),
        ("the same without its last line break", confused(public.trim_end().as_bytes())),
        ("the same with a space before it", confused(format!(" {public}").as_bytes())),
        ("public key in DER as a shared secret", confused(der.as_ref())),
        ("an empty shared secret", confused(b"")),
        ("another's key", rs256(&THEIRS, &header(), &good)),
        ("another's key, embedded", rs256(&THEIRS, &with(embedded), &good)),
        (
            "another's key by address",
            rs256(&THEIRS, &with(json!({"jku": "http://evil.test/k"})), &good),
        ),
        (
            "another's certificate",
            rs256(&THEIRS, &with(json!({"x5u": "http://evil.test/c"})), &good),
        ),
        ("kid as a path", rs256(&THEIRS, &with(json!({"kid": "../../../dev/null"})), &good)),
        ("kid as a query", rs256(&THEIRS, &with(json!({"kid": "x' UNION SELECT 1--"})), &good)),
        ("critical extension", rs256(&OURS, &with(json!({"crit": ["x"], "x": 1})), &good)),
        ("empty list of critical extensions", rs256(&OURS, &with(json!({"crit": []})), &good)),
        ("unencoded payload", rs256(&OURS, &with(json!({"b64": false})), &good)),
        ("compressed payload", rs256(&OURS, &with(json!({"zip": "DEF"})), &good)),
        ("encrypted payload", rs256(&OURS, &with(json!({"enc": "A128GCM"})), &good)),
        ("a changed signature", format!("{head}.{body}.{flipped}")),
        (
            "another's payload",
            format!("{head}.{}.{signature}", part(&json!({"exp": later(), "sub": "root"}))),
        ),
        ("another header", format!("{}.{body}.{signature}", part(&with(json!({"kid": "x"}))))),
        ("a shortened signature", format!("{head}.{body}.{}", &signature[..signature.len() - 4])),
        ("a fourth part", format!("{valid}.x")),
        ("a space before it", format!(" {valid}")),
        ("a line break after it", format!("{valid}\n")),
        ("a NUL in it", format!("{head}.{body}\0.{signature}")),
        ("padding", format!("{head}=.{body}.{signature}")),
        ("no end", claims(json!({"sub": "x"}))),
        ("end as text", claims(json!({"exp": later().to_string()}))),
        ("end as nothing", claims(json!({"exp": null}))),
        ("end as a list", claims(json!({"exp": [later()]}))),
        ("end as truth", claims(json!({"exp": true}))),
        ("end before time began", claims(json!({"exp": -1}))),
        ("end beyond numbers", claims(json!({"exp": 1e300}))),
        ("end twice", twice),
        ("long expired", claims(json!({"exp": 1}))),
        ("begin as text", claims(json!({"exp": later(), "nbf": "0"}))),
        ("begin as a list", claims(json!({"exp": later(), "nbf": [0]}))),
        ("claims as a list", claims(json!([{"exp": later()}]))),
        ("claims as text", claims(json!("exp"))),
        ("scopes as a number", claims(json!({"exp": later(), "scope": 1}))),
        ("scopes as nothing", claims(json!({"exp": later(), "scope": null}))),
        ("oversized", claims(json!({"exp": later(), "sub": "x".repeat(9000)}))),
    ]
}

#[test]
fn none_of_the_corpus_is_accepted() {
    let tokens = tokens();
    let corpus = corpus();
    assert!(corpus.len() >= 50);
    for (what, token) in &corpus {
        // Twice: what was refused must not be remembered as good.
        for _ in 0..2 {
            assert!(tokens.find(token).is_err(), "{what}: {token}");
        }
    }
    assert!(tokens.find(&rs256(&OURS, &header(), &good())).is_ok(), "and the right one is");
}

#[test]
fn no_change_of_a_single_character_is_accepted() {
    let tokens = tokens();
    let token = rs256(&OURS, &header(), &good());
    for position in 0..token.len() {
        for other in ["A", "B", "_", ".", "=", " ", ""] {
            let mut changed = token.clone();
            changed.replace_range(position..=position, other);
            assert!(changed == token || tokens.find(&changed).is_err(), "{position} {other:?}");
        }
    }
}

#[test]
fn none_of_the_corpus_is_accepted_where_a_shared_secret_is_known_too() {
    let mut keys = TokenKeys::default();
    keys.add_public(&pem(&OURS)).unwrap();
    keys.add_secret(&Secret::new(SECRET)).unwrap();
    let tokens = Tokens::new(keys, &TokenRules::default()).unwrap();
    for (what, token) in corpus() {
        assert!(tokens.find(&token).is_err(), "{what}: {token}");
    }
    let by_secret = hs256(SECRET.as_bytes(), &json!({"alg": "HS256"}), &good());
    assert!(tokens.find(&by_secret).is_ok());
    assert!(tokens.find(&rs256(&OURS, &header(), &good())).is_ok());
    let cross = rs256(&OURS, &json!({"alg": "HS256"}), &good());
    assert!(tokens.find(&cross).is_err());
}

#[test]
fn a_shared_secret_signs_with_each_of_its_hashes_and_nothing_else() {
    let tokens = secret_tokens();
    for (alg, hash) in
        [("HS256", hmac::HMAC_SHA256), ("HS384", hmac::HMAC_SHA384), ("HS512", hmac::HMAC_SHA512)]
    {
        let message = message(&json!({"alg": alg}), &good());
        let key = hmac::Key::new(hash, SECRET.as_bytes());
        let token = signed(&message, hmac::sign(&key, message.as_bytes()).as_ref());
        assert!(tokens.find(&token).is_ok(), "{alg}");
    }
    assert!(tokens.find(&hs256(b"guess", &json!({"alg": "HS256"}), &good())).is_err());
    assert!(tokens.find(&hs256(SECRET.as_bytes(), &json!({"alg": "HS512"}), &good())).is_err());
    for (what, token) in corpus() {
        assert!(tokens.find(&token).is_err(), "{what}");
    }
    assert_eq!(TokenKeys::default().add_secret(&Secret::new(" ")), Err(TokenKeyError::Empty));
}

#[test]
fn keys_are_read_as_operators_paste_them() {
    let (ours, theirs) = (pem(&OURS), pem(&THEIRS));
    let base64 = STANDARD.encode(&ours);
    let broken: Vec<_> = base64.as_bytes().chunks(76).map(String::from_utf8_lossy).collect();
    let (by_ours, by_theirs) =
        (rs256(&OURS, &header(), &good()), rs256(&THEIRS, &header(), &good()));
    for (text, both) in [
        (ours.clone(), false),
        (ours.replace('\n', "\r\n"), false),
        (ours.replace('\n', "\\n"), false),
        (ours.replace('\n', " "), false),
        (format!("\u{feff}\n{ours}\n"), false),
        (base64.clone(), false),
        (base64.trim_end_matches('=').to_owned(), false),
        (broken.join("\n"), false),
        (format!("# first\n{ours}\nsecond:\n{theirs}"), true),
        (STANDARD.encode(format!("{ours}{theirs}")), true),
    ] {
        let mut keys = TokenKeys::default();
        keys.add_public(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let tokens = Tokens::new(keys, &TokenRules::default()).unwrap();
        assert!(tokens.find(&by_ours).is_ok(), "{text}");
        assert_eq!(tokens.find(&by_theirs).is_ok(), both, "{text}");
    }
}

#[test]
fn what_is_no_public_key_is_refused_at_start() {
    let short = "-----BEGIN PUBLIC KEY-----\n\
        MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBALJKuYJ9Sq8Q1hUJHMhkVl7m6vQ0yT3F\n\
        iQ0wC2c6c2Y6c2qv3b9mJ3mHq8m1VqQn1cYVd7m7TqQm1p9v6m8VvR0CAwEAAQ==\n\
        -----END PUBLIC KEY-----";
    let private = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----";
    let secret = json!({"keys": [{"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"}]}).to_string();
    let mixed = json!({"keys": [{"kty": "RSA", "alg": "HS256", "n": "AQAB", "e": "AQAB"}]});
    for text in [
        "",
        "not a key",
        "-----BEGIN PUBLIC KEY-----",
        short,
        private,
        &pem(&OURS).replace("PUBLIC KEY", "CERTIFICATE"),
        &pem(&OURS).replace("MII", "AAA"),
        "{}",
        r#"{"keys": []}"#,
        r#"{"keys": [{"kty": "XYZ"}]}"#,
        &secret,
        &mixed.to_string(),
        &STANDARD.encode("hello"),
    ] {
        let error = TokenKeys::default().add_public(text);
        assert!(error.is_err(), "{text}");
    }
}

#[test]
fn a_verified_token_is_remembered_and_still_ends() {
    let tokens = tokens();
    let token = rs256(&OURS, &header(), &good());
    let first = tokens.find(&token).unwrap();
    assert!(Arc::ptr_eq(&first, &tokens.find(&token).unwrap()), "the second time from memory");
    let fingerprint = Fingerprint::of(token.as_bytes());
    assert!(tokens.cache.get(&fingerprint, later() + LEEWAY_SECONDS + 1).is_none());
}
