//! Files in: forms, bare bodies, and everything that can be wrong with them.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::store::sum;
use crate::support::{Answer, Answers, Options, Server, eventually, read_until, start, start_with};

const BOUNDARY: &str = "d74496d66958873e";

/// A part of a form; a file when it has a name.
fn part(name: &str, filename: Option<&str>, content: &str) -> String {
    let filename = filename.map(|name| format!("; filename=\"{name}\"")).unwrap_or_default();
    format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{filename}\r\n\r\n{content}\r\n"
    )
}

fn file(content: &str) -> String {
    part("file", Some("a.txt"), content)
}

async fn send(server: &Server, target: &str, parts: &[String]) -> Answer {
    let body = format!("{}--{BOUNDARY}--\r\n", parts.concat());
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    server.send("POST", target, &[("Content-Type", &content_type)], &body).await
}

async fn taken(server: &Server, target: &str, parts: &[String]) -> Value {
    let answer = send(server, target, parts).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["data"].take()
}

fn chunked(target: &str, chunk: &str, count: usize) -> String {
    let chunks = format!("{:x}\r\n{chunk}\r\n", chunk.len()).repeat(count);
    format!(
        "POST {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Transfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"
    )
}

fn limited(upload_bytes: u64) -> Options {
    let mut options = Options::default();
    options.limits.upload_bytes = upload_bytes;
    options
}

#[tokio::test]
async fn a_form_is_taken_with_the_fields_before_its_file() {
    let server = start().await;
    let content = "\r\n--not a boundary\r\n".repeat(50_000);
    let parts = [part("path", None, "/a b/é"), part("times", None, "3"), file(&content)];
    assert_eq!(
        taken(&server, "/v1/take", &parts).await,
        json!({
            "early": "/a b/é", "path": "/a b/é", "times": 3, "filename": "a.txt",
            "bytes": content.len(), "sum": sum(content.as_bytes(), 0),
        })
    );
    let empty = taken(&server, "/v1/take", &[file("")]).await;
    assert_eq!((&empty["bytes"], &empty["path"]), (&json!(0), &json!(null)));
}

#[tokio::test]
async fn fields_may_come_after_the_file_and_under_other_names() {
    let server = start().await;
    let late = taken(&server, "/v1/take", &[file("x"), part("path", None, "late")]).await;
    assert_eq!((&late["early"], &late["path"]), (&json!(null), &json!("late")));
    let parts = [part("file_path", None, "alias"), part("unknown", None, "x"), file("x")];
    assert_eq!(taken(&server, "/v1/take", &parts).await["early"], "alias");
    let query = taken(&server, "/v1/take?path=query&ticket=t", &[file("x")]).await;
    assert_eq!(query["early"], "query");
    // One that must be there, and is, in time or late.
    let early = taken(&server, "/v1/maybe/n", &[file("x")]).await;
    assert_eq!((&early["early"], &early["bytes"]), (&json!("n"), &json!(1)));
}

#[tokio::test]
async fn the_file_is_the_part_named_so_or_the_first_with_a_files_name() {
    let server = start().await;
    let named = taken(&server, "/v1/take", &[part("file", None, "abc")]).await;
    assert_eq!((&named["filename"], &named["bytes"]), (&json!(null), &json!(3)));
    let other = taken(&server, "/v1/take", &[part("upload", Some("x"), "abcd")]).await;
    assert_eq!((&other["filename"], &other["bytes"]), (&json!("x"), &json!(4)));
}

#[tokio::test]
async fn any_other_body_is_the_file_itself() {
    let server = start().await;
    let content = "x".repeat(3 << 20);
    for content_type in ["application/octet-stream", "application/json", "multipart/mixed", "x"] {
        let headers = [("Content-Type", content_type)];
        let answer = server.send("POST", "/v1/take?path=p&times=2", &headers, &content).await;
        assert_eq!(
            answer.json()["data"],
            json!({
                "early": "p", "path": "p", "times": 2, "filename": null,
                "bytes": content.len(), "sum": sum(content.as_bytes(), 0),
            }),
            "{content_type}"
        );
    }
    let answer = server.exchange(chunked("/v1/take", "0123456789", 1000)).await;
    assert_eq!(answer.json()["data"]["bytes"], 10_000);
}

#[tokio::test]
async fn no_body_is_no_file_but_a_file_may_be_empty() {
    let server = start().await;
    let answer = server.post("/v1/take", "").await;
    assert_eq!(answer.status, 422, "{answer:?}");
    assert_eq!(answer.json()["errors"][0]["location"], "body.file");
    let answer = send(&server, "/v1/take", &[part("path", None, "p")]).await;
    assert_eq!(answer.json()["errors"][0]["location"], "body.file");
    assert_eq!(server.store.begun.load(Ordering::SeqCst), 0);
    let none = taken(&server, "/v1/maybe/n", &[]).await;
    assert_eq!((&none["bytes"], &none["path"]), (&json!(null), &json!("n")));
    let headers = [("Content-Type", "application/octet-stream"), ("Content-Length", "0")];
    let answer = server.send("POST", "/v1/take", &headers, "").await;
    assert_eq!(answer.json()["data"]["bytes"], 0);
    assert_eq!(server.exchange(chunked("/v1/take", "", 0)).await.json()["data"]["bytes"], 0);
}

