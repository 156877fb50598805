//! The wire against a browser that is played here, so that it can misbehave.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use atoll_cdp::{CdpError, Connection, Event, Observer};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::task::TaskTracker;

const LONG: Duration = Duration::from_mins(1);

/// The other end.
struct Played(WebSocketStream<TcpStream>);

impl Played {
    /// The next command.
    async fn command(&mut self) -> Value {
        loop {
            let message = self.0.next().await.expect("a command").unwrap();
            if let Message::Text(text) = message {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    async fn say(&mut self, message: &Value) {
        self.say_text(message.to_string()).await;
    }

    async fn say_text(&mut self, message: String) {
        self.0.send(Message::text(message)).await.unwrap();
    }

    /// Answers the next command with what it was given.
    async fn echo(&mut self) {
        let command = self.command().await;
        self.say(&json!({ "id": command["id"], "result": command })).await;
    }
}

/// Remembers what it saw.
#[derive(Debug, Default)]
struct Seen(Mutex<Vec<String>>);

impl Observer for Seen {
    fn event(&self, event: &Arc<Event>) {
        self.0.lock().unwrap().push(event.method.clone());
    }

    fn closed(&self, why: &str) {
        self.0.lock().unwrap().push(format!("closed: {why}"));
    }
}

async fn connected() -> (Connection, Played, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Seen::default());
    let accepting = async {
        let (stream, _) = listener.accept().await.unwrap();
        Played(tokio_tungstenite::accept_async(stream).await.unwrap())
    };
    let tasks = TaskTracker::new();
    let opening = Connection::open("127.0.0.1", port, "/browser", seen.clone(), &tasks);
    let (connection, played) = tokio::join!(opening, accepting);
    (connection.unwrap(), played, seen)
}

#[tokio::test]
async fn answers_find_their_commands_in_any_order() {
    let (connection, mut played, _) = connected().await;
    let session = connection.session("s1");
    let first = session.start("A.one", json!({ "n": 1 })).unwrap();
    let second = connection.root().start("A.two", json!({ "n": 2 })).unwrap();
    let (one, two) = (played.command().await, played.command().await);
    assert_eq!((&one["method"], &one["sessionId"]), (&json!("A.one"), &json!("s1")));
    assert_eq!((&two["method"], two.get("sessionId")), (&json!("A.two"), None));
    played.say(&json!({ "id": two["id"], "result": { "is": 2 } })).await;
    played.say(&json!({ "id": one["id"], "sessionId": "s1", "result": { "is": 1 } })).await;
    assert_eq!(first.answer().await.unwrap(), json!({ "is": 1 }));
    assert_eq!(second.answer().await.unwrap(), json!({ "is": 2 }));
}

#[tokio::test]
async fn refusals_timeouts_and_unreadable_answers_are_named() {
    let (connection, mut played, _) = connected().await;
    let root = connection.root();
    let refused = root.start("A.refused", json!({})).unwrap();
    let id = played.command().await["id"].clone();
    played
        .say(&json!({ "id": id, "error": { "code": -32000, "message": "no", "data": "x" } }))
        .await;
    let expected = CdpError::Refused {
        method: "A.refused".to_owned(),
        code: -32000,
        message: "no: x".to_owned(),
    };
    assert_eq!(refused.answer().await.unwrap_err(), expected);

    let short = Duration::from_millis(10);
    let late = root.command_within("A.late", json!({}), short).await.unwrap_err();
    assert_eq!(late, CdpError::Timeout { method: "A.late".to_owned(), after: short });
    let id = played.command().await["id"].clone();
    played.say(&json!({ "id": id, "result": {} })).await;

    let deep = root.start("A.deep", json!({})).unwrap();
    let id = played.command().await["id"].clone();
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    played.say_text(format!("{{\"id\":{id},\"result\":{nested}}}")).await;
    let error = deep.answer().await.unwrap_err();
    assert!(matches!(error, CdpError::Unreadable { .. }), "{error:?}");
    played.say_text("nonsense".to_owned()).await;

    let (answer, ()) = tokio::join!(root.command("A.still", json!({})), played.echo());
    assert_eq!(answer.unwrap()["method"], "A.still");
}

#[tokio::test]
async fn what_was_told_before_an_answer_is_known_when_it_comes() {
    let (connection, mut played, seen) = connected().await;
    let asking = connection.root().start("A.ask", json!({})).unwrap();
    let id = played.command().await["id"].clone();
    for number in 0..100 {
        played.say(&json!({ "method": format!("E.{number}"), "params": {} })).await;
    }
    played.say(&json!({ "id": id, "result": {} })).await;
    asking.answer().await.unwrap();
    assert_eq!(seen.0.lock().unwrap().len(), 100);
}

#[tokio::test]
async fn a_subscriber_gets_its_own_events_in_order_or_is_told_that_it_was_too_slow() {
    let (connection, mut played, _) = connected().await;
    let mut mine = connection.session("s1").subscribe(&["E.wanted"]);
    let mut all = connection.subscribe(&["E.wanted"]);
    let mut slow = connection.session("s2").subscribe(&["E.flood"]);
    for number in 0..3 {
        for session in ["s1", "s2"] {
            let event =
                json!({ "method": "E.wanted", "sessionId": session, "params": { "n": number } });
            played.say(&event).await;
            played.say(&json!({ "method": "E.other", "sessionId": session, "params": {} })).await;
        }
    }
    for number in 0..3 {
        assert_eq!(mine.next().await.unwrap().params["n"], number);
    }
    for number in 0..6 {
        assert_eq!(all.next().await.unwrap().params["n"], number / 2);
    }
    for _ in 0..20_000 {
        played.say(&json!({ "method": "E.flood", "sessionId": "s2", "params": {} })).await;
    }
    let mut count = 0;
    let error = loop {
        match tokio::time::timeout(LONG, slow.next()).await.unwrap() {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
    };
    assert!(count >= 16_384, "{count}");
    assert!(matches!(error, CdpError::Overflow { .. }), "{error:?}");
    played.say(&json!({ "method": "E.wanted", "sessionId": "s1", "params": { "n": 9 } })).await;
    assert_eq!(mine.next().await.unwrap().params["n"], 9, "others are not disturbed");
}

#[tokio::test]
async fn what_waits_on_a_page_that_goes_fails_and_nothing_else() {
    let (connection, mut played, _) = connected().await;
    let (gone, stays) = (connection.session("gone"), connection.session("stays"));
    let mut events = gone.subscribe(&["E.any"]);
    let lost = gone.start("A.lost", json!({})).unwrap();
    let kept = stays.start("A.kept", json!({})).unwrap();
    played.command().await;
    let id = played.command().await["id"].clone();
    played
        .say(&json!({ "method": "Target.detachedFromTarget", "params": { "sessionId": "gone" } }))
        .await;
    played.say(&json!({ "id": id, "result": {} })).await;
    assert!(matches!(lost.answer().await, Err(CdpError::SessionGone { .. })));
    assert!(matches!(events.next().await, Err(CdpError::SessionGone { .. })));
    kept.answer().await.unwrap();
}

#[tokio::test]
async fn when_the_line_breaks_everything_that_waits_fails_with_the_reason() {
    let (connection, mut played, seen) = connected().await;
    let root = connection.root();
    let waiting: Vec<_> = (0..10).map(|_| root.start("A.wait", json!({})).unwrap()).collect();
    let mut events = connection.subscribe(&["E.any"]);
    for _ in 0..10 {
        played.command().await;
    }
    drop(played);
    for reply in waiting {
        assert!(matches!(reply.answer().await, Err(CdpError::Closed { .. })));
    }
    assert!(matches!(events.next().await, Err(CdpError::Closed { .. })));
    assert!(!connection.ended().await.is_empty());
    assert!(matches!(root.command("A.after", json!({})).await, Err(CdpError::Closed { .. })));
    let mut late = root.subscribe(&["E.any"]);
    assert!(matches!(late.next().await, Err(CdpError::Closed { .. })));
    assert!(seen.0.lock().unwrap().last().unwrap().starts_with("closed: "));
}

#[tokio::test]
async fn a_message_of_a_hundred_megabytes_comes_through() {
    let (connection, mut played, _) = connected().await;
    let asking = connection.root().start("A.big", json!({})).unwrap();
    let id = played.command().await["id"].clone();
    let data = "x".repeat(100 << 20);
    let message = json!({ "id": id, "result": { "data": data } });
    let sending = played.say(&message);
    let (answer, ()) = tokio::join!(asking.within(LONG), sending);
    assert_eq!(answer.unwrap()["data"].as_str().unwrap().len(), 100 << 20);
}

#[tokio::test]
async fn nobody_to_talk_to_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let seen = Arc::new(Seen::default());
    let opened = Connection::open("127.0.0.1", port, "/", seen, &TaskTracker::new()).await;
    assert!(matches!(opened, Err(CdpError::Connect { .. })), "{opened:?}");
}

#[tokio::test]
async fn commands_the_browser_does_not_take_yet_wait_for_it_in_order() {
    let (connection, mut played, _) = connected().await;
    let root = connection.root();
    // More than the sockets' buffers hold: nobody reads yet, and nobody who sends waits.
    let large = "x".repeat(1 << 20);
    let start = |n: u64| root.start("A.large", json!({ "n": n, "text": large })).unwrap();
    let mut replies: Vec<_> = (0..32).map(start).collect();
    let answering = async {
        for n in 0..64 {
            let command = played.command().await;
            assert_eq!(command["params"]["n"], n);
            played.say(&json!({ "id": command["id"], "result": { "n": n } })).await;
        }
    };
    let asking = async {
        // Others come while some are being written.
        replies.extend((32..64).map(start));
        for (n, reply) in replies.into_iter().enumerate() {
            assert_eq!(reply.within(LONG).await.unwrap()["n"], n);
        }
    };
    tokio::join!(answering, asking);
}
