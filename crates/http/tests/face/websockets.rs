//! Conversations over WebSockets.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::support::{DEADLINE, Options, Server, start, start_with};

type Socket = WebSocketStream<TcpStream>;

async fn connect(server: &Server, mode: &str) -> Result<Socket, Error> {
    let url = format!("ws://localhost:{}/v1/talk?mode={mode}", server.port());
    let request = url.into_client_request()?;
    let (socket, _) = tokio_tungstenite::client_async(request, server.connect().await).await?;
    Ok(socket)
}

async fn next(socket: &mut Socket) -> Message {
    let message = timeout(DEADLINE, socket.next()).await.expect("a message comes");
    message.expect("the socket is open").unwrap()
}

async fn close_code(socket: &mut Socket) -> CloseCode {
    loop {
        if let Message::Close(frame) = next(socket).await {
            return frame.expect("a close has a reason").code;
        }
    }
}

#[tokio::test]
async fn messages_go_both_ways_as_json_text() {
    let server = start().await;
    let mut socket = connect(&server, "echo").await.unwrap();
    socket.send(Message::text(r#"{"say":"héllo"}"#)).await.unwrap();
    assert_eq!(next(&mut socket).await, Message::text(r#"{"heard":"héllo"}"#));
    socket.send(Message::binary(&br#"{"say":"bytes"}"#[..])).await.unwrap();
    assert_eq!(next(&mut socket).await, Message::text(r#"{"heard":"bytes"}"#));
    socket.send(Message::text("not json")).await.unwrap();
    let answer = next(&mut socket).await.into_text().unwrap();
    assert!(answer.contains("error: "), "the service is told: {answer}");
    let metrics = server.get("/metrics").await.body;
    assert!(metrics.contains("atoll_http_websockets_open 1\n"), "{metrics}");
}

#[tokio::test]
async fn the_end_of_a_conversation_closes_the_socket() {
    let server = start().await;
    let mut socket = connect(&server, "once").await.unwrap();
    socket.send(Message::text(r#"{"say":"x"}"#)).await.unwrap();
    assert_eq!(next(&mut socket).await, Message::text(r#"{"heard":"x"}"#));
    assert_eq!(close_code(&mut socket).await, CloseCode::Normal);
}

#[tokio::test]
async fn a_refusal_is_an_ordinary_answer() {
    let server = start().await;
    let Err(Error::Http(response)) = connect(&server, "refuse").await else {
        panic!("refused");
    };
    assert_eq!(response.status(), 404);
    let missing = connect(&server, "%00").await;
    assert!(matches!(missing, Err(Error::Http(response)) if response.status() == 422));
}

#[tokio::test]
async fn a_request_without_an_upgrade_is_told_to_use_a_websocket() {
    let server = start().await;
    let answer = server.get("/v1/talk?mode=echo").await;
    assert_eq!((answer.status, &answer.json()["code"]), (426, &json!(426)));
    assert_eq!(answer.header("upgrade"), Some("websocket"));
}

#[tokio::test]
async fn a_message_over_the_limit_closes_the_socket() {
    let mut options = Options::default();
    options.limits.websocket_message_bytes = 1000;
    let server = start_with(options).await;
    let mut socket = connect(&server, "echo").await.unwrap();
    socket.send(Message::text("x".repeat(1001))).await.unwrap();
    assert_eq!(close_code(&mut socket).await, CloseCode::Size);
}

#[tokio::test]
async fn a_client_that_does_not_read_a_flood_can_still_stop_it() {
    let server = start().await;
    let mut socket = connect(&server, "flood").await.unwrap();
    // Nothing is read: the flood has filled both buffers when the bytes that wait grow no more.
    let mut waiting = 0;
    let filling = async {
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let before = std::mem::replace(&mut waiting, readable(socket.get_ref()));
            if waiting > 0 && waiting == before {
                break;
            }
        }
    };
    timeout(DEADLINE, filling).await.expect("the buffers fill");
    socket.send(Message::text(r#"{"say":"stop"}"#)).await.unwrap();
    assert_eq!(close_code(&mut socket).await, CloseCode::Normal);
}

/// Bytes that wait to be read.
fn readable(stream: &TcpStream) -> u64 {
    rustix::io::ioctl_fionread(stream).unwrap()
}

#[tokio::test]
async fn a_panic_in_a_conversation_ends_only_that_one() {
    let server = start().await;
    let mut socket = connect(&server, "panic").await.unwrap();
    let ended = timeout(DEADLINE, socket.next()).await.expect("it ends");
    assert!(!matches!(ended, Some(Ok(Message::Text(_)))), "{ended:?}");
    assert!(server.get("/metrics").await.body.contains("atoll_http_panics_total 1\n"));
    assert!(connect(&server, "echo").await.is_ok());
}

#[tokio::test]
async fn foreign_pages_cannot_open_one() {
    let server = start().await;
    let mut stream = server.connect().await;
    let head = format!(
        "GET /v1/talk?mode=echo HTTP/1.1\r\nHost: localhost:{}\r\nOrigin: http://evil.test\r\n\
         Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.port()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = crate::support::read_until(&mut stream, "\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}
