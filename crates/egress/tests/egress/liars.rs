//! Upstreams that are broken or lie: an answer in bounded time, which shows no password.

use std::time::Duration;

use atoll_egress::Limits;
use tokio::io::AsyncWriteExt;

use crate::scene::{DEADLINE, Scene, head, listen};

/// What the two kinds of client are told when the upstream does this.
async fn told(answer: &'static [u8], stay: bool, scheme: &str) -> (String, String) {
    let limits = Limits {
        handshake_time: Duration::from_millis(300),
        head_bytes: 16 << 10,
        ..Limits::default()
    };
    let scene = Scene::with(limits);
    let liar = listen(move |mut stream| async move {
        if !answer.is_empty() || stay {
            let _told = stream.write_all(answer).await;
        }
        if stay {
            // Until the other side has had enough.
            let _end = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut Vec::new()).await;
        }
    })
    .await;
    let server = format!("{scheme}user:hunter2@{liar}");
    scene.egress.set_upstream(&server, None).await.unwrap();
    let both = async {
        let (head, mut client) = scene.connect("far.test:443").await;
        // The proxy would wait for another request.
        client.shutdown().await.unwrap();
        let body = crate::scene::rest(&mut client).await;
        let diagnosis = scene.egress.diagnose("https://far.test/").await.unwrap();
        assert!(!diagnosis.reachable, "{diagnosis:?}");
        let problem = diagnosis.problem.unwrap();
        (format!("{head}{body}"), problem)
    };
    // The client's own connection stays open for more requests, so only the tunnel's answer is waited for.
    tokio::time::timeout(DEADLINE, both).await.unwrap()
}

#[tokio::test]
async fn whatever_an_upstream_does_the_client_is_told_and_no_password_is() {
    let endless: &'static [u8] =
        b"HTTP/1.1 200 OK\r\nX: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
            .leak_long();
    for (name, answer, stay, scheme) in [
        ("garbage", &b"\x00\xff\xfegarbage\r\n\r\n"[..], true, ""),
        ("another protocol", b"SSH-2.0-OpenSSH_9\r\n", true, ""),
        ("closing", b"", false, ""),
        ("closing within", b"HTTP/1.1 200 OK\r\n", false, ""),
        ("hanging", b"", true, ""),
        ("hanging within", b"HTTP/1.1 200 OK\r\nX:", true, ""),
        ("no number", b"HTTP/1.1 yes\r\n\r\n", true, ""),
        ("forbidding", b"HTTP/1.1 403 No\r\n\r\n", true, ""),
        ("credentials", b"HTTP/1.1 407 No\r\n\r\n", true, ""),
        ("without end", endless, true, ""),
        ("socks garbage", b"HTTP/1.1 200 OK\r\n\r\n", true, "socks5://"),
        ("socks hanging", b"\x05", true, "socks5://"),
        ("socks refusing", b"\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00", true, "socks5://"),
        ("socks credentials", b"\x05\xff", true, "socks5://"),
        ("socks wrong", b"\x05\x00\x05\x00\x00\x09", true, "socks5://"),
    ] {
        let (answer, problem) = told(answer, stay, scheme).await;
        let status = &answer[..answer.len().min(12)];
        assert!(["HTTP/1.1 502", "HTTP/1.1 504"].contains(&status), "{name}: {answer}");
        for text in [&answer, &problem] {
            assert!(!text.contains("hunter2") && !text.contains("aHVudGVy"), "{name}: {text}");
        }
    }
}

trait LeakLong {
    fn leak_long(&self) -> &'static [u8];
}

impl LeakLong for [u8] {
    /// The same again and again, to more than any head may have.
    fn leak_long(&self) -> &'static [u8] {
        self.iter()
            .copied()
            .cycle()
            .take(64 << 10)
            .map(|byte| if byte == b'\n' { b'n' } else { byte })
            .collect::<Vec<_>>()
            .leak()
    }
}

#[tokio::test]
async fn a_plain_page_through_a_liar_fails_with_a_reason_too() {
    for (answer, status) in [
        (&b""[..], "HTTP/1.1 502"),
        (b"garbage\r\n\r\n", "HTTP/1.1 502"),
        (b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 502"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "HTTP/1.1 502"),
    ] {
        let scene = Scene::new();
        let liar = listen(move |mut stream| async move {
            head(&mut stream).await;
            let _told = stream.write_all(answer).await;
        })
        .await;
        scene.egress.set_upstream(&format!("user:hunter2@{liar}"), None).await.unwrap();
        let told = scene.get("http://far.test/").await;
        assert!(told.starts_with(status), "{answer:?}: {told}");
        assert!(!told.contains("hunter2") && !told.contains("roxy-authenticate"), "{told}");
    }
}

#[tokio::test]
async fn a_proxy_that_would_go_in_circles_is_noticed() {
    let scene = Scene::new();
    scene.egress.set_upstream(&scene.proxy.to_string(), None).await.unwrap();
    let (head, _) = scene.connect("far.test:443").await;
    assert!(head.starts_with("HTTP/1.1 502"), "{head}");
    let health = scene.egress.health().await;
    assert!(health.contradictions.iter().any(|each| each.contains("circles")), "{health:?}");
}
