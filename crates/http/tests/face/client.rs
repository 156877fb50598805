//! The Rust client against the same server.

use atoll_api::system::GetSandbox;
use atoll_client::{Client, ClientError};
use bytes::Bytes;
use futures::{StreamExt, stream};
use tokio::time::timeout;

use crate::fake::{Echo, Fail, Heard, Lookup, Remove, Said, Talk};
use crate::store::{Give, Take, sum};
use crate::support::{DEADLINE, Options, Server, start, start_with};

fn client(server: &Server) -> Client {
    Client::new(&server.url()).unwrap()
}

#[tokio::test]
async fn calls_are_typed() {
    let server = start().await;
    let client = client(&server).with_header("X-Forwarded-Host", "h").unwrap();
    let echo = Echo { text: "hi".to_owned(), times: 2, ..Echo::default() };
    let echoed = client.call(echo).await.unwrap();
    assert_eq!((echoed.text.as_str(), echoed.times), ("hi", 2));
    assert_eq!(echoed.link, "http://h/page", "the header was sent");
    let name = "a/b ?é".to_owned();
    let found = client.call(Lookup { name: name.clone(), limit: Some(3) }).await.unwrap();
    assert_eq!((&found["name"], &found["limit"]), (&name.clone().into(), &3.into()));
    client.call(Remove { name }).await.unwrap();
    assert_eq!(client.call(GetSandbox {}).await.unwrap().text, "A fake sandbox.");
}

#[tokio::test]
async fn refusals_carry_what_the_server_said() {
    let server = start().await;
    let client = client(&server);
    let error = client.call(Fail { how: "missing".to_owned() }).await.unwrap_err();
    assert_eq!((error.status(), error.error_code()), (Some(404), Some("test.missing")));
    assert_eq!(error.refusal().unwrap().details.as_ref().unwrap()["id"], 7);
    let echo = Echo { timeout: Some(-1.0), ..Echo::default() };
    let error = client.call(echo).await.unwrap_err();
    assert_eq!(error.refusal().unwrap().fields[0].location, "body.timeout");
    let nobody = Client::new("http://127.0.0.1:1").unwrap();
    let error = nobody.call(Remove { name: "x".to_owned() }).await.unwrap_err();
    assert!(matches!(error, ClientError::Transport { .. }), "{error}");
}

#[tokio::test]
async fn streams_are_read_event_by_event() {
    let server = start().await;
    let client = client(&server);
    let echo = || Echo { text: "x".to_owned(), times: 200, ..Echo::default() };
    let events: Vec<_> = client.stream(echo(), None).await.unwrap().collect().await;
    assert_eq!(events.len(), 200);
    let last = events.into_iter().next_back().unwrap().unwrap();
    assert_eq!((last.name.as_str(), last.id.as_deref()), ("said", Some("200")));
    assert_eq!(last.data["number"], 200);
    let rest = client.stream(echo(), Some("198")).await.unwrap();
    assert_eq!(rest.count().await, 2);
    let error = client.stream(Fail { how: "missing".to_owned() }, None).await.unwrap_err();
    assert_eq!(error.error_code(), Some("test.missing"));
}

async fn transfer(client: Client) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a \"b\"\\c.bin").to_str().unwrap().to_owned();
    let content: Vec<u8> = (0_u32..).flat_map(u32::to_le_bytes).take(3_000_001).collect();
    let input = || Take { path: Some("p\r\n--é".to_owned()), times: Some(2) };
    let name = "a \"b\"\\c.bin";
    let pieces: Vec<_> = content.chunks(100_000).map(Bytes::copy_from_slice).map(Ok).collect();
    let whole = client.upload(input(), name, content.clone()).await.unwrap();
    let pieces = client.upload(input(), name, stream::iter(pieces).boxed()).await.unwrap();
    assert_eq!(whole, pieces);
    assert_eq!((whole.bytes, whole.sum), (Some(3_000_001), sum(&content, 0)));
    assert_eq!((whole.early, whole.times), (input().path, Some(2)));
    assert_eq!(whole.filename.as_deref(), Some(name));
    let refused = Take { path: Some("refused".to_owned()), times: None };
    let error = client.upload(refused, name, vec![0; 5 << 20]).await.unwrap_err();
    assert_eq!((error.status(), error.error_code()), (Some(409), Some("test.refused")));

    std::fs::write(&path, &content).unwrap();
    let give = |what: &str| Give { what: what.to_owned(), path: path.clone(), checks: 0 };
    let file = client.download(give("file")).await.unwrap();
    assert_eq!((file.status(), file.length()), (200, Some(3_000_001)));
    let disposition = file.header("Content-Disposition").unwrap();
    assert!(disposition.contains("filename*=UTF-8''a%20%22b%22%5Cc.bin"), "{disposition}");
    let received: Vec<Bytes> = file.map(Result::unwrap).collect().await;
    assert!(received.concat() == content);
    let ranged = client.clone().with_header("Range", "bytes=3000000-").unwrap();
    let part = ranged.download(give("file")).await.unwrap();
    assert_eq!((part.status(), part.length()), (206, Some(1)));
    let error = ranged.download(give("nothing")).await.map(drop);
    assert!(error.is_ok(), "a stream has no parts");
    let broken = client.download(give("broken")).await.unwrap();
    assert!(broken.collect::<Vec<_>>().await.pop().unwrap().is_err(), "it does not end well");
    let missing = Give { path: "/nowhere".to_owned(), ..give("file") };
    let error = client.download(missing).await.unwrap_err();
    assert_eq!((error.status(), error.error_code()), (Some(404), Some("test.missing")));
}

#[tokio::test]
async fn files_are_sent_and_received_piece_by_piece() {
    let server = start().await;
    transfer(client(&server)).await;
}

async fn converse(client: Client) {
    let mut talk = client.converse(Talk { mode: "echo".to_owned() }).await.unwrap();
    talk.send(&Said { say: "hello".to_owned() }).await.unwrap();
    let heard = timeout(DEADLINE, talk.receive()).await.unwrap().unwrap().unwrap();
    assert_eq!(heard, Heard { heard: "hello".to_owned() });
    let (speaking, mut hearing) = talk.split();
    speaking.close().await.unwrap();
    assert!(timeout(DEADLINE, hearing.receive()).await.unwrap().is_none());
    let error = client.converse(Talk { mode: "refuse".to_owned() }).await.unwrap_err();
    assert_eq!((error.status(), error.error_code()), (Some(404), Some("test.missing")));
    assert_eq!(error.to_string(), "Session not found");
}

#[tokio::test]
async fn conversations_are_typed() {
    let server = start().await;
    converse(client(&server)).await;
}

#[tokio::test]
async fn everything_works_over_a_unix_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let mut server = start_with(Options {
        listen: path.to_str().unwrap().parse().unwrap(),
        ..Options::default()
    })
    .await;
    let client = client(&server);
    client.call(Remove { name: "x".to_owned() }).await.unwrap();
    transfer(client.clone()).await;
    converse(client).await;
    server.stop.cancel();
    timeout(DEADLINE, &mut server.serving).await.expect("it stops").unwrap().unwrap();
    assert!(!path.exists());
}
