//! The guard in front of every route.

use crate::support::{Options, start, start_with};

/// Every kind of route there is.
const ROUTES: [&str; 9] = [
    "/",
    "/health",
    "/metrics",
    "/llms.txt",
    "/v1/docs",
    "/v1/openapi.json",
    "/v1/things/x",
    "/v1/talk?mode=echo",
    "/nowhere",
];

#[tokio::test]
async fn a_rebound_name_reaches_nothing() {
    let server = start().await;
    for route in ROUTES {
        for host in ["evil.test", "127.0.0.1.evil", "localhost.", "localhost.evil.test:8080"] {
            let answer = server.send("GET", route, &[("Host", host)], "").await;
            assert_eq!(answer.status, 403, "{host} {route}");
            assert_eq!(answer.json()["error_code"], "guard.host");
            assert!(answer.json()["hint"].to_string().contains("allowed hosts"));
        }
        let request = format!("GET {route} HTTP/1.1\r\nConnection: close\r\n");
        for hosts in
            ["", "Host: localhost\r\nHost: evil.test\r\n", "Host: localhost\r\nHost: localhost\r\n"]
        {
            let answer = server.exchange(format!("{request}{hosts}\r\n")).await;
            assert_eq!(answer.status, 400, "{hosts:?} {route}");
        }
        let absolute = format!(
            "GET http://evil.test{route} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(server.exchange(absolute).await.status, 400, "{route}");
    }
}

#[tokio::test]
async fn a_foreign_page_reaches_nothing_and_changes_nothing() {
    let server = start().await;
    for route in ROUTES {
        for method in ["GET", "POST", "OPTIONS", "DELETE"] {
            let headers = [
                ("Origin", "http://evil.test"),
                ("Content-Type", "text/plain"),
                ("Access-Control-Request-Method", "POST"),
            ];
            let answer = server.send(method, route, &headers, "").await;
            assert_eq!(answer.status, 403, "{method} {route}");
            assert!(answer.header("access-control-allow-origin").is_none());
        }
    }
    let headers = [("Origin", "null"), ("Content-Type", "text/plain")];
    assert_eq!(server.send("POST", "/v1/wait", &headers, "").await.status, 403);
    assert_eq!(server.fake.waiting.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_servers_own_pages_may_call_it() {
    let server = start().await;
    let headers = [("Host", "localhost:8080"), ("Origin", "http://localhost:8080")];
    let answer = server.send("GET", "/v1/things/x", &headers, "").await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("access-control-allow-origin").is_none());
}

#[tokio::test]
async fn an_allowed_page_may_call_and_read() {
    let server = start_with(Options {
        allowed_origins: vec!["https://App.test".to_owned()],
        ..Options::default()
    })
    .await;
    let origin = ("Origin", "https://app.test");
    let answer = server.send("GET", "/v1/things/x", &[origin], "").await;
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (200, Some("https://app.test"))
    );
    assert_eq!(answer.header("vary"), Some("origin"));
    let answer = server.send("GET", "/nowhere", &[origin], "").await;
    assert_eq!(
        answer.header("access-control-allow-origin"),
        Some("https://app.test"),
        "errors too"
    );
    let preflight = [
        origin,
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type"),
    ];
    let answer = server.send("OPTIONS", "/v1/echo", &preflight, "").await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-headers"), Some("content-type"));
    assert!(answer.header("access-control-allow-methods").unwrap().contains("DELETE"));
    let answer = server.send("GET", "/v1/things/x", &[("Origin", "https://b.test")], "").await;
    assert_eq!(answer.status, 403);
}
