//! Requests that no honest client sends: smuggled, oversized, unfinished, too many.

use std::time::Duration;

use atoll_api::system::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{DEADLINE, KEY, Options, Server, eventually, locked, start, start_with};

/// Everything a connection gives back until it ends.
async fn converse(server: &Server, request: &str) -> String {
    let mut stream = server.connect().await;
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.ok();
    let mut bytes = Vec::new();
    // A reset counts as an end: the server has no more to say to such a client.
    timeout(DEADLINE, stream.read_to_end(&mut bytes)).await.expect("it ends").ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn a_request_that_can_be_read_in_two_ways_hides_no_other() {
    let server = start_with(locked()).await;
    let hidden = format!("GET /v1/things/smuggled HTTP/1.1\r\nHost: h\r\nX-API-Key: {KEY}\r\n\r\n");
    let post = |headers: &str, body: &str| {
        format!(
            "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {KEY}\r\n{headers}\r\n{body}"
        )
    };
    let empty = format!("0\r\n\r\n{hidden}");
    let length = empty.len();
    for (what, headers, body) in [
        ("CL.TE", format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"), &empty),
        ("TE.CL", format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"), &empty),
        ("two lengths", "Content-Length: 0\r\nContent-Length: 5\r\n".to_owned(), &hidden),
        ("a list of lengths", "Content-Length: 0, 5\r\n".to_owned(), &hidden),
        ("a signed length", "Content-Length: +0\r\n".to_owned(), &hidden),
        ("a length with a blank", "Content-Length: 0 0\r\n".to_owned(), &hidden),
        ("a length in hex", "Content-Length: 0x0\r\n".to_owned(), &hidden),
        ("an endless length", "Content-Length: 99999999999999999999\r\n".to_owned(), &hidden),
        ("an unknown encoding", "Transfer-Encoding: xchunked\r\n".to_owned(), &empty),
        ("chunked not last", "Transfer-Encoding: chunked, identity\r\n".to_owned(), &empty),
        ("blank before the colon", "Transfer-Encoding : chunked\r\n".to_owned(), &empty),
        ("a folded line", "Transfer-Encoding:\r\n chunked\r\n".to_owned(), &empty),
        (
            "a bare line feed",
            "X: y\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n".to_owned(),
            &empty,
        ),
        ("a NUL", "X: y\0z\r\nContent-Length: 0\r\n".to_owned(), &hidden),
    ] {
        let answers = converse(&server, &post(&headers, body)).await;
        assert!(!answers.contains("smuggled"), "{what}: {answers}");
        assert!(answers.matches("HTTP/1.1 200").count() <= 1, "{what}: {answers}");
    }
    for chunk in
        ["0x0\r\n\r\n", "-1\r\n\r\n", "ffffffffffffffffff\r\n", "0 0\r\n\r\n", "5\r\n{\"\"\r\n"]
    {
        let body = format!("{chunk}{hidden}");
        let answers = converse(&server, &post("Transfer-Encoding: chunked\r\n", &body)).await;
        assert!(!answers.contains("smuggled"), "{chunk:?}: {answers}");
    }
    let old = format!(
        "POST /v1/echo HTTP/1.0\r\nHost: localhost\r\nX-API-Key: {KEY}\r\nTransfer-Encoding: chunked\r\n\r\n{empty}"
    );
    assert!(!converse(&server, &old).await.contains("smuggled"));
}

#[tokio::test]
async fn a_refused_request_takes_its_body_with_it() {
    let server = start_with(locked()).await;
    let inner = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let request = format!(
        "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{inner}\
         GET /v1/things/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        inner.len()
    );
    let answers = converse(&server, &request).await;
    assert_eq!(answers.matches("HTTP/1.1 401").count(), 2, "{answers}");
    assert!(!answers.contains("HTTP/1.1 200"), "the body was taken for a request: {answers}");
}

#[tokio::test]
async fn what_is_too_large_is_told_so() {
    let server = start().await;
    let long = format!("/v1/things/{}", "x".repeat(33 << 10));
    let answer = server.get(&long).await;
    assert_eq!(
        (answer.status, answer.json()["error_code"].as_str()),
        (414, Some("request.target"))
    );
    let value = "x".repeat(70 << 10);
    assert_eq!(server.send("GET", "/health", &[("X-Large", &value)], "").await.status, 431);
    let many: Vec<_> = (0..200).map(|number| (format!("X-{number}"), "x")).collect();
    let many: Vec<_> = many.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    assert_eq!(server.send("GET", "/health", &many, "").await.status, 431);
}

#[tokio::test]
async fn odd_requests_are_refused_and_break_nothing() {
    let server = start().await;
    for request in [
        "GET /health HTTP/2.0\r\nHost: localhost\r\n\r\n",
        "GET  /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /health\r\n\r\n",
        "GE\0T /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /hea\0lth HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\0\x01\0",
    ] {
        let answer = converse(&server, request).await;
        assert!(!answer.contains("200 OK"), "{request:?}: {answer}");
        assert_eq!(server.get("/health").await.status, 200, "after {request:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_that_stops_arriving_is_given_up() {
    let server = start().await;
    for piece in ["", "G", "GET /health HTTP/1.1\r\nHost: localhost\r\nX-"] {
        let mut stream = server.connect().await;
        stream.write_all(piece.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        // No time passes but what everybody waits for: the server's patience ends before this.
        let read = timeout(Duration::from_mins(10), stream.read_to_end(&mut bytes)).await;
        assert!(read.is_ok(), "{piece:?} is waited for for ever");
        assert!(!String::from_utf8_lossy(&bytes).contains("200"), "{piece:?}");
    }
}

#[tokio::test]
async fn connections_have_a_bound_and_room_comes_back() {
    let limits = Limits { connections: 4, ..Limits::default() };
    let server = start_with(Options { limits, ..Options::default() }).await;
    let mut held = Vec::new();
    for _ in 0..4 {
        let mut stream = server.connect().await;
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut piece = [0; 1024];
        assert!(stream.read(&mut piece).await.unwrap() > 0, "served");
        held.push(stream);
    }
    let mut crowded = server.connect().await;
    let mut told = String::new();
    timeout(DEADLINE, crowded.read_to_string(&mut told)).await.unwrap().unwrap();
    assert!(told.starts_with("HTTP/1.1 503 ") && told.ends_with("open"), "{told}");
    held.pop();
    let mut answered = false;
    while !answered {
        let mut stream = server.connect().await;
        stream
            .write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut answer = String::new();
        timeout(DEADLINE, stream.read_to_string(&mut answer)).await.unwrap().ok();
        answered = answer.starts_with("HTTP/1.1 200");
    }
}

/// Connections of one kind, as many as asked for.
async fn dribblers(server: &Server, count: usize, said: &str) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for _ in 0..count {
        let mut stream = server.connect().await;
        stream.write_all(said.as_bytes()).await.unwrap();
        held.push(stream);
    }
    held
}

#[tokio::test]
async fn a_thousand_unfinished_requests_keep_nobody_waiting() {
    let files = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files }).unwrap();
    let most = files.maximum.unwrap_or(u64::MAX).min(8192);
    let count = usize::try_from(most / 4).unwrap().min(1000) / 4;
    let server = start().await;
    let held = [
        dribblers(&server, count, "").await,
        dribblers(&server, count, "GET /v1/things/x HTTP/1.1\r\nHost: localhost\r\nX-Slow: ").await,
        dribblers(
            &server,
            count,
            "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
        )
        .await,
        dribblers(&server, count, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await,
    ];
    for _ in 0..20 {
        assert_eq!(server.get("/v1/things/x").await.status, 200);
    }
    drop(held);
    let mut gone = false;
    for _ in 0..1000 {
        let metrics = server.get("/metrics").await.body;
        gone = metrics.contains("atoll_http_requests_in_flight 1\n");
        if gone {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(gone, "requests of clients that left are dropped");
    eventually("the server still lives", || !server.serving.is_finished()).await;
}