#[tokio::test]
async fn what_is_wrong_with_a_form_is_said_and_nothing_is_kept() {
    let server = start().await;
    let path = |content| part("path", None, content);
    let times = part("times", None, "many");
    let mut undone = 0;
    for (what, target, parts, status, code) in [
        ("twice before", "/v1/take", vec![path("a"), path("b"), file("x")], 400, "input.twice"),
        ("query and form", "/v1/take?path=a", vec![path("b"), file("x")], 400, "input.twice"),
        ("twice around", "/v1/take", vec![path("a"), file("x"), path("b")], 400, "input.twice"),
        ("two files", "/v1/take", vec![file("x"), file("y")], 400, "request.form"),
        ("no number", "/v1/take", vec![times.clone(), file("x")], 422, "input.invalid"),
        ("late no number", "/v1/take", vec![file("x"), times], 422, "input.invalid"),
    ] {
        let answer = send(&server, target, &parts).await;
        assert_eq!((answer.status, &answer.json()["error_code"]), (status, &json!(code)), "{what}");
        let late = matches!(what, "twice around" | "two files" | "late no number");
        undone += usize::from(late);
        assert_eq!(server.store.undone.load(Ordering::SeqCst), undone, "{what}");
    }
    let large = part("path", None, &"x".repeat((1 << 20) + 1));
    let answer = send(&server, "/v1/take", &[large, file("x")]).await;
    assert_eq!((answer.status, &answer.json()["error_code"]), (413, &json!("request.too_large")));
    for (content_type, body) in [
        ("multipart/form-data".to_owned(), "x".to_owned()),
        (format!("multipart/form-data; boundary={BOUNDARY}"), "nonsense".to_owned()),
        (format!("multipart/form-data; boundary={BOUNDARY}"), file("cut off")),
    ] {
        let headers = [("Content-Type", content_type.as_str())];
        let answer = server.send("POST", "/v1/take", &headers, &body).await;
        assert_eq!((answer.status, &answer.json()["error_code"]), (400, &json!("request.form")));
    }
}

#[tokio::test]
async fn a_file_over_the_limit_is_refused_and_undone_whatever_the_service_says() {
    let server = start_with(limited(100_000)).await;
    let fitting = "x".repeat(100_000);
    let large = "x".repeat(100_001);
    assert_eq!(taken(&server, "/v1/take", &[file(&fitting)]).await["bytes"], 100_000);
    let announced = server.post("/v1/take", &large).await;
    assert_eq!(server.store.begun.load(Ordering::SeqCst), 1, "known before it begins");
    let in_a_form = send(&server, "/v1/take", &[file(&large)]).await;
    let in_chunks = server.exchange(chunked("/v1/take", &"x".repeat(1000), 5000)).await;
    for answer in [announced, in_a_form, in_chunks] {
        assert_eq!(
            (answer.status, &answer.json()["error_code"]),
            (413, &json!("request.too_large"))
        );
        let message = answer.json()["message"].to_string();
        assert!(message.contains("100000") && message.contains("upload_bytes"), "{message}");
    }
    assert_eq!(server.store.begun.load(Ordering::SeqCst), 3);
    assert_eq!(server.store.undone.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_refusal_reaches_a_client_that_is_still_sending() {
    let server = start().await;
    let content = "x".repeat(8 << 20);
    for path in ["refused", "midway"] {
        let answer = server.post(&format!("/v1/take?path={path}"), &content).await;
        assert_eq!((answer.status, &answer.json()["error_code"]), (409, &json!("test.refused")));
        let answer = send(&server, "/v1/take", &[part("path", None, path), file(&content)]).await;
        assert_eq!(answer.status, 409, "in a form");
    }
    // Not every service wants to read what it is sent.
    let answer = server.post("/v1/take?path=unread", &content).await;
    assert_eq!((answer.status, &answer.json()["data"]["bytes"]), (200, &json!(0)));
}

#[tokio::test]
async fn permission_to_send_is_given_when_the_service_asks_and_not_before() {
    let server = start().await;
    let head = |path: &str| {
        format!(
            "POST /v1/take?path={path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"
        )
    };
    let answer = server.exchange(head("refused")).await;
    assert_eq!(answer.status, 409, "without a word about sending: {answer:?}");
    let answer = server.exchange(head("p&times=x")).await;
    assert_eq!(answer.status, 422, "{answer:?}");

    let mut stream = server.connect().await;
    stream.write_all(head("p").as_bytes()).await.unwrap();
    let permission = read_until(&mut stream, "\r\n\r\n").await;
    assert_eq!(permission, "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"12345").await.unwrap();
    let answer = read_until(&mut stream, "\"bytes\":5").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_client_that_leaves_midway_is_noticed() {
    let server = start().await;
    let mut stream = server.connect().await;
    let head = "POST /v1/take HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc";
    stream.write_all(head.as_bytes()).await.unwrap();
    eventually("the upload", || server.store.begun.load(Ordering::SeqCst) == 1).await;
    drop(stream);
    eventually("its end", || server.store.undone.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn a_connection_is_used_again_after_an_upload() {
    let server = start().await;
    let body = format!("{}--{BOUNDARY}--\r\nan epilogue", file("abc"));
    let form = format!(
        "POST /v1/take HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: multipart/form-data; boundary=\"{BOUNDARY}\"\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let bare = "POST /v1/take HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nabcd";
    let mut answers = Answers::new(server.connect().await);
    for (request, bytes) in [(form.as_str(), 3), (bare, 4), (form.as_str(), 3)] {
        answers.send(request).await;
        let answer = answers.next().await;
        assert_eq!(answer.json()["data"]["bytes"], bytes);
    }
}
