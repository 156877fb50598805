//! Plain requests.

use std::sync::atomic::Ordering;

use tokio::io::AsyncWriteExt;

use crate::scene::{Scene, Site, head, ok, rest};

#[tokio::test]
async fn a_page_is_fetched_and_what_is_for_the_proxy_stays_with_it() {
    let scene = Scene::new();
    let site = Site::saying("hello").await;
    let url = format!("http://user:word@{}/a/b?c=d", site.address);
    let answer = scene
        .exchange(&format!(
            "GET {url} HTTP/1.1\r\nHost: elsewhere.test\r\nProxy-Authorization: Basic c2VjcmV0\r\n\
             Proxy-Connection: keep-alive\r\nX-Hop: 1\r\nConnection: close, X-Hop\r\nX-Kept: yes\r\n\r\n"
        ))
        .await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("hello"), "{answer}");
    let head = site.heads().remove(0);
    assert!(head.starts_with("GET /a/b?c=d HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("Host: {}\r\n", site.address)), "{head}");
    assert!(head.contains("X-Kept: yes"), "{head}");
    for gone in ["roxy-", "X-Hop", "elsewhere", "word", "c2VjcmV0"] {
        assert!(!head.contains(gone), "{gone} in {head}");
    }
}

#[tokio::test]
async fn a_mapping_answers_in_place_of_a_host_until_it_is_changed() {
    let scene = Scene::new();
    let (one, other) = (Site::saying("one").await, Site::saying("other").await);
    scene.egress.add_mapping("myapp.test", &format!(":{}", one.port())).unwrap();
    assert!(scene.get("http://myapp.test/x").await.ends_with("one"));
    assert!(one.heads()[0].contains("Host: myapp.test\r\n"), "{:?}", one.heads());
    scene.egress.add_mapping("MyApp.test/", &format!("127.0.0.1:{}", other.port())).unwrap();
    assert_eq!(scene.egress.setup().mappings.len(), 1);
    assert!(scene.get("http://myapp.test/x").await.ends_with("other"));
    assert!(
        scene.egress.remove_mapping("myapp.test") && !scene.egress.remove_mapping("myapp.test")
    );
    let gone = scene.get("http://myapp.test/x").await;
    assert!(gone.starts_with("HTTP/1.1 502") && gone.contains("unresolved"), "{gone}");
}

#[tokio::test]
async fn mappings_of_paths_rewrite_them_and_leave_the_rest_alone() {
    let scene = Scene::new();
    let (app, api) = (Site::saying("app").await, Site::saying("api").await);
    scene.egress.add_mapping("*.shop.test", &app.port().to_string()).unwrap();
    scene.egress.add_mapping("www.shop.test/v1/*", &format!(":{}/base/", api.port())).unwrap();
    assert!(scene.get("http://www.shop.test/v1/items?x=1").await.ends_with("api"));
    assert!(api.heads()[0].starts_with("GET /base/items?x=1 HTTP/1.1"), "{:?}", api.heads());
    assert!(scene.get("http://www.shop.test/v2").await.ends_with("app"));
    assert!(scene.get("http://other.shop.test/v1/items").await.ends_with("app"));
}

#[tokio::test]
async fn one_connection_serves_many_requests_and_a_change_of_mappings_in_between() {
    let scene = Scene::new();
    let (one, other) = (Site::saying("one").await, Site::saying("two").await);
    scene.egress.add_mapping("a.test", &one.port().to_string()).unwrap();
    let mut client = scene.client().await;
    let mut ask = async |expected: &str| {
        client.write_all(b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n").await.unwrap();
        let head = head(&mut client).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let mut body = [0; 3];
        tokio::io::AsyncReadExt::read_exact(&mut client, &mut body).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&body), expected);
    };
    for _ in 0..3 {
        ask("one").await;
    }
    assert_eq!(one.connections.load(Ordering::SeqCst), 1, "the connection behind is kept");
    scene.egress.add_mapping("a.test", &other.port().to_string()).unwrap();
    ask("two").await;
}

#[tokio::test]
async fn a_server_that_closed_a_kept_connection_is_asked_again() {
    let scene = Scene::new();
    let served = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = served.clone();
    let address = crate::scene::listen(move |mut stream| {
        let counted = counted.clone();
        async move {
            head(&mut stream).await;
            counted.fetch_add(1, Ordering::SeqCst);
            // Says nothing of closing, and closes.
            let _told = stream.write_all(ok("yes").as_bytes()).await;
        }
    })
    .await;
    let mut client = scene.client().await;
    for count in 1..=5 {
        let request = format!("GET http://{address}/ HTTP/1.1\r\nHost: x\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let head = head(&mut client).await;
        assert!(head.starts_with("HTTP/1.1 200"), "request {count}: {head}");
        let mut body = [0; 3];
        tokio::io::AsyncReadExt::read_exact(&mut client, &mut body).await.unwrap();
    }
    assert!(served.load(Ordering::SeqCst) >= 5);
}

#[tokio::test]
async fn bodies_pass_whole_whatever_their_framing() {
    let scene = Scene::new();
    let received = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = received.clone();
    let address = crate::scene::listen(move |mut stream| {
        let kept = kept.clone();
        async move {
            let head = head(&mut stream).await;
            let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
            let mut body = Vec::new();
            let end: &[u8] = if chunked { b"0\r\n\r\n" } else { b"world" };
            while !body.ends_with(end) {
                let mut byte = [0];
                tokio::io::AsyncReadExt::read_exact(&mut stream, &mut byte).await.unwrap();
                body.push(byte[0]);
            }
            kept.lock().unwrap().push((chunked, String::from_utf8(body).unwrap()));
            let _told = stream.write_all(ok("done").as_bytes()).await;
        }
    })
    .await;
    for (framing, body) in [
        ("Content-Length: 11", "hello world"),
        ("Transfer-Encoding: chunked", "6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n"),
    ] {
        let answer = scene
            .exchange(&format!(
                "POST http://{address}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{framing}\r\n\r\n{body}"
            ))
            .await;
        assert!(answer.ends_with("done"), "{answer}");
    }
    let received = received.lock().unwrap();
    assert_eq!(received[0], (false, "hello world".to_owned()));
    assert!(received[1].0 && received[1].1.contains("hello "), "{received:?}");
}

#[tokio::test]
async fn nothing_is_smuggled_past_one_request() {
    let scene = Scene::new();
    let site = Site::saying("x").await;
    let address = site.address;
    for smuggled in [
        format!(
            "POST http://{address}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"
        ),
        format!(
            "POST http://{address}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: xchunked\r\n\r\nhello"
        ),
        format!("GET http://{address}/ HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello"),
        format!("GET http://{address}/ HTTP/1.1\r\nHost: x\r\nBad Header: 5\r\n\r\n"),
    ] {
        let answer = scene.exchange(&smuggled).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{smuggled:?}: {answer}");
    }
    assert!(site.heads().is_empty(), "{:?}", site.heads());
}

#[tokio::test]
async fn what_is_no_request_to_a_proxy_is_told_so() {
    let scene = Scene::new();
    for request in [
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "GET https://example.com/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "CONNECT nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "CONNECT nowhere:0 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    ] {
        let answer = scene.exchange(request).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{request:?}: {answer}");
    }
    let mut client = scene.client().await;
    client.write_all(b"\x16\x03\x01garbage\r\n\r\n").await.unwrap();
    let answer = rest(&mut client).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
}
