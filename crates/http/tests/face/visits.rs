//! Pages in a browser: the cookie they get, what it is good for, and what the servers behind windows get to see.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::support::{Answer, DEADLINE, KEY, Options, READER, Server, locked, start_with};

/// A server that answers with the request it got.
async fn mirror() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut seen = Vec::new();
                let mut piece = [0; 4096];
                while !seen.windows(4).any(|four| four == b"\r\n\r\n") {
                    match stream.read(&mut piece).await {
                        Ok(count @ 1..) => seen.extend_from_slice(&piece[..count]),
                        _ => return,
                    }
                }
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n",
                    seen.len()
                );
                stream.write_all(head.as_bytes()).await.ok();
                stream.write_all(&seen).await.ok();
            });
        }
    });
    address
}

async fn server() -> Server {
    start_with(Options { pane: Some(mirror().await), ..locked() }).await
}

async fn ticket(server: &Server, key: &str) -> String {
    let answer = server.send("POST", "/tickets", &[("X-API-Key", key)], "").await;
    answer.json()["ticket"].as_str().unwrap().to_owned()
}

const BROWSER: (&str, &str) = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");

/// The cookie of an answer as a browser sends it back, and its attributes.
fn cookie(answer: &Answer) -> (String, String) {
    let set = answer.header("set-cookie").unwrap_or_else(|| panic!("no cookie in {answer:?}"));
    let (pair, attributes) = set.split_once("; ").unwrap();
    assert!(pair.starts_with("atoll_page="));
    (pair.to_owned(), attributes.to_owned())
}

#[tokio::test]
async fn a_page_gets_a_cookie_for_its_own_files_only() {
    let server = server().await;
    let ticket = ticket(&server, KEY).await;
    let page = server.send("GET", &format!("/pane/lab?ticket={ticket}"), &[BROWSER], "").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    let (pair, attributes) = cookie(&page);
    assert_eq!(attributes, "Path=/pane; HttpOnly; SameSite=Strict");
    assert!(!pair.contains(&ticket), "it is not the ticket");
    let sent = ("Cookie", pair.as_str());
    for path in ["/pane", "/pane/", "/pane/file.js", "/pane/a/b?x=1"] {
        assert_eq!(server.send("GET", path, &[sent], "").await.status, 200, "{path}");
    }
    for path in ["/", "/panes", "/v1/things/x", "/metrics", "/v1/docs", "/pane/../v1/things/x"] {
        let answer = server.send("GET", path, &[sent], "").await;
        assert!([401, 200].contains(&answer.status), "{path}");
        // The last one stays below /pane: nobody takes the dots for anything.
        assert_eq!(answer.status == 200, path.starts_with("/pane/"), "{path}: {answer:?}");
    }
    let expired = format!("/pane?ticket={}", "x".repeat(43));
    assert_eq!(server.send("GET", &expired, &[sent], "").await.status, 200, "a reload later on");
    let renewal = server.send("POST", "/tickets", &[sent], "").await;
    assert_eq!(renewal.status, 401);
}

#[tokio::test]
async fn our_own_pages_share_a_cookie() {
    let server = server().await;
    let ticket = ticket(&server, READER).await;
    let page = server.send("GET", &format!("/v1/docs?ticket={ticket}"), &[BROWSER], "").await;
    let (pair, attributes) = cookie(&page);
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
    let sent = ("Cookie", pair.as_str());
    assert_eq!(server.send("GET", "/v1/openapi.json", &[sent], "").await.status, 200);
    assert_eq!(server.send("GET", "/v1/things/x", &[sent], "").await.status, 200);
    let write = server.send("DELETE", "/v1/things/x", &[sent], "").await;
    assert_eq!(write.status, 403, "with the scopes of whoever asked for the ticket");
    let renewal = server.send("POST", "/tickets", &[sent], "").await;
    assert_eq!(renewal.json()["error_code"], "auth.no_renewal");
}

#[tokio::test]
async fn a_cookie_lies_below_the_prefix_and_is_secure_where_the_way_is() {
    let server = server().await;
    let ticket = ticket(&server, KEY).await;
    let proxied = [
        BROWSER,
        ("X-Forwarded-Prefix", "/sandbox/one"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "box.example"),
    ];
    let page = server.send("GET", &format!("/pane?ticket={ticket}"), &proxied, "").await;
    assert_eq!(cookie(&page).1, "Path=/sandbox/one/pane; HttpOnly; SameSite=Strict; Secure");
    let page = server.send("GET", &format!("/v1/docs?ticket={ticket}"), &proxied, "").await;
    assert_eq!(cookie(&page).1, "Path=/sandbox/one; HttpOnly; SameSite=Strict; Secure");
    let hostile = [BROWSER, ("X-Forwarded-Prefix", "/x; Domain=evil.test")];
    let page = server.send("GET", &format!("/pane?ticket={ticket}"), &hostile, "").await;
    assert_eq!(cookie(&page).1, "Path=/pane; HttpOnly; SameSite=Strict");
}

