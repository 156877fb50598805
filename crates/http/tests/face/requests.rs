//! Inputs in, envelopes out.

use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::support::{Options, eventually, start, start_with};
use std::sync::atomic::Ordering;

#[tokio::test]
async fn an_answer_is_wrapped_in_the_envelope() {
    let server = start().await;
    let answer = server.post("/v1/echo", r#"{"text":"hi","loud":true}"#).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(
        answer.json(),
        json!({
            "success": true,
            "message": "Operation successful",
            "data": {
                "text": "hi", "times": 1, "timeout": null, "loud": true, "link": "http://localhost/page",
            },
            "hint": "mind your neighbours",
            "code": 0,
        })
    );
}

#[tokio::test]
async fn scalars_nulls_and_unknown_fields_are_taken_leniently() {
    let server = start().await;
    let body = r#"{"text":"x","times":"3","timeout":null,"loud":"true","brand_new":[1]}"#;
    let data = server.post("/v1/echo", body).await.json()["data"].take();
    assert_eq!((&data["times"], &data["loud"]), (&json!(3), &json!(true)));
    assert_eq!(data["timeout"], json!(null));
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "x/y; charset=z"] {
        let headers = [("Content-Type", content_type)];
        let answer = server.send("POST", "/v1/echo", &headers, r#"{"text":"x"}"#).await;
        assert_eq!(answer.status, 200, "{content_type}");
    }
}

#[tokio::test]
async fn an_empty_body_is_an_empty_object() {
    let server = start().await;
    for body in ["", "  \r\n", "{}", "null"] {
        let answer = server.post("/v1/echo", body).await;
        assert_eq!(answer.status, 422, "{body:?}");
        assert_eq!(answer.json()["detail"][0]["loc"], json!(["body", "text"]), "{body:?}");
    }
}

