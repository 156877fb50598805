//! Files out: whole, in part, or not at all.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use crate::support::{Answer, Answers, DEADLINE, Options, Server, eventually, start, start_with};

/// A file of this length without two equal stretches, and its bytes.
struct Sample {
    directory: tempfile::TempDir,
    bytes: Vec<u8>,
}

impl Sample {
    fn new(length: usize) -> Self {
        let bytes: Vec<u8> = (0x0123_4567_u32..).flat_map(u32::to_be_bytes).take(length).collect();
        let directory = tempfile::tempdir().unwrap();
        File::create(directory.path().join("sample.bin")).unwrap().write_all(&bytes).unwrap();
        Self { directory, bytes }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("sample.bin")
    }

    fn target(&self, what: &str) -> String {
        format!("/v1/give?what={what}&path={}", self.path().display())
    }

    fn request(&self, headers: &str) -> String {
        let target = self.target("file");
        format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
    }
}

async fn get(server: &Server, target: &str, headers: &str) -> Answer {
    let mut answers = Answers::new(server.connect().await);
    answers.send(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")).await;
    answers.next().await
}

/// Everything up to the end of the connection, however it ends.
async fn all(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A connection that breaks may be reset.
    let read = timeout(DEADLINE, stream.read_to_end(&mut bytes)).await;
    drop(read.expect("it ends"));
    bytes
}

fn body_of(answer: &[u8]) -> &[u8] {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    &answer[end + 4..]
}

const SIZES: [usize; 10] = [
    0,
    1,
    4095,
    (64 << 10) - 1,
    64 << 10,
    (1 << 20) - 1,
    1 << 20,
    (1 << 20) + 1,
    5 << 20,
    (5 << 20) + 12345,
];

#[tokio::test]
async fn files_of_every_size_arrive_as_they_are() {
    let server = start().await;
    let mut answers = Answers::new(server.connect().await);
    for size in SIZES {
        let sample = Sample::new(size);
        answers.send(sample.request("")).await;
        let answer = answers.next().await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-length"), Some(size.to_string().as_str()));
        assert!(answer.bytes == sample.bytes, "{size} bytes");
    }
    eventually("the end", || server.store.all_closed()).await;
}

#[tokio::test]
async fn files_arrive_over_a_unix_socket_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listen = path.to_str().unwrap().parse().unwrap();
    let _server = start_with(Options { listen, ..Options::default() }).await;
    let mut answers = Answers::new(UnixStream::connect(&path).await.unwrap());
    for size in SIZES {
        let sample = Sample::new(size);
        answers.send(sample.request("")).await;
        assert!(answers.next().await.bytes == sample.bytes, "{size} bytes");
    }
}

#[tokio::test]
async fn an_answer_describes_what_it_carries() {
    let server = start().await;
    let sample = Sample::new(10);
    let file = get(&server, &sample.target("file"), "").await;
    for (name, value) in [
        ("content-type", "text/x-test"),
        ("content-disposition", "attachment; filename=\"sample.bin\""),
        ("accept-ranges", "bytes"),
        ("etag", "\"v-1\""),
        ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("cache-control", "no-cache"),
        ("x-content-type-options", "nosniff"),
        ("x-made-by", "a test"),
    ] {
        assert_eq!(file.header(name), Some(value), "{name}");
    }
    let bytes = get(&server, "/v1/give?what=bytes&path=%C3%A9%22", "Range: bytes=3-4\r\n").await;
    assert_eq!((bytes.status, &bytes.bytes[..]), (206, &[3, 4][..]));
    let disposition = "inline; filename=\"__\"; filename*=UTF-8''%C3%A9%22";
    assert_eq!(bytes.header("content-disposition"), Some(disposition));
    let missing = get(&server, "/v1/give?what=file&path=/nowhere", "").await;
    assert_eq!((missing.status, &missing.json()["error_code"]), (404, &json!("test.missing")));
    assert_eq!(get(&server, "/v1/give", "").await.status, 422);
}

