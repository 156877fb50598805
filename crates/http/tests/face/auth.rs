//! Who is let in, and to what.

use std::sync::Arc;
use std::time::Duration;

use atoll_api::auth::{Authenticate, CreateTicket};
use atoll_auth::{Authenticator, Secret, TokenKeys};
use atoll_client::Client;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, http::StatusCode};

use crate::fake::{Lookup, Remove};
use crate::support::{
    Answer, KEY, NOTHING, Options, READER, Server, locked, settings, start, start_with,
};

/// Every kind of route there is, and what has none.
const ROUTES: [(&str, &str); 16] = [
    ("GET", "/"),
    ("GET", "/metrics"),
    ("GET", "/llms.txt"),
    ("GET", "/favicon.ico"),
    ("GET", "/v1/docs"),
    ("GET", "/v1/docs/initialise.js"),
    ("GET", "/v1/openapi.json"),
    ("GET", "/v1/things/x"),
    ("DELETE", "/v1/things/x"),
    ("POST", "/v1/echo"),
    ("GET", "/v1/talk?mode=echo"),
    ("POST", "/v1/take"),
    ("POST", "/tickets"),
    ("GET", "/auth"),
    ("GET", "/nowhere"),
    ("OPTIONS", "/v1/echo"),
];

async fn ticket(server: &Server, key: &str) -> String {
    let answer = server.send("POST", "/tickets", &[("X-API-Key", key)], "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["ticket"].as_str().unwrap().to_owned()
}

fn refused(answer: &Answer, code: &str) {
    assert_eq!(answer.status, 401, "{answer:?}");
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    let body = answer.json();
    assert_eq!((&body["success"], &body["code"]), (&false.into(), &401.into()));
    assert_eq!(body["error_code"], code, "{body}");
    assert!(body["hint"].as_str().is_some_and(|hint| hint.len() > 20), "{body}");
}

#[tokio::test]
async fn nothing_is_answered_without_a_credential_but_the_public_list() {
    let server = start_with(locked()).await;
    for (method, route) in ROUTES {
        refused(&server.send(method, route, &[], "").await, "auth.missing");
        let wrong = ("Authorization", "Bearer wrong");
        refused(&server.send(method, route, &[wrong], "").await, "auth.invalid");
    }
    for public in ["/health", "/health?x=1", "/health?ticket=wrong"] {
        for method in ["GET", "HEAD"] {
            assert_eq!(server.send(method, public, &[], "").await.status, 200, "{public}");
        }
        assert_eq!(server.send("POST", public, &[], "").await.status, 401, "{public}");
    }
    assert_eq!(server.get("/v1/ping").await.status, 404, "public, and nothing here");
}

#[tokio::test]
async fn nothing_that_looks_like_a_public_path_is_one() {
    let server = start_with(locked()).await;
    for target in [
        "//health",
        "/health/",
        "/health//",
        "/./health",
        "/x/../health",
        "/%68ealth",
        "/health%2f",
        "/health;x=1",
        "/health..;/",
        "/HEALTH",
        "/Health",
        "/health/../v1/things/x",
        "/health/%2e%2e/v1/things/x",
        "/health/..;/v1/things/x",
        "/v1/ping/../things/x",
        "/v1//things/x",
        "//v1/things/x",
        "/v1/things/x?x=.js",
        "/v1/things/x?/health",
        "/v1/things/x?x=/v1/ping",
        "/v1/things/health",
        "/v1/things/x.js",
        "/v1/things/x.css?static",
        "/v1/things/x%00/health",
        "/v1/things/x%23/health",
        "/static/../v1/things/x",
    ] {
        let answer = server.get(target).await;
        assert_eq!(answer.status, 401, "{target}: {answer:?}");
    }
    for target in ["http://localhost/v1/things/x", "http://localhost/health/../v1/things/x"] {
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        assert_eq!(server.exchange(request).await.status, 401, "{target}");
    }
    for other in ["x-original-url", "x-rewrite-url", "x-forwarded-uri", "x-original-uri"] {
        let answer = server.send("GET", "/v1/things/x", &[(other, "/health")], "").await;
        assert_eq!(answer.status, 401, "{other}");
    }
    for method in ["X-HTTP-Method-Override", "X-Method"] {
        let answer = server.send("POST", "/health", &[(method, "GET")], "").await;
        assert_eq!(answer.status, 401, "{method}");
    }
}

#[tokio::test]
async fn a_key_is_good_in_each_of_its_places() {
    let server = start_with(locked()).await;
    let bearer = format!("Bearer {KEY}");
    for header in [("Authorization", bearer.as_str()), ("X-AIO-API-Key", KEY), ("x-api-key", KEY)] {
        assert_eq!(server.send("GET", "/v1/things/x", &[header], "").await.status, 200);
        assert_eq!(server.send("GET", "/nowhere", &[header], "").await.status, 404);
        assert_eq!(server.send("GET", "/metrics", &[header], "").await.status, 200);
    }
    assert_eq!(server.get(&format!("/v1/things/x?api_key={KEY}")).await.status, 200);
    assert_eq!(server.get(&format!("/v1/things/x?%61pi_key={KEY}")).await.status, 200);
    for (header, code) in [
        (("Authorization", format!("bearer {KEY}")), "auth.format"),
        (("Authorization", format!("Bearer  {KEY}")), "auth.format"),
        (("Authorization", format!("Basic {KEY}")), "auth.format"),
        (("Authorization", KEY.to_owned()), "auth.format"),
        (("Authorization", "Bearer ".to_owned()), "auth.format"),
        (("Authorization", format!("Bearer {KEY}x")), "auth.invalid"),
        (("X-API-Key", format!("Bearer {KEY}")), "auth.invalid"),
        (("X-API-Key", KEY.to_uppercase()), "auth.invalid"),
        (("Cookie", format!("api_key={KEY}")), "auth.missing"),
        (("Cookie", format!("atoll_page={KEY}")), "auth.missing"),
        (("Proxy-Authorization", bearer.clone()), "auth.missing"),
    ] {
        let header = (header.0, header.1.as_str());
        refused(&server.send("GET", "/v1/things/x", &[header], "").await, code);
    }
    let twice = [("Authorization", bearer.as_str()), ("Authorization", bearer.as_str())];
    refused(&server.send("GET", "/v1/things/x", &twice, "").await, "auth.format");
    let twice = format!("/v1/things/x?api_key={KEY}&api_key={KEY}");
    refused(&server.get(&twice).await, "auth.format");
    let body = format!(r#"{{"text":"x","api_key":"{KEY}"}}"#);
    refused(&server.post("/v1/echo", &body).await, "auth.missing");
}

#[tokio::test]
async fn a_narrow_key_does_what_its_scopes_say() {
    let server = start_with(locked()).await;
    let reader = ("X-API-Key", READER);
    assert_eq!(server.send("GET", "/v1/things/x", &[reader], "").await.status, 200);
    let answer = server.send("DELETE", "/v1/things/x", &[reader], "").await;
    assert_eq!((answer.status, answer.json()["error_code"].as_str()), (403, Some("auth.scope")));
    assert!(answer.json()["message"].as_str().unwrap().contains("test:write"), "{answer:?}");
    assert_eq!(server.send("GET", "/metrics", &[reader], "").await.status, 403);
    let nothing = ("X-API-Key", NOTHING);
    for (method, route) in ROUTES {
        let answer = server.send(method, route, &[nothing], "").await;
        let open = match route {
            // The dashboard, or where a program built without it leads to.
            "/" => {
                assert!([200, 307].contains(&answer.status), "{answer:?}");
                continue;
            }
            "/favicon.ico" => 204,
            "/v1/docs" | "/v1/openapi.json" | "/auth" => 200,
            "/v1/docs/initialise.js" => continue,
            "/nowhere" => 404,
            _ if method == "OPTIONS" => 405,
            _ => 403,
        };
        assert_eq!(answer.status, open, "{method} {route}: {answer:?}");
    }
    // A large body is read on and dropped, so that the refusal arrives.
    let body = "x".repeat(2 << 20);
    assert_eq!(server.send("POST", "/v1/measure", &[reader], &body).await.status, 403);
    assert_eq!(server.send("POST", "/v1/measure", &[], &body).await.status, 401);
}

#[tokio::test]
async fn a_ticket_is_good_wherever_an_address_is() {
    let server = start_with(locked()).await;
    let answer = server.send("POST", "/tickets", &[("X-API-Key", READER)], "").await;
    let body = answer.json();
    assert_eq!(body.as_object().unwrap().len(), 2, "no envelope: {body}");
    assert_eq!(body["expires_in"], 30);
    let ticket = body["ticket"].as_str().unwrap();
    for _ in 0..3 {
        assert_eq!(server.get(&format!("/v1/things/x?ticket={ticket}")).await.status, 200);
    }
    let narrow = server.send("DELETE", &format!("/v1/things/x?ticket={ticket}"), &[], "").await;
    assert_eq!(narrow.status, 403, "it may do what the key may");
    let renewal = server.send("POST", &format!("/tickets?ticket={ticket}"), &[], "").await;
    assert_eq!(renewal.json()["error_code"], "auth.no_renewal");
    refused(&server.get("/v1/things/x?ticket=wrong").await, "auth.invalid");
    refused(&server.get("/v1/things/x?ticket=").await, "auth.invalid");
    let twice = format!("/v1/things/x?ticket={ticket}&ticket={ticket}");
    refused(&server.get(&twice).await, "auth.format");
    let elsewhere = start_with(locked()).await;
    refused(&elsewhere.get(&format!("/v1/things/x?ticket={ticket}")).await, "auth.invalid");
    for header in ["Authorization", "X-API-Key"] {
        let value = format!("Bearer {ticket}");
        let answer = server.send("GET", "/v1/things/x", &[(header, &value)], "").await;
        assert_eq!(answer.status, 401, "a ticket is for addresses");
    }
}

#[tokio::test]
async fn a_hundred_uses_at_once_of_a_ticket_all_count_until_it_has_ended() {
    let short = atoll_auth::Settings { ticket_lasts: Duration::ZERO, ..settings() };
    let authenticator = Arc::new(Authenticator::new(short).unwrap());
    let ended = start_with(Options { authenticator, ..Options::default() }).await;
    let stale = ticket(&ended, KEY).await;
    let server = start_with(locked()).await;
    let good = ticket(&server, KEY).await;
    let ask = async |server: &Server, ticket: &str| {
        let target = format!("/v1/things/x?ticket={ticket}");
        let asked = (0..100).map(|_| server.get(&target));
        let answers = futures::future::join_all(asked).await;
        answers.iter().filter(|answer| answer.status == 200).count()
    };
    assert_eq!(ask(&server, &good).await, 100);
    assert_eq!(ask(&ended, &stale).await, 0, "nobody gets in after the end");
}

async fn open_socket(server: &Server, query: &str, header: Option<(&'static str, &str)>) -> u16 {
    let url = format!("ws://localhost:{}/v1/talk?mode=echo{query}", server.port());
    let mut request = url.into_client_request().unwrap();
    if let Some((name, value)) = header {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    match tokio_tungstenite::client_async(request, server.connect().await).await {
        Ok(_) => 101,
        Err(tungstenite::Error::Http(answer)) => answer.status().as_u16(),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn sockets_are_behind_it_too() {
    let server = start_with(locked()).await;
    assert_eq!(open_socket(&server, "", None).await, 401);
    assert_eq!(open_socket(&server, "&ticket=wrong", None).await, 401);
    let good = ticket(&server, KEY).await;
    assert_eq!(open_socket(&server, &format!("&ticket={good}"), None).await, 101);
    let bearer = format!("Bearer {KEY}");
    assert_eq!(open_socket(&server, "", Some(("authorization", &bearer))).await, 101);
    let reader = format!("Bearer {READER}");
    let status = open_socket(&server, "", Some(("authorization", &reader))).await;
    assert_eq!(status, StatusCode::FORBIDDEN.as_u16(), "the scope is asked for before the change");
    let query = format!("&ticket={good}");
    let foreign = open_socket(&server, &query, Some(("origin", "http://evil.test"))).await;
    assert_eq!(foreign, 403);
}

#[tokio::test]
async fn a_proxy_may_ask_about_another_request() {
    let server = start_with(locked()).await;
    let ask = async |headers: &[(&str, &str)]| server.send("GET", "/auth", headers, "").await;
    refused(&ask(&[]).await, "auth.missing");
    let answer = ask(&[("Authorization", &format!("Bearer {READER}"))]).await;
    assert_eq!((answer.status, answer.json()["id"].as_str()), (200, Some("reader")));
    assert_eq!(answer.json()["scopes"], "test:read auth");
    let good = ticket(&server, KEY).await;
    let original = format!("/jupyter/lab?x=1&ticket={good}");
    let answer = ask(&[("X-Original-URI", &original)]).await;
    assert_eq!((answer.status, answer.json()["how"].as_str()), (200, Some("ticket")));
    refused(&ask(&[("X-Original-URI", "/jupyter?ticket=wrong")]).await, "auth.invalid");
    refused(&ask(&[("X-Original-URI", "/health")]).await, "auth.missing");
    // The header means something there and nowhere else.
    let other = server.send("GET", "/v1/things/x", &[("X-Original-URI", &original)], "").await;
    refused(&other, "auth.missing");
}

#[tokio::test]
async fn a_shared_secret_alone_lets_strangers_in_but_no_liars() {
    let mut token_keys = TokenKeys::default();
    token_keys.add_secret(&Secret::new("a shared secret of some length")).unwrap();
    let optional = atoll_auth::Settings { token_keys, ..atoll_auth::Settings::default() };
    let authenticator = Arc::new(Authenticator::new(optional).unwrap());
    let server = start_with(Options { authenticator, ..Options::default() }).await;
    assert_eq!(server.get("/v1/things/x").await.status, 200);
    let liar = ("Authorization", "Bearer a.b.c");
    refused(&server.send("GET", "/v1/things/x", &[liar], "").await, "auth.invalid");
    let clumsy = ("Authorization", "Token x");
    let answer = server.send("GET", "/v1/things/x", &[clumsy], "").await;
    refused(&answer, "auth.format");
    assert_eq!(answer.json()["message"], "invalid authorization format");
    // Strangers are let in, so pages of others must not be.
    let rebound = server.send("GET", "/v1/things/x", &[("Host", "evil.test")], "").await;
    assert_eq!(rebound.status, 403);
}

#[tokio::test]
async fn a_server_that_asks_for_nothing_does_not_look_at_credentials() {
    let server = start().await;
    let header = ("Authorization", "Bearer whatever");
    assert_eq!(server.send("GET", "/v1/things/x", &[header], "").await.status, 200);
    assert_eq!(server.get("/v1/things/x?ticket=x&api_key=y").await.status, 200);
    assert_eq!(server.send("POST", "/tickets", &[], "").await.json()["expires_in"], 30);
    assert_eq!(server.get("/auth").await.json()["how"], "anonymous");
}

#[tokio::test]
async fn names_matter_less_and_origins_as_much_where_everybody_is_asked() {
    let server = start_with(locked()).await;
    let key = ("X-API-Key", KEY);
    let named = server.send("GET", "/v1/things/x", &[key, ("Host", "box.example")], "").await;
    assert_eq!(named.status, 200);
    let foreign = [key, ("Origin", "http://evil.test")];
    assert_eq!(server.send("GET", "/v1/things/x", &foreign, "").await.status, 403);
    let own = [key, ("Host", "box.example"), ("Origin", "http://box.example")];
    assert_eq!(server.send("GET", "/v1/things/x", &own, "").await.status, 200);
    let proxied = [
        key,
        ("Host", "inner:8080"),
        ("X-Forwarded-Host", "box.example"),
        ("Origin", "https://box.example"),
    ];
    assert_eq!(server.send("GET", "/v1/things/x", &proxied, "").await.status, 200);
    for hosts in ["", "Host: a\r\nHost: b\r\n", "Host: a@b\r\n"] {
        let request = format!(
            "GET /v1/things/x HTTP/1.1\r\n{hosts}X-API-Key: {KEY}\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(server.exchange(request).await.status, 400, "{hosts:?}");
    }
}

#[tokio::test]
async fn a_preflight_needs_no_credential_and_no_answer_ever_allows_cookies() {
    let options = Options { allowed_origins: vec!["https://app.test".to_owned()], ..locked() };
    let server = start_with(options).await;
    let origin = ("Origin", "https://app.test");
    let asked = [origin, ("Access-Control-Request-Method", "POST")];
    let answer = server.send("OPTIONS", "/v1/echo", &asked, "").await;
    assert_eq!(answer.status, 204);
    assert!(answer.header("access-control-allow-credentials").is_none());
    let answer = server.send("GET", "/v1/things/x", &[origin], "").await;
    assert_eq!(answer.status, 401);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.test"));
    let answer = server.send("GET", "/v1/things/x", &[origin, ("X-API-Key", KEY)], "").await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("access-control-allow-credentials").is_none());
    let foreign = [("Origin", "https://evil.test"), ("Access-Control-Request-Method", "POST")];
    assert_eq!(server.send("OPTIONS", "/v1/echo", &foreign, "").await.status, 403);
}

#[tokio::test]
async fn the_client_shows_its_credential_and_reads_bare_answers() {
    let server = start_with(locked()).await;
    let stranger = Client::new(&server.url()).unwrap();
    let lookup = || Lookup { name: "x".to_owned(), limit: None };
    let error = stranger.call(lookup()).await.unwrap_err();
    assert_eq!((error.status(), error.error_code()), (Some(401), Some("auth.missing")));
    let known = stranger.clone().with_credential(READER).unwrap();
    assert_eq!(known.call(lookup()).await.unwrap()["name"], "x");
    let ticket = known.call(CreateTicket {}).await.unwrap();
    assert_eq!((ticket.ticket.len(), ticket.expires_in), (43, 30));
    assert_eq!(known.call(Authenticate {}).await.unwrap()["id"], "reader");
    let error = known.call(Remove { name: "x".to_owned() }).await.unwrap_err();
    assert_eq!((error.status(), error.error_code()), (Some(403), Some("auth.scope")));
    let error = stranger.call(CreateTicket {}).await.unwrap_err();
    assert_eq!(error.status(), Some(401));
}
