//! What is logged of a request.

use std::io;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

use crate::support::start;

/// Keeps what is logged in this process, other tests included: only a subscriber for all threads sees every line.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Kept {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn each_request_is_one_line_without_its_query_and_body() {
    let kept = Kept::default();
    let subscriber = tracing_subscriber::fmt().with_writer(kept.clone()).with_ansi(false).finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let server = start().await;
    let body = r#"{"text":"secret-body"}"#;
    let target = "/v1/echo?ticket=secret-query&loud=1";
    server.send("POST", target, &[("X-Request-Id", "logged-1")], body).await;
    let target = "/v1/things/secret-path?limit=secret";
    server.send("GET", target, &[("X-Request-Id", "logged-2")], "").await;
    server.send("GET", "/secret-nowhere", &[("X-Request-Id", "logged-3")], "").await;
    let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<_> = text.lines().filter(|line| line.contains("logged-")).collect();
    assert_eq!(lines.len(), 3, "{text}");
    for part in ["POST", "/v1/echo", "test_echo", "status=200", "duration_ms=", "logged-1"] {
        assert!(lines[0].contains(part), "{part} in {}", lines[0]);
    }
    assert!(lines[1].contains("/v1/things/{name}") && lines[1].contains("status=422"), "{text}");
    assert!(lines[2].contains("status=404"), "{text}");
    assert!(!lines.concat().contains("secret"), "{text}");
}
