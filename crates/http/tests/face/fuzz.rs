//! Requests made up by the thousand: built from what requests are built from, then bent. Seeded, so that a failure comes
//! again. Nothing may panic, hang, answer with a fault of the server's own, or let a stranger in.
//!
//! `ATOLL_FUZZ_ROUNDS` asks for a longer run.

use atoll_testkit::fuzz::{Numbers, rounds};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::support::{DEADLINE, KEY, Options, Server, locked, start_with};

const METHODS: [&str; 12] = [
    "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "G=T",
    "",
];
/// Those whose fake does as it is told and nothing worse.
const PATHS: [&str; 18] = [
    "/",
    "/health",
    "/v1/ping",
    "/metrics",
    "/llms.txt",
    "/v1/docs",
    "/v1/openapi.json",
    "/v1/echo",
    "/v1/things/x",
    "/v1/things/",
    "/v1/measure",
    "/v1/bash/probe",
    "/v1/shell/probe",
    "/v1/take",
    "/v1/maybe/x",
    "/v1/talk",
    "/auth",
    "/tickets",
];
const PIECES: [&str; 22] = [
    "/",
    "//",
    "/.",
    "/..",
    "/..;",
    "/%2e%2e",
    "%2f",
    "%5c",
    "\\",
    ";x=1",
    "%00",
    "%ff",
    "%",
    "%zz",
    "%c0%ae",
    "é",
    "%F0%9F%98%80",
    ".js",
    "*",
    "@evil.test",
    "#x",
    "http://evil.test",
];
const NAMES: [&str; 16] = [
    "limit",
    "name",
    "text",
    "times",
    "timeout",
    "loud",
    "mode",
    "path",
    "id",
    "session_id",
    "cmd",
    "ticket",
    "api_key",
    "api%5Fkey",
    "%74icket",
    "unknown",
];
const VALUES: [&str; 26] = [
    "",
    "0",
    "-1",
    "1",
    "3",
    "1.5",
    "1e309",
    "NaN",
    "18446744073709551616",
    "true",
    "null",
    "[]",
    "{}",
    "%22",
    "%00",
    "%ff",
    "%",
    "a+b",
    "a%20b",
    "a;b",
    "é",
    "..%2f",
    "echo",
    "once",
    "flood",
    "refuse",
];
const HEADERS: [&str; 34] = [
    "Host: localhost",
    "Host: localhost",
    "Host: LOCALHOST:80",
    "Host: evil.test",
    "Host:",
    "Host: a b",
    "Content-Type: application/json",
    "Content-Type: text/plain",
    "Content-Type: multipart/form-data; boundary=b",
    "Content-Type: multipart/form-data",
    "Content-Length: 0",
    "Content-Length: 5",
    "Content-Length: -1",
    "Content-Length: 5, 5",
    "Content-Length: 99999999999999999999",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding: \x0bchunked",
    "Connection: close",
    "Connection: Upgrade\r\nUpgrade: websocket",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13",
    "Expect: 100-continue",
    "Range: bytes=0-,5-1,-9",
    "Accept: text/html",
    "Origin: http://localhost",
    "Origin: null",
    "Cookie: atoll_page=x; atoll_page",
    "Authorization: Bearer",
    "Authorization: Bearer a.b.c",
    "X-API-Key: \x01",
    "X-Forwarded-Prefix: /../%0d%0a",
    "X-Request-Id: \"",
    "X-Original-URI: /health",
];
const HONEST_HEADERS: [&str; 10] = [
    "Content-Type: application/json",
    "Content-Type: multipart/form-data; boundary=b",
    "Connection: close",
    "Connection: Upgrade\r\nUpgrade: websocket",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13",
    "Range: bytes=0-,5-1,-9",
    "Accept: text/html",
    "Cookie: atoll_page=x; atoll_page",
    "X-Forwarded-Prefix: /../%0d%0a",
    "X-Request-Id: \"",
];
const BODIES: [&str; 16] = [
    "",
    "{}",
    "null",
    "[]",
    "{\"text\":\"x\"}",
    "{\"text\":\"x\",\"times\":\"2\"}",
    "{\"text\":1e999}",
    "{\"text\":\"\\ud800\"}",
    "{\"text\":\"\\u0000\"}",
    "{\"command\":\"c\",\"id\":null}",
    "{\"name\":\"twice\"}",
    "{\"text\":",
    "0\r\n\r\n",
    "5\r\n{\"a\"}\r\n0\r\n\r\n",
    "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"../x\"\r\n\r\ndata\r\n--b--\r\n",
    "--b\r\nContent-Disposition: form-data; name=\"times\"\r\n\r\n3\r\n--b",
];

fn target(numbers: &mut Numbers) -> String {
    let mut target = numbers.word(&PATHS).to_owned();
    for _ in 0..numbers.below(4).saturating_sub(1) {
        target.push_str(numbers.word(&PIECES));
    }
    for number in 0..numbers.below(4) {
        target.push_str(if number == 0 { "?" } else { numbers.word(&["&", "&", ";", "&&"]) });
        target.push_str(numbers.word(&NAMES));
        target.push_str(numbers.word(&["=", "=", "", "=="]));
        target.push_str(numbers.word(&VALUES));
    }
    if numbers.below(200) == 0 {
        target.push_str(&"x".repeat(1 << numbers.below(17)));
    }
    target
}