#[tokio::test]
async fn a_wrong_input_is_reported_in_both_forms_with_every_field() {
    let server = start().await;
    let answer = server.post("/v1/echo", r#"{"times":-1,"timeout":-2,"loud":"x"}"#).await;
    let body = answer.json();
    assert_eq!(answer.status, 422);
    assert_eq!(
        (&body["success"], &body["data"], &body["hint"], &body["code"], &body["error_code"]),
        (&json!(false), &json!(null), &json!(null), &json!(422), &json!("input.invalid"))
    );
    assert_eq!(body["detail"].as_array().unwrap().len(), 4);
    let timeout =
        body["errors"].as_array().unwrap().iter().find(|error| error["location"] == "body.timeout");
    assert_eq!(
        timeout,
        Some(
            &json!({"location": "body.timeout", "message": "must be at least 0", "type": "minimum"})
        )
    );
    let answer = server.get("/v1/things/x?limit=many").await;
    assert_eq!(answer.json()["detail"][0]["loc"], json!(["query", "limit"]));
    let answer = server.get("/v1/things/a%00b").await;
    assert_eq!(answer.json()["detail"][0]["loc"], json!(["path", "name"]));
    assert_eq!(answer.json()["detail"][0]["type"], "nul");
}

#[tokio::test]
async fn a_body_that_is_no_json_object_says_where_it_breaks() {
    let server = start().await;
    let answer = server.post("/v1/echo", "{\n\"text\": nope}").await;
    assert_eq!(answer.status, 422);
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("line 2 column"), "{message}");
    assert_eq!(answer.json()["detail"][0]["loc"], json!(["body"]));
    for body in ["[1]", "\"x\"", "1e400", "{\"text\":\"\\ud800\"}"] {
        assert_eq!(server.post("/v1/echo", body).await.status, 422, "{body}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(server.post("/v1/echo", &deep).await.status, 422);
}

#[tokio::test]
async fn path_and_query_are_read_by_their_type() {
    let server = start().await;
    let answer = server.get("/v1/things/a%2Fb%20%C3%A9?limit=3&ticket=t&ticket=u").await;
    assert_eq!(answer.json()["data"], json!({"name": "a/b é", "limit": 3}));
    let answer = server.send("GET", "/v1/things/x", &[], r#"{"limit":4}"#).await;
    assert_eq!(answer.json()["data"]["limit"], 4, "a GET may carry a body");
    let answer = server.send("DELETE", "/v1/things/x", &[], "").await;
    assert_eq!((answer.status, &answer.json()["data"]), (200, &json!(null)));
    assert_eq!(server.get("/v1/things/%ff").await.status, 400);
}

#[tokio::test]
async fn a_field_given_twice_is_refused_by_name() {
    let server = start().await;
    for (target, body) in [
        ("/v1/things/x?name=y", ""),
        ("/v1/things/x", r#"{"name":"y"}"#),
        ("/v1/things/x?limit=1&limit=2", ""),
        ("/v1/things/x?limit=1", r#"{"limit":2}"#),
    ] {
        let answer = server.send("GET", target, &[], body).await;
        assert_eq!(answer.status, 400, "{target} {body}");
        assert_eq!(answer.json()["error_code"], "input.twice");
        let message = answer.json()["message"].to_string();
        assert!(message.contains("name") || message.contains("limit"), "{message}");
    }
    let answer = server.send("GET", "/v1/things/x?limit=1", &[], r#"{"limit":null}"#).await;
    assert_eq!(answer.json()["data"]["limit"], 1, "null is absent");
}

#[tokio::test]
async fn fields_may_go_by_the_names_other_groups_use() {
    let server = start().await;
    let probe = async |body: &str| server.post("/v1/bash/probe", body).await.json()["data"].take();
    assert_eq!(probe(r#"{"id":"s","cmd":"c","cwd":"/d"}"#).await, json!(["s", "c", "/d"]));
    assert_eq!(
        probe(r#"{"id":"other","session_id":"own","command":"c"}"#).await,
        json!(["own", "c", null]),
        "a field's own name wins"
    );
    assert_eq!(probe(r#"{"session_id":null,"id":"s","command":"c"}"#).await[0], "s");
    let answer = server.post("/v1/shell/probe?session_id=s", "").await;
    assert_eq!(answer.json()["data"], "s");
}

#[tokio::test]
async fn failures_keep_the_envelope() {
    let server = start().await;
    let answer = server.post("/v1/fail", r#"{"how":"missing"}"#).await;
    assert_eq!(answer.status, 404);
    assert_eq!(
        answer.json(),
        json!({
            "success": false,
            "message": "Session not found",
            "data": null,
            "hint": "create one",
            "code": 404,
            "error_code": "test.missing",
            "details": {"id": 7},
        })
    );
    let answer = server.post("/v1/fail", r#"{"how":"internal"}"#).await;
    assert_eq!(answer.status, 500);
    assert!(!answer.body.contains("secret"), "{}", answer.body);
}

#[tokio::test]
async fn a_panic_is_an_answer_and_is_counted() {
    let server = start().await;
    let answer = server.post("/v1/fail", r#"{"how":"panic"}"#).await;
    assert_eq!((answer.status, &answer.json()["code"]), (500, &json!(500)));
    assert_eq!(answer.json()["error_code"], "internal.panic");
    let metrics = server.get("/metrics").await.body;
    assert!(metrics.contains("atoll_http_panics_total 1\n"), "{metrics}");
    assert!(metrics.contains("{operation=\"test_fail\",status=\"500\"} 1"), "{metrics}");
}

#[tokio::test]
async fn unknown_paths_and_methods_keep_the_envelope() {
    let server = start().await;
    let answer = server.get("/v1/nothing?secret=x").await;
    assert_eq!((answer.status, &answer.json()["code"]), (404, &json!(404)));
    assert!(!answer.body.contains("secret"));
    let answer = server.get("/v1/echo").await;
    assert_eq!((answer.status, &answer.json()["code"]), (405, &json!(405)));
    assert_eq!(answer.header("allow"), Some("POST"));
    let answer = server.post("/v1/things/x", "").await;
    assert_eq!(answer.status, 405);
    let allowed = answer.header("allow").unwrap();
    assert!(allowed.contains("GET") && allowed.contains("DELETE"), "{allowed}");
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_with_or_without_its_length() {
    let mut options = Options::default();
    options.limits.request_body_bytes = 1000;
    let server = start_with(options).await;
    let fitting = format!("{{\"text\":\"{}\"}}", "x".repeat(1000 - 11));
    assert_eq!(fitting.len(), 1000);
    assert_eq!(server.post("/v1/echo", &fitting).await.status, 200);
    let large = format!("{{\"text\":\"{}\"}}", "x".repeat(3 << 20));
    let answer = server.post("/v1/echo", &large).await;
    assert_eq!((answer.status, &answer.json()["error_code"]), (413, &json!("request.too_large")));
    let chunk = "x".repeat(0x8000);
    let chunks = format!("8000\r\n{chunk}\r\n").repeat(40);
    let head = "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    let answer = server.exchange(format!("{head}{chunks}0\r\n\r\n")).await;
    assert_eq!((answer.status, &answer.json()["code"]), (413, &json!(413)));
    // A client that waits for permission is told at once.
    let head = "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n";
    assert_eq!(server.exchange(head).await.status, 413);
}

#[tokio::test]
async fn an_operation_that_carries_files_has_a_limit_of_its_own() {
    let mut options = Options::default();
    (options.limits.request_body_bytes, options.limits.large_body_bytes) = (1000, 5000);
    let server = start_with(options).await;
    let body = |length| format!("{{\"text\":\"{}\"}}", "x".repeat(length));
    assert_eq!(server.post("/v1/echo", &body(2000)).await.status, 413);
    assert_eq!(server.post("/v1/measure", &body(2000)).await.json()["data"], 2000);
    let answer = server.post("/v1/measure", &body(6000)).await;
    assert_eq!((answer.status, &answer.json()["error_code"]), (413, &json!("request.too_large")));
    let message = answer.json()["message"].to_string();
    for word in ["5000", "large_body_bytes", "/v1/file/upload"] {
        assert!(message.contains(word), "{message}");
    }
}

#[tokio::test]
async fn a_body_in_many_pieces_is_put_together() {
    let server = start().await;
    let head = "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    let pieces: String =
        r#"{"text":"in pieces"}"#.chars().map(|piece| format!("1\r\n{piece}\r\n")).collect();
    let answer = server.exchange(format!("{head}{pieces}0\r\n\r\n")).await;
    assert_eq!(answer.json()["data"]["text"], "in pieces");
}

#[tokio::test]
async fn a_head_over_the_limit_is_refused() {
    let server = start().await;
    let huge = "x".repeat(100 << 10);
    let answer = server.send("GET", "/v1/things/x", &[("X-Huge", &huge)], "").await;
    assert_eq!(answer.status, 431);
}

#[tokio::test]
async fn requests_carry_an_id() {
    let server = start().await;
    let answer = server.send("GET", "/v1/things/x", &[("X-Request-Id", "mine-1")], "").await;
    assert_eq!(answer.header("x-request-id"), Some("mine-1"));
    let answer = server.send("GET", "/nowhere", &[("X-Request-Id", "not sane!")], "").await;
    assert_eq!(answer.header("x-request-id").map(str::len), Some(36));
}

#[tokio::test]
async fn links_lead_back_through_a_proxy() {
    let server = start().await;
    let headers = [
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "box.example"),
        ("X-Forwarded-Prefix", "/one"),
    ];
    let answer = server.send("POST", "/v1/echo?ticket=t&loud=1", &headers, r#"{"text":""}"#).await;
    assert_eq!(answer.json()["data"]["link"], "https://box.example/one/page?ticket=t");
}

#[tokio::test]
async fn a_caller_that_leaves_ends_its_operation() {
    let server = start().await;
    let mut stream = server.connect().await;
    let head = "POST /v1/wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    eventually("the call", || server.fake.waiting.load(Ordering::SeqCst) == 1).await;
    drop(stream);
    eventually("the end", || server.fake.abandoned.load(Ordering::SeqCst) == 1).await;
    let metrics = server.get("/metrics").await.body;
    assert!(metrics.contains("{operation=\"test_wait\",status=\"499\"} 1"), "{metrics}");
}

#[tokio::test]
async fn the_sandbox_lies_beside_its_text() {
    let server = start().await;
    let body = server.get("/v1/sandbox").await.json();
    assert_eq!(body["message"], "Environment information retrieved");
    assert_eq!(
        (&body["data"], &body["home_dir"]),
        (&json!("A fake sandbox."), &json!("/home/fake"))
    );
    assert_eq!((&body["workspace"], &body["version"]), (&json!(null), &json!("9")));
    assert_eq!(body["detail"]["system"]["arch"], "pdp11");
    assert!(body.get("text").is_none());
}