#[tokio::test]
async fn a_part_is_sent_when_one_is_asked_for() {
    let server = start().await;
    let length = (5 << 20) + 7;
    let sample = Sample::new(length);
    for (range, bytes) in [
        ("0-0", 0..1),
        ("10-19", 10..20),
        ("1048570-1048580", 1_048_570..1_048_581),
        ("99999-4999999", 99_999..5_000_000),
        ("5242880-", 5_242_880..length),
        ("-3000000", length - 3_000_000..length),
        ("1-99999999999", 1..length),
    ] {
        let headers = format!("Range: bytes={range}\r\nIf-Range: \"v-1\"\r\n");
        let answer = get(&server, &sample.target("file"), &headers).await;
        assert_eq!(answer.status, 206, "{range}");
        let expected = format!("bytes {}-{}/{length}", bytes.start, bytes.end - 1);
        assert_eq!(answer.header("content-range"), Some(expected.as_str()));
        assert!(answer.bytes == sample.bytes[bytes], "{range}");
    }
    let several = get(&server, &sample.target("file"), "Range: bytes=0-1,5-6\r\n").await;
    assert_eq!((several.status, several.bytes.len()), (200, length));
    let stale = "Range: bytes=5-\r\nIf-Range: \"other\"\r\n";
    assert_eq!(get(&server, &sample.target("file"), stale).await.bytes.len(), length);

    let beyond = get(&server, &sample.target("file"), "Range: bytes=9999999-\r\n").await;
    assert_eq!((beyond.status, &beyond.json()["error_code"]), (416, &json!("request.range")));
    assert_eq!(beyond.header("content-range"), Some(format!("bytes */{length}").as_str()));
}

#[tokio::test]
async fn what_the_client_has_or_does_not_want_is_not_sent() {
    let server = start().await;
    let sample = Sample::new(100_000);
    let mut answers = Answers::new(server.connect().await);
    answers.send(sample.request("If-None-Match: \"v-1\"\r\n")).await;
    let unchanged = answers.next().await;
    assert_eq!((unchanged.status, unchanged.header("etag")), (304, Some("\"v-1\"")));
    assert!(unchanged.header("content-disposition").is_none());
    answers.send(sample.request("If-Match: \"v-0\"\r\n")).await;
    let failed = answers.next().await;
    assert_eq!(
        (failed.status, &failed.json()["error_code"]),
        (412, &json!("request.precondition"))
    );
    answers.send(sample.request("If-None-Match: \"v-0\"\r\n")).await;
    assert_eq!(answers.next().await.bytes.len(), 100_000, "on the same connection");
}

