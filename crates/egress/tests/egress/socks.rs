//! SOCKS5.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::scene::{DEADLINE, Scene, echo, rest};

/// Greets, asks for a connection, and returns the outcome with the connection.
async fn ask(scene: &Scene, host: &[u8], port: u16) -> (u8, tokio::net::TcpStream) {
    let mut client = scene.client().await;
    client.write_all(&[5, 2, 0, 2]).await.unwrap();
    let mut chosen = [0; 2];
    client.read_exact(&mut chosen).await.unwrap();
    assert_eq!(chosen, [5, 0]);
    client.write_all(&[&[5, 1, 0], host, &port.to_be_bytes()].concat()).await.unwrap();
    let mut answer = [0; 10];
    tokio::time::timeout(DEADLINE, client.read_exact(&mut answer)).await.unwrap().unwrap();
    (answer[1], client)
}

fn name(text: &str) -> Vec<u8> {
    let mut bytes = vec![3, u8::try_from(text.len()).unwrap()];
    bytes.extend(text.bytes());
    bytes
}

#[tokio::test]
async fn names_and_addresses_are_connected_to() {
    let scene = Scene::new();
    let echo = echo().await;
    scene.egress.add_mapping("mapped.test", &echo.port().to_string()).unwrap();
    for (host, port) in [
        (vec![1, 127, 0, 0, 1], echo.port()),
        (name("localhost"), echo.port()),
        (name("mapped.test"), 80),
    ] {
        let (outcome, mut client) = ask(&scene, &host, port).await;
        assert_eq!(outcome, 0, "{host:?}");
        client.write_all(b"hello").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(rest(&mut client).await, "hello");
    }
}

#[tokio::test]
async fn what_cannot_be_is_told_by_its_number() {
    let scene = Scene::new();
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    assert_eq!(ask(&scene, &[1, 127, 0, 0, 1], port).await.0, 5);
    assert_eq!(ask(&scene, &[1, 169, 254, 169, 254], 80).await.0, 2);
    assert_eq!(ask(&scene, &name("nobody.invalid"), 80).await.0, 4);
    assert_eq!(ask(&scene, &name("not a name"), 80).await.0, 1);
    assert_eq!(scene.egress.refusals(10).0[0].way.as_str(), "socks");
}

#[tokio::test]
async fn clients_that_want_something_else_are_turned_away() {
    let scene = Scene::new();
    let mut client = scene.client().await;
    client.write_all(&[5, 1, 2]).await.unwrap();
    assert_eq!(rest(&mut client).await.as_bytes(), "\u{5}\u{fffd}".as_bytes());
    let mut client = scene.client().await;
    client.write_all(&[5, 1, 0, 5, 2, 0, 1, 127, 0, 0, 1, 0, 80]).await.unwrap();
    let mut answer = [0; 4];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, [5, 0, 5, 7], "binding is not offered");
}
