//! The Rust client against the same server.

use atoll_api::system::GetSandbox;
use atoll_client::{Client, ClientError};
use futures::StreamExt;
use tokio::time::timeout;

use crate::fake::{Echo, Fail, Heard, Lookup, Remove, Said, Talk};
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
    converse(client).await;
    server.stop.cancel();
    timeout(DEADLINE, &mut server.serving).await.expect("it stops").unwrap().unwrap();
    assert!(!path.exists());
}
