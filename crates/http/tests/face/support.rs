//! A server with the fake service behind it, and a plain HTTP client that can send anything.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use atoll_api::system::Limits;
use atoll_auth::{ApiKeys, AuditLog, Authenticator, Scopes, Secret};
use atoll_http::{BoundAddress, Gauge, Listen, Settings, serve};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::fake::{Behind, Fake, Pane, registry};
use crate::store::{self, Store};

/// Far longer than anything here takes.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// A running server.
pub(crate) struct Server {
    pub(crate) address: BoundAddress,
    pub(crate) fake: Arc<Fake>,
    pub(crate) store: Arc<Store>,
    pub(crate) stop: CancellationToken,
    pub(crate) serving: JoinHandle<std::io::Result<()>>,
}

/// What a test changes about a server.
pub(crate) struct Options {
    pub(crate) listen: Listen,
    pub(crate) limits: Limits,
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) audit: Option<Arc<AuditLog>>,
    /// What is behind `/pane`.
    pub(crate) pane: Option<SocketAddr>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:0".parse().unwrap(),
            limits: Limits::default(),
            allowed_origins: vec![],
            authenticator: Arc::default(),
            audit: None,
            pane: None,
        }
    }
}

/// A key for everything.
pub(crate) const KEY: &str = "key-for-everything-0123456789";
/// A key for reading.
pub(crate) const READER: &str = "key-for-reading-0123456789";
/// A key for nothing.
pub(crate) const NOTHING: &str = "key-for-nothing-0123456789";

/// What [`locked`] starts from.
pub(crate) fn settings() -> atoll_auth::Settings {
    let mut api_keys = ApiKeys::default();
    api_keys.add("everything", &Secret::new(KEY), Scopes::ALL);
    api_keys.add("reader", &Secret::new(READER), Scopes::only(["test:read", "auth"]));
    api_keys.add("nothing", &Secret::new(NOTHING), Scopes::only([""; 0]));
    atoll_auth::Settings { api_keys, ..atoll_auth::Settings::default() }
}

/// A server that asks for keys.
pub(crate) fn locked() -> Options {
    let authenticator = Arc::new(Authenticator::new(settings()).unwrap());
    Options { authenticator, ..Options::default() }
}

pub(crate) async fn start() -> Server {
    start_with(Options::default()).await
}

pub(crate) async fn start_with(options: Options) -> Server {
    let (fake, store) = (Arc::new(Fake::default()), Arc::new(Store::default()));
    let mut registry = registry(&fake);
    store::bind(&mut registry, &store);
    atoll_http::bind(&mut registry, &options.authenticator, &Limits::default());
    if let Some(address) = options.pane {
        registry.bind_window::<Pane, _>(&Arc::new(Behind(address)));
    }
    let (ready, bound) = oneshot::channel();
    let settings = Settings {
        listen: options.listen,
        version: "9.9.9",
        limits: Arc::new(options.limits),
        allowed_hosts: vec![],
        allowed_origins: options.allowed_origins,
        authenticator: options.authenticator,
        audit: options.audit,
        mounts: Vec::new(),
        gauges: vec![Gauge {
            name: "atoll_test_gauge",
            help: "A test's.",
            read: Box::new(|| 42.0),
        }],
        ready: Some(ready),
    };
    let stop = CancellationToken::new();
    let serving = tokio::spawn(serve(registry, settings, stop.clone()));
    let address = bound.await.expect("the server listens");
    Server { address, fake, store, stop, serving }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// As text, empty when it is none.
    pub(crate) body: String,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    fn new(head: &[u8], bytes: Vec<u8>) -> Self {
        let head = String::from_utf8(head.to_vec()).unwrap();
        let body = String::from_utf8(bytes.clone()).unwrap_or_default();
        Self { status: head[9..12].parse().unwrap(), head, body, bytes }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

impl Server {
    pub(crate) fn port(&self) -> u16 {
        match &self.address {
            BoundAddress::Tcp(address) => address.port(),
            BoundAddress::Unix(_) => panic!("not TCP"),
        }
    }

    pub(crate) fn url(&self) -> String {
        self.address.to_string()
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port())).await.unwrap()
    }

    /// Sends a request as it is given and reads the answer to its end.
    pub(crate) async fn exchange(&self, request: impl AsRef<[u8]>) -> Answer {
        let mut stream = self.connect().await;
        stream.write_all(request.as_ref()).await.unwrap();
        let mut bytes = Vec::new();
        let read = timeout(DEADLINE, stream.read_to_end(&mut bytes)).await;
        read.expect("the server answers").unwrap();
        let (head, rest) = split(&bytes).expect("an answer has a head");
        Answer::new(head, rest.to_vec())
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut request = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request.push_str("Host: localhost\r\n");
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        self.exchange(format!("{request}\r\n{body}")).await
    }

    pub(crate) async fn get(&self, target: &str) -> Answer {
        self.send("GET", target, &[], "").await
    }

    pub(crate) async fn post(&self, target: &str, body: &str) -> Answer {
        self.send("POST", target, &[("Content-Type", "application/json")], body).await
    }
}

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(timeout(DEADLINE, waiting).await.is_ok(), "{what} never came true");
}

/// Reads from a stream until it has given this text.
pub(crate) async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut seen = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&seen).contains(wanted) {
            let mut chunk = [0; 4096];
            let count = stream.read(&mut chunk).await.unwrap();
            assert!(count > 0, "ended at {:?}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&chunk[..count]);
        }
    };
    assert!(timeout(DEADLINE, reading).await.is_ok(), "no {wanted:?}");
    String::from_utf8_lossy(&seen).into_owned()
}

/// The head of an answer and what follows it, once the head is complete.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    Some((&bytes[..end], &bytes[end + 4..]))
}

/// The answers of one connection, one after the other.
pub(crate) struct Answers<S> {
    stream: S,
    buffer: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Answers<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) async fn send(&mut self, request: impl AsRef<[u8]>) {
        self.stream.write_all(request.as_ref()).await.unwrap();
    }

    /// The next answer, whose length is known from its head.
    pub(crate) async fn next(&mut self) -> Answer {
        let head = self.next_head().await;
        let length = head.header("content-length").map_or(0, |length| length.parse().unwrap());
        while self.buffer.len() < length {
            self.more().await;
        }
        let rest = self.buffer.split_off(length);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        Answer::new(head.head.as_bytes(), bytes)
    }

    /// The next answer, which has no body whatever its head says.
    pub(crate) async fn next_head(&mut self) -> Answer {
        loop {
            if let Some((head, rest)) = split(&self.buffer) {
                let answer = Answer::new(head, Vec::new());
                self.buffer = rest.to_vec();
                return answer;
            }
            self.more().await;
        }
    }

    async fn more(&mut self) {
        let mut piece = vec![0; 64 << 10];
        let read = timeout(DEADLINE, self.stream.read(&mut piece)).await;
        let count = read.expect("the server answers").unwrap();
        assert!(count > 0, "the connection ended after {} bytes", self.buffer.len());
        self.buffer.extend_from_slice(&piece[..count]);
    }
}