/// A request that begins like this: an honest one in two of three cases, then perhaps bent.
fn request(numbers: &mut Numbers, credential: &str) -> Vec<u8> {
    let body = numbers.word(&BODIES);
    let honest = numbers.below(3) > 0;
    let mut text = if honest {
        let method = numbers.word(&["GET", "POST"]);
        let length = body.len();
        let head = format!("{method} {} HTTP/1.1\r\n{credential}", target(numbers));
        format!("{head}Host: localhost\r\nContent-Length: {length}\r\n")
    } else {
        let version = numbers.word(&["HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.1 ", ""]);
        format!("{} {} {version}\r\n{credential}", numbers.word(&METHODS), target(numbers))
    };
    for _ in 0..numbers.below(7) {
        if honest {
            text.push_str(numbers.word(&HONEST_HEADERS));
            text.push_str("\r\n");
        } else {
            text.push_str(numbers.word(&HEADERS));
            text.push_str(numbers.word(&["\r\n", "\r\n", "\r\n", "\n", "\r\n "]));
        }
    }
    text.push_str("\r\n");
    text.push_str(body);
    let mut bytes = text.into_bytes();
    if numbers.below(3) == 0 {
        for _ in 0..=numbers.below(4) {
            bend(numbers, &mut bytes);
        }
    }
    bytes
}

fn bend(numbers: &mut Numbers, bytes: &mut Vec<u8>) {
    let Some(at) = numbers.place(bytes) else { return };
    match numbers.below(6) {
        0 => bytes[at] ^= 1 << numbers.below(8),
        1 => bytes[at] = *numbers.pick(b"\0\r\n :/%?\xff\x7f"),
        2 => drop(bytes.remove(at)),
        3 => bytes.insert(at, bytes[at]),
        4 => bytes.truncate(at),
        _ => {
            let end = (at + numbers.below(40)).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            let to = numbers.below(bytes.len());
            bytes.splice(to..to, copy);
        }
    }
}

/// Everything a connection gives back to these bytes until it ends.
async fn converse(server: &Server, request: &[u8]) -> String {
    let mut stream = server.connect().await;
    // The server may have had enough before the end.
    stream.write_all(request).await.ok();
    stream.shutdown().await.ok();
    let mut bytes = Vec::new();
    let read = timeout(DEADLINE, stream.read_to_end(&mut bytes)).await;
    assert!(read.is_ok(), "no end after {:?}", String::from_utf8_lossy(request));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The statuses of the answers in what came back.
fn statuses(said: &str) -> Vec<u16> {
    let heads = said
        .match_indices("HTTP/1.1 ")
        .filter(|(at, _)| *at == 0 || said[..*at].ends_with(['\n', '}']));
    heads.filter_map(|(at, _)| said.get(at + 9..at + 12)?.parse().ok()).collect()
}

async fn assert_unharmed(server: &Server) {
    let metrics = server.send("GET", "/metrics", &[("X-API-Key", KEY)], "").await.body;
    assert!(metrics.contains("atoll_http_panics_total 0\n"), "{metrics}");
}

#[tokio::test]
async fn no_request_makes_the_server_fail() {
    let server = start_with(Options::default()).await;
    let mut numbers = Numbers::new("requests");
    let (count, mut answered) = (rounds(3000), 0_u64);
    for round in 0..count {
        let request = request(&mut numbers, "");
        let said = converse(&server, &request).await;
        let faults = statuses(&said).into_iter().any(|status| status >= 500);
        let shown = String::from_utf8_lossy(&request);
        assert!(!faults, "round {round}: {shown:?}: {said}");
        answered += u64::from(said.starts_with("HTTP/1.1 200"));
    }
    assert!(answered > count / 20, "{answered} of {count} were good: nothing is tested");
    assert_unharmed(&server).await;
    eprintln!("fuzzed requests: {count} rounds, {answered} answered well");
}

#[tokio::test]
async fn no_request_of_a_stranger_is_let_in() {
    let server = start_with(locked()).await;
    let mut numbers = Numbers::new("strangers");
    let count = rounds(3000);
    for round in 0..count {
        let lie = numbers.word(&["", "", "Authorization: Bearer x\r\n", "X-API-Key: \r\n"]);
        let request = request(&mut numbers, lie);
        let said = converse(&server, &request).await;
        let shown = String::from_utf8_lossy(&request);
        for status in statuses(&said) {
            let refused = (400..500).contains(&status) || status == 100;
            let public = said.contains(r#""status":"ok""#) && shown.contains("/health");
            // Public, and nothing is there in this server.
            let nothing = status == 404 && shown.contains("/v1/ping");
            let head = status == 200 && shown.contains("HEAD /health");
            let let_in = status == 404 && !nothing;
            assert!((refused || public || head) && !let_in, "round {round}: {shown:?}: {said}");
        }
    }
    assert_eq!(server.fake.waiting.load(std::sync::atomic::Ordering::SeqCst), 0);
    assert_unharmed(&server).await;
    eprintln!("fuzzed strangers: {count} rounds");
}
