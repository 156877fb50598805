//! What is recorded of requests.

use std::sync::Arc;

use atoll_auth::AuditLog;
use serde_json::Value;

use crate::support::{KEY, Options, READER, locked, start_with};

#[tokio::test]
async fn every_request_but_the_public_ones_is_recorded_without_what_was_sent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let audit = Some(Arc::new(AuditLog::open(&path).unwrap()));
    let server = start_with(Options { audit, ..locked() }).await;
    let key = ("X-API-Key", KEY);
    let forwarded = ("X-Forwarded-For", "203.0.113.7, 10.0.0.1");
    let body = r#"{"text":"canary-body"}"#;
    server.send("POST", "/v1/echo?canary-query=1", &[key, forwarded], body).await;
    server.send("DELETE", "/v1/things/canary-path", &[("X-API-Key", READER)], "").await;
    server.send("GET", "/v1/things/canary-path", &[("X-API-Key", "canary-key")], "").await;
    server.send("GET", "/canary-nowhere", &[("Host", "a@b")], "").await;
    server.get("/health").await;
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4, "{text}");
    let told: Vec<_> = lines
        .iter()
        .map(|line| (line["id"].as_str(), line["operation"].as_str(), line["status"].as_u64()))
        .collect();
    assert_eq!(told[0], (Some("everything"), Some("test_echo"), Some(200)));
    assert_eq!(told[1], (Some("reader"), Some("test_remove"), Some(403)));
    assert_eq!(told[2], (None, Some("none"), Some(401)));
    assert_eq!(told[3], (None, Some("none"), Some(400)));
    assert_eq!((&lines[0]["how"], &lines[0]["ip"]), (&"api_key".into(), &"127.0.0.1".into()));
    assert_eq!(lines[0]["forwarded_for"], "203.0.113.7");
    assert_eq!(lines[0]["route"], "/v1/echo");
    assert!(lines[0]["duration_ms"].is_number() && lines[0]["request_id"].is_string());
    assert!(!text.contains("canary") && !text.contains(KEY), "{text}");
}
