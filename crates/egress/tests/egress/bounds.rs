//! Bounds: on connections, heads, silence, and what may be chosen.

use std::time::Duration;

use atoll_egress::Limits;
use tokio::io::AsyncWriteExt;

use crate::scene::{DEADLINE, Scene, Site, echo, rest};

#[tokio::test]
async fn when_all_places_are_taken_others_are_told_and_those_inside_go_on() {
    let scene = Scene::with(Limits { connections: 2, ..Limits::default() });
    let echo = echo().await.to_string();
    let (_, mut one) = scene.connect(&echo).await;
    let (_, other) = scene.connect(&echo).await;
    let mut third = scene.client().await;
    let told = rest(&mut third).await;
    assert!(told.starts_with("HTTP/1.1 503") && told.contains("too many"), "{told}");
    one.write_all(b"still here").await.unwrap();
    one.shutdown().await.unwrap();
    assert_eq!(rest(&mut one).await, "still here");
    drop(other);
    let again = async {
        while !scene.connect(&echo).await.0.starts_with("HTTP/1.1 200") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, again).await.unwrap();
}

#[tokio::test]
async fn slow_and_silent_clients_are_ended_and_hold_nobody_up() {
    let limits = Limits {
        head_time: Duration::from_millis(200),
        idle_time: Duration::from_millis(400),
        ..Limits::default()
    };
    let scene = Scene::with(limits);
    let (silent, slow, half) = (scene.client().await, scene.client().await, scene.client().await);
    let mut waiting = [silent, slow, half];
    waiting[1].write_all(b"GET http://a.test/ HT").await.unwrap();
    waiting[2].write_all(&[5]).await.unwrap();
    let site = Site::saying("served").await;
    assert!(scene.get(&format!("http://{}/", site.address)).await.ends_with("served"));
    for client in &mut waiting {
        let told = rest(client).await;
        assert!(told.is_empty() || told.starts_with("HTTP/1.1 408"), "{told}");
    }
    let echo = echo().await;
    let (_, mut idle) = scene.connect(&echo.to_string()).await;
    assert_eq!(rest(&mut idle).await, "", "a tunnel in which nothing moves is ended");
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let scene = Scene::with(Limits { head_bytes: 16 << 10, ..Limits::default() });
    let long = "x".repeat(64 << 10);
    let request = format!("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX-Long: {long}\r\n\r\n");
    let mut client = scene.client().await;
    // It may be cut off while it still sends.
    let _sent = client.write_all(request.as_bytes()).await;
    let told = rest(&mut client).await;
    assert!(told.is_empty() || told.starts_with("HTTP/1.1 431"), "{told}");
}

#[tokio::test]
async fn lists_have_an_end_and_a_refused_change_changes_nothing() {
    let scene = Scene::with(Limits { mappings: 2, patterns: 2, ..Limits::default() });
    scene.egress.add_mapping("a.test", "1").unwrap();
    scene.egress.add_mapping("b.test", "1").unwrap();
    let full = scene.egress.add_mapping("c.test", "1").unwrap_err().to_string();
    assert!(full.contains("2 mappings"), "{full}");
    scene.egress.add_mapping("b.test", "2").unwrap();
    assert_eq!(scene.egress.setup().mappings.len(), 2);
    scene.egress.add_exclude("a.test").unwrap();
    scene.egress.add_exclude("a.test").unwrap();
    scene.egress.add_exclude("b.test").unwrap();
    assert!(scene.egress.add_exclude("c.test").is_err());
    assert!(scene.egress.add_exclude("not a pattern").is_err());
    let three = ["a", "b", "c"].map(str::to_owned);
    assert!(scene.egress.set_includes(&three).is_err() && scene.egress.setup().includes.is_empty());
}

#[tokio::test]
async fn programs_are_told_of_the_proxy_only_while_something_is_chosen() {
    let scene = Scene::new();
    assert!(scene.egress.environment().is_empty() && !scene.egress.pac().contains("PROXY"));
    scene.egress.add_mapping("a.test", "1").unwrap();
    let told = scene.egress.environment();
    let value = |name: &str| told.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    let proxy = format!("http://{}", scene.proxy);
    for name in ["http_proxy", "HTTPS_PROXY", "all_proxy"] {
        assert_eq!(value(name), Some(&proxy));
    }
    assert_eq!(value("no_proxy").map(String::as_str), Some("localhost,127.0.0.1,::1"));
    assert!(scene.egress.pac().contains(&format!("PROXY {}", scene.proxy)));
    scene.egress.remove_mapping("a.test");
    assert!(scene.egress.environment().is_empty());
}
