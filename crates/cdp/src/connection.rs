//! The connection: commands are written by whoever sends them, one task reads, and every answer finds the command it is
//! for. What the socket does not take at once is written by a second task, so that nobody who sends ever waits.

use std::collections::HashMap;
use std::fmt::Debug;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::{Sink, Stream};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot, watch};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};
use tokio_util::task::TaskTracker;

use crate::error::CdpError;
use crate::event::{Event, Subscribers, Subscription};
use crate::session::Session;

/// One message: a screenshot of a long page, or a PDF, comes in one piece.
const MESSAGE_BYTES: usize = 1 << 30;
/// Commands that may wait for their answers, and so also those that wait to be written.
const COMMANDS: usize = 16_384;

/// Sees every event in order, before subscribers do and before answers that came later are handed out. It is called
/// on the reading task: it must be quick and must not block.
pub trait Observer: Debug + Send + Sync + 'static {
    /// Something happened.
    fn event(&self, event: &Arc<Event>);
    /// The connection has ended.
    fn closed(&self, why: &str);
}

/// A connection to a browser. Clones share it; it ends with [`Connection::close`] or when the browser does.
#[derive(Debug, Clone)]
pub struct Connection(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    line: Mutex<Line>,
    /// Wakes the task that writes what the socket did not take.
    unwritten: Notify,
    /// Nothing more is to be sent.
    closing: AtomicBool,
    pending: Mutex<HashMap<u64, Pending>>,
    latest: AtomicU64,
    pub(crate) subscribers: Arc<Mutex<Subscribers>>,
    closed: watch::Sender<Option<String>>,
}

#[derive(Debug)]
struct Line {
    socket: WebSocketStream<TcpStream>,
    /// The socket did not take all: the task that writes waits for it, and is the only one to do so.
    blocked: bool,
}

#[derive(Debug)]
struct Pending {
    session: Arc<str>,
    method: String,
    answer: oneshot::Sender<Result<Value, CdpError>>,
}

/// A command that waits; dropped, it waits no longer.
#[derive(Debug)]
pub(crate) struct Waiting {
    connection: Arc<Inner>,
    id: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.connection.pending().remove(&self.id);
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incoming {
    id: Option<u64>,
    session_id: Option<String>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    error: Option<Refusal>,
}

#[derive(Debug, Deserialize)]
struct Refusal {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Value,
}

impl Connection {
    /// Connects to a `ws://host:port/path` on this machine.
    pub async fn open(
        host: &str,
        port: u16,
        path: &str,
        observer: Arc<dyn Observer>,
        tasks: &TaskTracker,
    ) -> Result<Self, CdpError> {
        let url = format!("ws://{host}:{port}{path}");
        let failed = |error: &dyn Debug| CdpError::Connect {
            url: url.clone(),
            reason: format!("{error:?}"),
        };
        let stream = TcpStream::connect((host, port)).await.map_err(|error| failed(&error))?;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES))
            .max_frame_size(Some(MESSAGE_BYTES));
        let (socket, _) = tokio_tungstenite::client_async_with_config(&url, stream, Some(config))
            .await
            .map_err(|error| failed(&error))?;
        let inner = Arc::new(Inner {
            line: Mutex::new(Line { socket, blocked: false }),
            unwritten: Notify::new(),
            closing: AtomicBool::default(),
            pending: Mutex::default(),
            latest: AtomicU64::new(0),
            subscribers: Arc::default(),
            closed: watch::channel(None).0,
        });
        tasks.spawn(write(inner.clone()));
        tasks.spawn(read(inner.clone(), observer));
        Ok(Self(inner))
    }

    /// The conversation with the browser itself.
    pub fn root(&self) -> Session {
        self.session("")
    }

    /// A conversation by the browser's name for it.
    pub fn session(&self, id: &str) -> Session {
        Session { connection: self.0.clone(), id: Arc::from(id) }
    }

    /// Events of every session with these names, from now on.
    pub fn subscribe(&self, methods: &[&str]) -> Subscription {
        Subscribers::add(&self.0.subscribers, None, methods)
    }

    /// Fails what waits on one session: what it belongs to is gone or has crashed.
    pub fn fail_session(&self, session: &str, why: &str) {
        self.0.fail_session(session, why);
    }

    /// Ends the connection.
    pub fn close(&self) {
        self.0.shut();
    }

    /// Why it has ended, if it has.
    pub fn end(&self) -> Option<String> {
        self.0.closed.borrow().clone()
    }

    /// Waits until it has ended, and says why.
    pub async fn ended(&self) -> String {
        let mut closed = self.0.closed.subscribe();
        match closed.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_) => String::new(),
        }
    }
}

impl Inner {
    fn pending(&self) -> MutexGuard<'_, HashMap<u64, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends nothing more.
    fn shut(&self) {
        self.closing.store(true, Ordering::Release);
        self.unwritten.notify_one();
    }

    /// Writes a message, or leaves it for the task that writes. `false` when nothing can be written any more.
    fn write(&self, message: String) -> bool {
        if self.closing.load(Ordering::Acquire) {
            return false;
        }
        let mut line = self.line();
        // The socket's own buffer takes it in any case, in order; how much can be in it is bounded by `COMMANDS`.
        if Pin::new(&mut line.socket).start_send(Message::text(message)).is_err() {
            return false;
        }
        if line.blocked {
            return true;
        }
        match Pin::new(&mut line.socket).poll_flush(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(written) => written.is_ok(),
            Poll::Pending => {
                line.blocked = true;
                self.unwritten.notify_one();
                true
            }
        }
    }

    fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<Result<(), SocketError>> {
        let mut line = self.line();
        let written = Pin::new(&mut line.socket).poll_flush(cx);
        line.blocked = written.is_pending();
        written
    }

    fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Message, SocketError>>> {
        Pin::new(&mut self.line().socket).poll_next(cx)
    }

    fn subscribers(&self) -> MutexGuard<'_, Subscribers> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why nothing can be sent any more.
    fn gone(&self) -> CdpError {
        let why = self.closed.borrow().clone();
        CdpError::Closed { why: why.unwrap_or_else(|| "it was closed".to_owned()) }
    }

    pub(crate) fn send(
        self: &Arc<Self>,
        session: &Arc<str>,
        method: &str,
        params: Value,
    ) -> Result<(Waiting, oneshot::Receiver<Result<Value, CdpError>>), CdpError> {
        let id = self.latest.fetch_add(1, Ordering::Relaxed) + 1;
        let mut message = Map::new();
        message.insert("id".to_owned(), Value::from(id));
        message.insert("method".to_owned(), Value::from(method));
        message.insert("params".to_owned(), params);
        if !session.is_empty() {
            message.insert("sessionId".to_owned(), Value::from(&**session));
        }
        let message = Value::Object(message);
        let (answer, receiver) = oneshot::channel();
        {
            let mut pending = self.pending();
            if pending.len() >= COMMANDS {
                return Err(CdpError::Busy { waiting: pending.len() });
            }
            let entry = Pending { session: session.clone(), method: method.to_owned(), answer };
            pending.insert(id, entry);
        }
        let waiting = Waiting { connection: self.clone(), id };
        if !self.write(message.to_string()) {
            return Err(self.gone());
        }
        // The reader may have swept the table between the two steps above; it marks the end before it sweeps.
        if self.closed.borrow().is_some() {
            return Err(self.gone());
        }
        Ok((waiting, receiver))
    }

    fn take(&self, message: &str, observer: &dyn Observer) {
        let incoming: Incoming = match serde_json::from_str(message) {
            Ok(incoming) => incoming,
            Err(error) => return self.unreadable(message, &error),
        };
        if let Some(id) = incoming.id {
            let Some(pending) = self.pending().remove(&id) else { return };
            let answer = match incoming.error {
                None => Ok(incoming.result),
                Some(refusal) => Err(refusal.named(pending.method)),
            };
            // Whoever asked may have given up.
            let _gave_up = pending.answer.send(answer);
        } else if let Some(method) = incoming.method {
            let session = Arc::from(incoming.session_id.unwrap_or_default());
            let event = Arc::new(Event { session, method, params: incoming.params });
            observer.event(&event);
            self.subscribers().deliver(&event);
            if event.method == "Target.detachedFromTarget"
                && let Some(session) = event.params["sessionId"].as_str()
            {
                self.fail_session(session, "it was closed");
            }
        }
    }

    /// A message deeper than a parser may go, say. Its command shall not wait for ever.
    fn unreadable(&self, message: &str, error: &serde_json::Error) {
        let digits = message
            .strip_prefix("{\"id\":")
            .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        tracing::warn!(%error, bytes = message.len(), "a message of the browser cannot be read");
        let pending =
            digits.and_then(|id| id.parse().ok()).and_then(|id| self.pending().remove(&id));
        if let Some(Pending { method, answer, .. }) = pending {
            let _gave_up =
                answer.send(Err(CdpError::Unreadable { method, reason: error.to_string() }));
        }
    }

    fn fail_session(&self, session: &str, why: &str) {
        let error = CdpError::SessionGone { why: why.to_owned() };
        let failed: Vec<_> =
            self.pending().extract_if(|_, pending| *pending.session == *session).collect();
        for (_, pending) in failed {
            let _gave_up = pending.answer.send(Err(error.clone()));
        }
        self.subscribers().end(Some(session), &error);
    }

    fn end(&self, why: &str) {
        self.closed.send_replace(Some(why.to_owned()));
        self.shut();
        let error = CdpError::Closed { why: why.to_owned() };
        let failed: Vec<_> = self.pending().drain().collect();
        for (_, pending) in failed {
            let _gave_up = pending.answer.send(Err(error.clone()));
        }
        self.subscribers().end(None, &error);
    }
}

impl Refusal {
    fn named(self, method: String) -> CdpError {
        let mut message = self.message;
        if let Some(data) = self.data.as_str() {
            message = format!("{message}: {data}");
        }
        if message.contains("Session with given id not found") {
            return CdpError::SessionGone { why: "it was closed".to_owned() };
        }
        CdpError::Refused { method, code: self.code, message }
    }
}

/// Writes what the socket did not take at once, until the connection is to end; then says good-bye.
async fn write(inner: Arc<Inner>) {
    loop {
        inner.unwritten.notified().await;
        if poll_fn(|cx| inner.poll_flush(cx)).await.is_err() {
            return;
        }
        if inner.closing.load(Ordering::Acquire) {
            break;
        }
    }
    // The browser may be gone already.
    let _gone = poll_fn(|cx| Pin::new(&mut inner.line().socket).poll_close(cx)).await;
}

async fn read(inner: Arc<Inner>, observer: Arc<dyn Observer>) {
    let why = loop {
        match poll_fn(|cx| inner.poll_next(cx)).await {
            Some(Ok(Message::Text(text))) => inner.take(&text, &*observer),
            Some(Ok(Message::Close(_))) | None => break "the browser closed it".to_owned(),
            Some(Ok(_)) => {}
            Some(Err(error)) => break error.to_string(),
        }
    };
    inner.end(&why);
    observer.closed(&why);
}