#[tokio::test]
async fn only_a_page_shown_with_a_credential_in_its_address_gets_one() {
    let server = server().await;
    let ticket = ticket(&server, KEY).await;
    let with_key = format!("/pane?api_key={KEY}");
    assert!(server.send("GET", &with_key, &[BROWSER], "").await.header("set-cookie").is_some());
    let framed = [("Sec-Fetch-Dest", "iframe"), ("Accept", "*/*")];
    let page = server.send("GET", &format!("/pane?ticket={ticket}"), &framed, "").await;
    assert!(page.header("set-cookie").is_some());
    let target = format!("/v1/things/x?ticket={ticket}");
    for headers in [
        &[][..],
        &[("Accept", "application/json")],
        &[BROWSER, ("Sec-Fetch-Dest", "empty")],
        &[BROWSER, ("Sec-Fetch-Dest", "script")],
    ] {
        let answer = server.send("GET", &target, headers, "").await;
        assert_eq!((answer.status, answer.header("set-cookie")), (200, None), "{headers:?}");
    }
    let by_header = server.send("GET", "/pane", &[BROWSER, ("X-API-Key", KEY)], "").await;
    assert!(by_header.header("set-cookie").is_none());
    let missing = server.send("GET", &format!("/nowhere?ticket={ticket}"), &[BROWSER], "").await;
    assert_eq!((missing.status, missing.header("set-cookie")), (404, None));
}

#[tokio::test]
async fn a_cookie_counts_for_requests_of_our_own_pages_only() {
    let everybody = vec!["*".to_owned(), "https://app.test".to_owned()];
    let options = Options { pane: Some(mirror().await), allowed_origins: everybody, ..locked() };
    let server = start_with(options).await;
    let ticket = ticket(&server, KEY).await;
    let page = server.send("GET", &format!("/v1/docs?ticket={ticket}"), &[BROWSER], "").await;
    let (pair, _) = cookie(&page);
    for (headers, status) in [
        (&[("Origin", "http://localhost")][..], 200),
        (&[("Origin", "https://app.test")], 200),
        (&[("Origin", "http://evil.test")], 401),
        (&[("Origin", "http://localhost:3000")], 401),
        (&[("Origin", "null")], 401),
        (&[("Sec-Fetch-Site", "same-origin")], 200),
        (&[("Sec-Fetch-Site", "none")], 200),
        (&[("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")], 401),
        (&[("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "cors")], 401),
        (&[("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "navigate")], 200),
    ] {
        let mut sent = vec![("Cookie", pair.as_str())];
        sent.extend(headers);
        let answer = server.send("GET", "/v1/things/x", &sent, "").await;
        assert_eq!(answer.status, status, "{headers:?}: {answer:?}");
    }
    let posted = [
        ("Cookie", pair.as_str()),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
    ];
    assert_eq!(server.send("POST", "/v1/wait", &posted, "").await.status, 401, "a form of another");
}

#[tokio::test]
async fn the_server_behind_a_window_sees_no_credential() {
    let server = server().await;
    let ticket = ticket(&server, KEY).await;
    let page = server.send("GET", &format!("/pane?ticket={ticket}"), &[BROWSER], "").await;
    let (pair, _) = cookie(&page);
    let secret = pair.split_once('=').unwrap().1;
    let cookies = format!("_xsrf=kept; {pair}; other=kept too");
    let bearer = format!("Bearer {KEY}");
    let answer = server
        .send(
            "GET",
            &format!("/pane/x?a=1&ticket={ticket}&%61pi_key={KEY}&b=%20"),
            &[
                ("Authorization", &bearer),
                ("X-API-Key", KEY),
                ("X-AIO-API-Key", KEY),
                ("Cookie", &cookies),
                ("X-Kept", "yes"),
            ],
            "",
        )
        .await;
    assert_eq!(answer.status, 200);
    let seen = answer.body.to_ascii_lowercase();
    assert!(seen.starts_with("get /pane/x?a=1&b=%20 http/1.1\r\n"), "{seen}");
    assert!(seen.contains("cookie: _xsrf=kept; other=kept too\r\n"), "{seen}");
    assert!(seen.contains("x-kept: yes"), "{seen}");
    for hidden in [KEY, ticket.as_str(), secret, "authorization", "api-key", "atoll_page"] {
        assert!(!seen.contains(&hidden.to_ascii_lowercase()), "{hidden} in {seen}");
    }
}

#[tokio::test]
async fn no_second_request_is_smuggled_to_the_server_behind_a_window() {
    let server = server().await;
    let hidden = "GET /pane/smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
    let empty = format!("0\r\n\r\n{hidden}");
    let key = format!("X-API-Key: {KEY}\r\n");
    for (what, headers, body) in [
        ("CL.TE", format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", empty.len()), &*empty),
        ("TE.CL", format!("Transfer-Encoding: chunked\r\nContent-Length: {}\r\n", empty.len()), &*empty),
        ("an odd TE", "Transfer-Encoding: xchunked\r\n".to_owned(), &*empty),
        ("two lengths", "Content-Length: 0\r\nContent-Length: 46\r\n".to_owned(), hidden),
        ("a hidden length", "Connection: Content-Length\r\nContent-Length: 46\r\n".to_owned(), hidden),
        ("a length named by Connection", "Connection: close, content-length\r\nContent-Length: 46\r\n".to_owned(), hidden),
        ("an upgrade", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n".to_owned(), hidden),
        ("a header with a line in it", "X-A: b\rGET /pane/smuggled HTTP/1.1\r\nContent-Length: 0\r\n".to_owned(), hidden),
    ] {
        // The hidden one has no credential: on this connection it is a stranger's, behind the window it would be ours.
        let request = format!("POST /pane/x HTTP/1.1\r\nHost: localhost\r\n{key}{headers}\r\n{body}");
        let mut stream = server.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.ok();
        let mut bytes = Vec::new();
        timeout(DEADLINE, stream.read_to_end(&mut bytes)).await.expect("it ends").ok();
        let said = String::from_utf8_lossy(&bytes);
        // The mirror shows the head of each request it was given: the hidden one is none of them.
        assert!(!said.contains("\r\n\r\nGET /pane/smuggled"), "{what}: {said}");
        assert!(said.matches("HTTP/1.1 200 OK").count() <= 1, "{what}: {said}");
    }
}
