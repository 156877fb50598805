//! Stopping in bounded time.

use std::sync::atomic::Ordering;

use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::support::{DEADLINE, Options, eventually, read_until, start, start_with};

const WAIT: &str = "POST /v1/wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";

#[tokio::test]
async fn open_streams_and_sockets_do_not_hold_up_a_stop() {
    let mut server = start().await;
    let mut events = server.connect().await;
    let head = "POST /v1/echo?times=0&text=x HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\
                Content-Length: 0\r\n\r\n";
    events.write_all(head.as_bytes()).await.unwrap();
    read_until(&mut events, "text/event-stream").await;
    let idle = server.connect().await;
    let url = format!("ws://localhost:{}/v1/talk?mode=echo", server.port());
    let request = url.into_client_request().unwrap();
    let stream = server.connect().await;
    let (mut socket, _) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    socket.send(Message::text(r#"{"say":"x"}"#)).await.unwrap();
    socket.next().await.unwrap().unwrap();

    server.stop.cancel();
    let Message::Close(Some(frame)) = socket.next().await.unwrap().unwrap() else {
        panic!("a farewell");
    };
    assert_eq!(frame.code, CloseCode::Away);
    let mut rest = Vec::new();
    timeout(DEADLINE, events.read_to_end(&mut rest)).await.expect("the stream ends").unwrap();
    assert!(rest.ends_with(b"0\r\n\r\n"), "ended well: {rest:?}");
    timeout(DEADLINE, &mut server.serving).await.expect("it stops").unwrap().unwrap();
    assert!(TcpStream::connect(("127.0.0.1", server.port())).await.is_err());
    drop(idle);
}

#[tokio::test]
async fn a_request_under_way_is_finished() {
    let mut server = start().await;
    let mut stream = server.connect().await;
    stream.write_all(WAIT.as_bytes()).await.unwrap();
    eventually("the call", || server.fake.waiting.load(Ordering::SeqCst) == 1).await;
    server.stop.cancel();
    let port = server.port();
    while TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!server.serving.is_finished());
    server.fake.release.notify_one();
    let answer = read_until(&mut stream, "\"success\":true").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    timeout(DEADLINE, &mut server.serving).await.expect("it stops").unwrap().unwrap();
}

#[tokio::test]
async fn what_does_not_end_in_time_is_dropped() {
    let mut options = Options::default();
    options.limits.stop_grace_seconds = 0;
    let mut server = start_with(options).await;
    let mut stream = server.connect().await;
    stream.write_all(WAIT.as_bytes()).await.unwrap();
    eventually("the call", || server.fake.waiting.load(Ordering::SeqCst) == 1).await;
    server.stop.cancel();
    timeout(DEADLINE, &mut server.serving).await.expect("it stops").unwrap().unwrap();
    assert_eq!(server.fake.abandoned.load(Ordering::SeqCst), 1);
    let mut rest = Vec::new();
    timeout(DEADLINE, stream.read_to_end(&mut rest)).await.expect("closed").unwrap();
    assert!(rest.is_empty(), "{rest:?}");
}

#[tokio::test]
async fn a_client_that_reads_nothing_does_not_hold_up_a_stop() {
    let mut options = Options::default();
    options.limits.stop_grace_seconds = 0;
    let mut server = start_with(options).await;
    let url = format!("ws://localhost:{}/v1/talk?mode=flood", server.port());
    let request = url.into_client_request().unwrap();
    let stream = server.connect().await;
    let (socket, _) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    let mut peek = [0; 1];
    socket.get_ref().peek(&mut peek).await.unwrap();
    server.stop.cancel();
    timeout(DEADLINE, &mut server.serving).await.expect("it stops").unwrap().unwrap();
}
