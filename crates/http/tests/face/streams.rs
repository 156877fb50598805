//! Server-sent events.

use tokio::io::AsyncWriteExt;

use crate::support::{read_until, start};

const ACCEPT: (&str, &str) = ("Accept", "text/event-stream");

#[tokio::test]
async fn events_are_sent_in_order_with_their_ids() {
    let server = start().await;
    let body = r#"{"text":"a\nb","times":3}"#;
    let answer = server.send("POST", "/v1/echo", &[ACCEPT], body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("cache-control"), Some("no-cache"));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    assert!(answer.body.contains("event: said\nid: 1\ndata: {"), "{}", answer.body);
    assert!(answer.body.contains(r#""text":"a\nb""#), "{}", answer.body);
    let last = answer.body.find("id: 3\n").unwrap();
    assert!(answer.body.find("id: 2\n").unwrap() < last);
}

#[tokio::test]
async fn a_stream_resumes_after_the_last_event_seen() {
    let server = start().await;
    let headers = [ACCEPT, ("Last-Event-ID", "2")];
    let answer = server.send("POST", "/v1/echo", &headers, r#"{"text":"","times":3}"#).await;
    assert!(answer.body.contains("id: 3\n") && !answer.body.contains("id: 2\n"));
}

#[tokio::test]
async fn errors_before_the_first_event_are_ordinary_answers() {
    let server = start().await;
    let answer = server.send("POST", "/v1/fail", &[ACCEPT], r#"{"how":"missing"}"#).await;
    assert_eq!((answer.status, answer.header("content-type")), (404, Some("application/json")));
    let answer = server.send("POST", "/v1/echo", &[ACCEPT], "").await;
    assert_eq!(answer.status, 422);
}

#[tokio::test]
async fn a_panic_in_a_stream_ends_it_with_an_error_event() {
    let server = start().await;
    let answer = server.send("POST", "/v1/fail", &[ACCEPT], r#"{"how":"panic"}"#).await;
    assert!(answer.body.contains("event: error\n"), "{}", answer.body);
    assert!(server.get("/metrics").await.body.contains("atoll_http_panics_total 1\n"));
}

#[tokio::test]
async fn only_a_caller_that_asks_gets_a_stream() {
    let server = start().await;
    let headers = [("Accept", "*/*")];
    let answer = server.send("POST", "/v1/echo", &headers, r#"{"text":"x"}"#).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let answer = server.send("GET", "/v1/things/x", &[ACCEPT], "").await;
    assert_eq!(answer.header("content-type"), Some("application/json"), "cannot stream");
}

#[tokio::test]
async fn the_head_of_a_silent_stream_comes_at_once() {
    let server = start().await;
    let mut stream = server.connect().await;
    let head = "POST /v1/echo?times=0&text=x HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\
                Content-Length: 0\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    read_until(&mut stream, "text/event-stream").await;
}