#[tokio::test]
async fn a_head_is_the_same_without_a_body() {
    let server = start().await;
    let sample = Sample::new(3 << 20);
    let mut answers = Answers::new(server.connect().await);
    let target = sample.target("file");
    answers.send(format!("HEAD {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
    let head = answers.next_head().await;
    answers.send(sample.request("")).await;
    let whole = answers.next().await;
    assert_eq!(whole.bytes.len(), 3 << 20, "no body came before it");
    let lines = |answer: &Answer| {
        let own = ["date:", "x-request-id:"];
        let lines =
            answer.head.lines().filter(|line| !own.iter().any(|name| line.starts_with(name)));
        let mut lines: Vec<_> = lines.map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&head), lines(&whole));
    let ranged = format!("HEAD {target} HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-1\r\n\r\n");
    answers.send(ranged).await;
    assert_eq!(answers.next_head().await.status, 200, "ranges are for GET");
}

#[tokio::test]
async fn answers_on_one_connection_keep_their_order() {
    let server = start().await;
    let (first, second) = (Sample::new(3 << 20), Sample::new((2 << 20) + 5));
    let echo = r#"{"text":"between"}"#;
    let echo = format!(
        "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{echo}",
        echo.len()
    );
    let requests = [
        first.request(""),
        echo.clone(),
        second.request("Range: bytes=7-\r\n"),
        first.request("If-None-Match: \"v-1\"\r\n"),
        second.request(""),
        echo,
    ];
    let mut answers = Answers::new(server.connect().await);
    answers.send(requests.concat()).await;
    assert!(answers.next().await.bytes == first.bytes);
    assert_eq!(answers.next().await.json()["data"]["text"], "between");
    assert!(answers.next().await.bytes == second.bytes[7..]);
    assert_eq!(answers.next().await.status, 304);
    assert!(answers.next().await.bytes == second.bytes);
    assert_eq!(answers.next().await.json()["data"]["text"], "between");
}

#[tokio::test]
async fn a_reader_may_be_slow() {
    let server = start().await;
    let sample = Sample::new(4 << 20);
    let mut stream = server.connect().await;
    stream.write_all(sample.request("Connection: close\r\n").as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    let mut piece = [0; 1009];
    let reading = async {
        loop {
            // Others get their turn: the server is always ahead and waits.
            tokio::task::yield_now().await;
            match stream.read(&mut piece).await.unwrap() {
                0 => break,
                count => seen.extend_from_slice(&piece[..count]),
            }
        }
    };
    timeout(DEADLINE, reading).await.expect("it ends");
    assert!(body_of(&seen) == sample.bytes);
}

#[tokio::test]
async fn a_reader_that_leaves_lets_go_of_the_file() {
    let server = start().await;
    let sample = Sample::new(64 << 20);
    for _ in 0..5 {
        let mut stream = server.connect().await;
        stream.write_all(sample.request("").as_bytes()).await.unwrap();
        stream.read_exact(&mut vec![0; 70_000]).await.unwrap();
        assert!(!server.store.all_closed());
        drop(stream);
        eventually("the end", || server.store.all_closed()).await;
    }
}

#[tokio::test]
async fn many_may_read_at_once() {
    let server = start().await;
    let sample = Sample::new(6 << 20);
    let reading = (0..24_usize).map(|number| {
        let (server, sample) = (&server, &sample);
        async move {
            let start = number * 100_003;
            let mut answers = Answers::new(server.connect().await);
            for _ in 0..3 {
                answers.send(sample.request(&format!("Range: bytes={start}-\r\n"))).await;
                assert!(answers.next().await.bytes == sample.bytes[start..], "{start}");
            }
        }
    });
    futures::future::join_all(reading).await;
    eventually("the end", || server.store.all_closed()).await;
}

#[tokio::test]
async fn a_stream_has_no_length_and_no_parts() {
    let server = start().await;
    let mut stream = server.connect().await;
    let target = "/v1/give?what=stream&path=x";
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nRange: bytes=0-1\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = all(stream).await;
    let head = String::from_utf8_lossy(&answer[..1000]).to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 200") && head.contains("accept-ranges: none"), "{head}");
    assert!(head.contains("transfer-encoding: chunked"), "{head}");
    assert!(answer.ends_with(b"\r\n0\r\n\r\n"));
    assert!(body_of(&answer).len() > 100_000);
}

#[tokio::test]
async fn a_stream_that_breaks_never_ends_well() {
    let server = start().await;
    for what in ["broken", "panic"] {
        let mut stream = server.connect().await;
        let request =
            format!("GET /v1/give?what={what}&path=x HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = all(stream).await;
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{what}");
        assert!(!answer.ends_with(b"0\r\n\r\n"), "{what}");
    }
    let metrics = get(&server, "/metrics", "").await;
    let metrics = String::from_utf8_lossy(&metrics.bytes).into_owned();
    assert!(metrics.contains("atoll_http_panics_total 1\n"), "{metrics}");
}

#[tokio::test]
async fn a_file_that_becomes_shorter_breaks_the_answer_off() {
    let server = start().await;
    let sample = Sample::new(64 << 20);
    let mut stream = server.connect().await;
    stream.write_all(sample.request("").as_bytes()).await.unwrap();
    let mut seen = vec![0; 100_000];
    stream.read_exact(&mut seen).await.unwrap();
    File::options().write(true).open(sample.path()).unwrap().set_len(1 << 20).unwrap();
    seen.extend(all(stream).await);
    assert!(body_of(&seen).len() < 64 << 20, "promised more and did not make it up");
}

#[tokio::test]
async fn a_file_that_must_not_change_is_never_sent_whole_when_it_did() {
    let server = start().await;
    let sample = Sample::new(1 << 20);
    // Asked before each of four blocks and after the last.
    for (checks, whole) in [(0, false), (2, false), (4, false), (5, true)] {
        let mut stream = server.connect().await;
        let request = format!(
            "GET {}&checks={checks} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            sample.target("checked")
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = all(stream).await;
        // With nothing sent yet the head may be missing too.
        let length = if answer.is_empty() { 0 } else { body_of(&answer).len() };
        assert_eq!(length == 1 << 20, whole, "{checks} checks, {length} bytes");
        assert!(!whole || body_of(&answer) == sample.bytes);
    }
}
