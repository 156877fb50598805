//! Key sets: which key is asked, and signatures that must not be good for any of them.

use super::*;

/// A set with a key of each kind.
struct Set {
    p256: EcdsaKeyPair,
    ed25519: Ed25519KeyPair,
    document: Value,
    tokens: Tokens,
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn set() -> Set {
    let p256 = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let ed25519 = Ed25519KeyPair::generate().unwrap();
    let rsa = signature::RsaPublicKeyComponents::<Vec<u8>>::from(OURS.public_key());
    let point = p256.public_key().as_ref();
    let document = json!({"keys": [
        {"kty": "RSA", "kid": "r", "use": "sig", "n": encode(&rsa.n), "e": encode(&rsa.e)},
        {"kty": "EC", "kid": "e", "crv": "P-256", "x": encode(&point[1..33]), "y": encode(&point[33..])},
        {"kty": "OKP", "kid": "o", "crv": "Ed25519", "alg": "EdDSA", "x": encode(ed25519.public_key().as_ref())},
        {"kty": "RSA", "kid": "not for us", "use": "enc", "n": "AQAB", "e": "AQAB"},
    ]});
    let mut keys = TokenKeys::default();
    keys.add_public(&document.to_string()).unwrap();
    let tokens = Tokens::new(keys, &TokenRules::default()).unwrap();
    Set { p256, ed25519, document, tokens }
}

fn named(alg: &str, kid: &str) -> Value {
    json!({"alg": alg, "kid": kid})
}

#[test]
fn a_key_set_chooses_by_name_and_pins_each_algorithm() {
    let Set { p256, ed25519, tokens, .. } = set();
    let random = SystemRandom::new();
    assert!(tokens.find(&rs256(&OURS, &named("RS256", "r"), &good())).is_ok());
    assert!(tokens.find(&rs256(&OURS, &named("RS256", "e"), &good())).is_err());
    assert!(tokens.find(&rs256(&OURS, &header(), &good())).is_ok(), "no name: every key is tried");
    let elliptic = |kid: &str| {
        let message = message(&named("ES256", kid), &json!({"exp": later()}));
        signed(&message, p256.sign(&random, message.as_bytes()).unwrap().as_ref())
    };
    assert_eq!(tokens.find(&elliptic("e")).unwrap().id, "e");
    assert!(tokens.find(&elliptic("r")).is_err());
    let edwards = message(&named("EdDSA", "o"), &good());
    let edwards = signed(&edwards, ed25519.sign(edwards.as_bytes()).as_ref());
    assert!(tokens.find(&edwards).is_ok());
    for (what, token) in corpus() {
        assert!(tokens.find(&token).is_err(), "{what}");
    }
}

#[test]
fn a_name_is_that_of_a_key_exactly_and_never_a_way_to_another() {
    let tokens = set().tokens;
    let long = "r".repeat(4000);
    for kid in [
        "R",
        "r ",
        " r",
        "r\0",
        "r\0x",
        "",
        "e",
        "o",
        "r,e",
        "r|e",
        "0",
        "/r",
        "./r",
        "../r",
        "*",
        "r/../r",
        "%72",
        "r' OR '1'='1",
        "$(id)",
        "not for us",
        "null",
        "/dev/null",
        &long,
    ] {
        let mine = rs256(&OURS, &named("RS256", kid), &good());
        assert!(tokens.find(&mine).is_err(), "{kid:?} with the right signature");
        let another = rs256(&THEIRS, &named("RS256", kid), &good());
        assert!(tokens.find(&another).is_err(), "{kid:?}");
    }
    for odd in [json!(0), json!(true), json!(["r"]), json!({"r": "r"}), json!(1.5)] {
        let header = json!({"alg": "RS256", "kid": odd});
        assert!(tokens.find(&rs256(&OURS, &header, &good())).is_err(), "{odd}");
    }
    let twice = format!("{}.{}", encode(br#"{"alg":"RS256","kid":"e","kid":"r"}"#), part(&good()));
    let twice = signed(&twice, &rsa_signature(&OURS, &twice, &RSA_PKCS1_SHA256));
    assert!(tokens.find(&twice).is_err(), "two names");
}

#[test]
fn signatures_made_without_a_key_are_good_for_none() {
    let tokens = set().tokens;
    let mut one = vec![0; 256];
    one[255] = 1;
    let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    let order: Vec<u8> =
        (0..32).map(|at| u8::from_str_radix(&order[2 * at..2 * at + 2], 16).unwrap()).collect();
    let identity = [vec![1], vec![0; 63]].concat();
    for (alg, kid, signature) in [
        ("ES256", "e", vec![]),
        ("ES256", "e", vec![0; 64]),
        ("ES256", "e", vec![0xff; 64]),
        ("ES256", "e", [vec![0; 32], order.clone()].concat()),
        ("ES256", "e", [order.clone(), order].concat()),
        ("ES256", "e", vec![0x30, 6, 2, 1, 0, 2, 1, 0]),
        ("ES256", "e", [vec![0; 31], vec![1], vec![0; 31], vec![1]].concat()),
        ("EdDSA", "o", vec![]),
        ("EdDSA", "o", vec![0; 64]),
        ("EdDSA", "o", vec![0xff; 64]),
        ("EdDSA", "o", identity),
        ("RS256", "r", vec![]),
        ("RS256", "r", vec![0; 256]),
        ("RS256", "r", vec![0xff; 256]),
        ("RS256", "r", one),
        ("RS256", "r", vec![0; 512]),
    ] {
        for header in [named(alg, kid), json!({"alg": alg})] {
            let token = signed(&message(&header, &good()), &signature);
            assert!(tokens.find(&token).is_err(), "{alg} {signature:?}");
        }
    }
}

#[test]
fn what_a_set_publishes_is_no_shared_secret() {
    let Set { tokens, document, .. } = set();
    let mut secrets = vec![document.to_string()];
    for key in document["keys"].as_array().unwrap() {
        secrets.push(key.to_string());
        secrets.extend(
            ["n", "e", "x", "y", "kid"]
                .iter()
                .filter_map(|name| key[*name].as_str().map(str::to_owned)),
        );
    }
    for secret in &secrets {
        let decoded = URL_SAFE_NO_PAD.decode(secret).unwrap_or_default();
        for kid in ["r", "e", "o"] {
            for bytes in [secret.as_bytes(), &decoded] {
                let token = hs256(bytes, &named("HS256", kid), &good());
                assert!(tokens.find(&token).is_err(), "{secret}");
                let embedded = json!({"alg": "HS256", "jwk": {"kty": "oct", "k": encode(bytes)}});
                assert!(tokens.find(&hs256(bytes, &embedded, &good())).is_err(), "{secret}");
            }
        }
    }
    for more in [
        json!({"x5c": [STANDARD.encode(THEIRS.public_key().as_ref())]}),
        json!({"x5t": encode(b"thumb"), "x5t#S256": encode(b"print")}),
        json!({"jwk": document["keys"][0]}),
        json!({"jku": "file:///etc/passwd", "kid": "r"}),
    ] {
        let mut header = header();
        header.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert!(tokens.find(&rs256(&THEIRS, &header, &good())).is_err(), "{more}");
    }
}
