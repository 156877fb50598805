//! Tunnels, and connections for parts of this program.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::scene::{Scene, echo, listen, rest};

#[tokio::test]
async fn a_tunnel_carries_much_both_ways_and_ends_half_by_half() {
    let scene = Scene::new();
    let echo = echo().await;
    let (head, mut client) = scene.connect(&echo.to_string()).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let sent: Vec<u8> = (0..3_000_000u32).map(|at| (at % 251) as u8).collect();
    let (mut reader, mut writer) = client.split();
    let write = async {
        writer.write_all(&sent).await.unwrap();
        writer.shutdown().await.unwrap();
    };
    let read = async {
        let mut got = Vec::new();
        reader.read_to_end(&mut got).await.unwrap();
        got
    };
    let ((), got) = tokio::join!(write, read);
    assert!(got == sent, "{} bytes came back", got.len());
}

#[tokio::test]
async fn a_client_may_speak_before_it_is_answered() {
    let scene = Scene::new();
    let echo = echo().await;
    let mut client = scene.client().await;
    let request = format!("CONNECT {echo} HTTP/1.1\r\nHost: {echo}\r\n\r\nearly");
    client.write_all(request.as_bytes()).await.unwrap();
    client.shutdown().await.unwrap();
    let answer = rest(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("early"), "{answer}");
}

#[tokio::test]
async fn a_tunnel_to_a_mapped_host_goes_to_its_port_byte_by_byte() {
    let scene = Scene::new();
    let server = listen(|mut stream| async move {
        let mut hello = [0; 5];
        stream.read_exact(&mut hello).await.unwrap();
        assert_eq!(&hello, b"\x16\x03\x01\x00\x01");
        let _told = stream.write_all(b"raw").await;
    })
    .await;
    scene.egress.add_mapping("https://secure.test", &server.port().to_string()).unwrap();
    let (head, mut client) = scene.connect("secure.test:443").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    client.write_all(b"\x16\x03\x01\x00\x01").await.unwrap();
    assert_eq!(rest(&mut client).await, "raw");
}

#[tokio::test]
async fn where_nobody_listens_a_tunnel_fails_with_the_reason() {
    let scene = Scene::new();
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let (head, mut client) = scene.connect(&address.to_string()).await;
    assert!(head.starts_with("HTTP/1.1 502") && head.contains("unreachable"), "{head}");
    drop(client.shutdown().await);
    let (head, _) = scene.connect("nobody.invalid:443").await;
    assert!(head.starts_with("HTTP/1.1 502") && head.contains("unresolved"), "{head}");
}

#[tokio::test]
async fn parts_of_this_program_go_the_same_way() {
    let scene = Scene::new();
    let echo = echo().await;
    scene.egress.add_mapping("inside.test", &echo.port().to_string()).unwrap();
    let mut stream = scene.egress.connect("inside.test", 80).await.unwrap();
    stream.write_all(b"ping").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(rest(&mut stream).await, "ping");
    let error = scene.egress.connect("169.254.169.254", 80).await.unwrap_err();
    assert!(error.is_refused(), "{error}");
    assert!(scene.egress.connect("not a host", 80).await.is_err());
}

#[tokio::test]
async fn everything_ends_when_the_server_stops() {
    let scene = Scene::new();
    let echo = echo().await;
    let (_, mut client) = scene.connect(&echo.to_string()).await;
    let proxy = scene.proxy;
    drop(scene);
    assert_eq!(rest(&mut client).await, "");
    let gone = async {
        while tokio::net::TcpStream::connect(proxy).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::scene::DEADLINE, gone).await.unwrap();
}
