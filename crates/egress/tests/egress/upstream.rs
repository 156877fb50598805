//! The proxy behind this one.

use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::scene::{Scene, Site, echo, head, honest_proxy, listen, ok, rest};

/// `user:p@ss word` as HTTP writes it.
const BASIC: &str = "Basic dXNlcjpwQHNzIHdvcmQ=";

#[tokio::test]
async fn tunnels_and_pages_go_through_it_with_its_credentials_and_nobody_elses() {
    let scene = Scene::new();
    let (proxy, echo) = (honest_proxy(Some(BASIC)).await, echo().await);
    let server = format!("user:p%40ss%20word@{}", proxy.address);
    scene.egress.set_upstream(&server, None).await.unwrap();
    let (head, mut client) = scene.connect(&format!("far.test:{}", echo.port())).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    client.write_all(b"through").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(rest(&mut client).await, "through");

    let answer = scene
        .exchange(
            "GET http://far.test/page?x HTTP/1.1\r\nHost: far.test\r\nProxy-Authorization: Basic bXk6b3du\r\nConnection: close\r\n\r\n",
        )
        .await;
    assert!(answer.ends_with("from the upstream"), "{answer}");
    let heads = proxy.heads();
    assert!(heads[0].starts_with("CONNECT far.test:"), "{heads:?}");
    assert!(heads[1].starts_with("GET http://far.test/page?x HTTP/1.1"), "{heads:?}");
    assert!(!heads.concat().contains("bXk6b3du"), "{heads:?}");

    let mut stream = scene.egress.connect("far.test", echo.port()).await.unwrap();
    stream.write_all(b"inside").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(rest(&mut stream).await, "inside");
}

#[tokio::test]
async fn excludes_includes_and_mappings_decide_who_meets_it() {
    let scene = Scene::new();
    let (proxy, site) = (honest_proxy(None).await, Site::saying("here").await);
    scene.egress.set_upstream(&proxy.address.to_string(), None).await.unwrap();
    assert!(scene.get("http://far.test/").await.ends_with("from the upstream"));
    let local = format!("http://127.0.0.1:{}/", site.port());
    assert!(scene.get(&local).await.ends_with("here"), "this machine is no business of its");
    scene.egress.add_mapping("far.test", &site.port().to_string()).unwrap();
    assert!(scene.get("http://far.test/").await.ends_with("here"));
    scene.egress.remove_mapping("far.test");
    scene.egress.add_exclude(".invalid").unwrap();
    assert!(scene.get("http://a.invalid/").await.contains("unresolved"), "asked directly");
    assert!(scene.egress.remove_exclude(".invalid") && !scene.egress.remove_exclude(".invalid"));
    assert!(scene.get("http://a.invalid/").await.ends_with("from the upstream"));
    scene.egress.set_includes(&["*.far.test".to_owned()]).unwrap();
    assert!(scene.get("http://a.invalid/").await.contains("unresolved"));
    assert!(scene.get("http://x.far.test/").await.ends_with("from the upstream"));
    assert_eq!(scene.egress.diagnose("http://a.invalid/").await.unwrap().route, "bypass");
    assert_eq!(scene.egress.diagnose("http://x.far.test/").await.unwrap().route, "upstream");
    scene.egress.set_includes(&[]).unwrap();
    assert!(scene.egress.remove_upstream() && !scene.egress.remove_upstream());
    assert!(scene.get("http://a.invalid/").await.contains("unresolved"));
}

#[tokio::test]
async fn a_command_tells_the_credentials_and_is_asked_again_when_they_are_refused() {
    let scene = Scene::new();
    // agent:word1, which the command says when it is run the second time.
    let proxy = honest_proxy(Some("Basic YWdlbnQ6d29yZDE=")).await;
    let (address, echo) = (proxy.address.to_string(), echo().await);
    scene.egress.set_upstream(&address, Some("tell")).await.unwrap();
    assert_eq!(scene.commands.0.load(Ordering::SeqCst), 1);
    let (head, _) = scene.connect(&format!("far.test:{}", echo.port())).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(scene.commands.0.load(Ordering::SeqCst), 2);
    assert!(scene.get("http://far.test/").await.ends_with("from the upstream"));
    assert_eq!(scene.commands.0.load(Ordering::SeqCst), 2, "what is good is kept");
    let shown = scene.egress.setup().upstream.clone().unwrap().credentials_shown().await;
    assert_eq!(shown, Some(("agent".to_owned(), Some("***"))));

    let refused = scene.egress.set_upstream(&address, Some("fail")).await.unwrap_err();
    assert!(refused.to_string().contains("it failed"), "{refused}");
    assert!(scene.get("http://far.test/").await.ends_with("from the upstream"), "nothing changed");
}

#[tokio::test]
async fn plain_pages_are_asked_again_with_fresh_credentials() {
    let scene = Scene::new();
    let proxy = honest_proxy(Some("Basic YWdlbnQ6d29yZDE=")).await;
    scene.egress.set_upstream(&proxy.address.to_string(), Some("tell")).await.unwrap();
    let answer = scene.get("http://far.test/").await;
    assert!(answer.ends_with("from the upstream"), "{answer}");
}

#[tokio::test]
async fn a_socks_proxy_is_spoken_to_in_its_own_way() {
    let scene = Scene::new();
    let proxy = listen(|mut stream| async move {
        let mut greeting = [0; 4];
        stream.read_exact(&mut greeting).await.unwrap();
        assert_eq!(greeting, [5, 2, 0, 2]);
        stream.write_all(&[5, 2]).await.unwrap();
        let mut who = [0; 1 + 1 + 4 + 1 + 4];
        stream.read_exact(&mut who).await.unwrap();
        assert_eq!(&who, b"\x01\x04user\x04word");
        stream.write_all(&[1, 0]).await.unwrap();
        let mut what = [0; 4 + 1 + 8 + 2];
        stream.read_exact(&mut what).await.unwrap();
        assert_eq!(&what, b"\x05\x01\x00\x03\x08far.test\x00\x50");
        stream.write_all(b"\x05\x00\x00\x03\x03abc\x00\x00").await.unwrap();
        let head = head(&mut stream).await;
        assert!(head.starts_with("GET / HTTP/1.1"), "{head}");
        stream.write_all(ok("socks").as_bytes()).await.unwrap();
        let _rest = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    scene.egress.set_upstream(&format!("socks5://user:word@{proxy}"), None).await.unwrap();
    let answer = scene.get("http://far.test/").await;
    assert!(answer.ends_with("socks"), "{answer}");
}
