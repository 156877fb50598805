//! What the tests share: a proxy, servers that note what they are asked, and clients that write what they like.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atoll_egress::{Egress, Limits, Means, OwnPorts, RunCommand, Setup};
use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long anything may take on a machine that is busy.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// Prints `agent:wordN`, where N counts the runs.
#[derive(Debug, Default)]
pub(crate) struct Commands(pub(crate) AtomicUsize);

impl RunCommand for Commands {
    fn run(&self, command: String) -> BoxFuture<'_, Result<String, String>> {
        let run = self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            if command == "fail" {
                Err("it failed".to_owned())
            } else {
                Ok(format!("agent:word{run}"))
            }
        })
    }
}

/// Ports that count as the server's own.
#[derive(Debug, Default)]
pub(crate) struct Own(pub(crate) Mutex<Vec<u16>>);

impl OwnPorts for Own {
    fn holds(&self, port: u16) -> bool {
        self.0.lock().unwrap().contains(&port)
    }
}

/// A proxy that ends with the test.
pub(crate) struct Scene {
    pub(crate) egress: Egress,
    pub(crate) proxy: SocketAddr,
    pub(crate) commands: Arc<Commands>,
    pub(crate) own: Arc<Own>,
    stop: CancellationToken,
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let (commands, own) = (Arc::<Commands>::default(), Arc::<Own>::default());
        let stop = CancellationToken::new();
        let means = Means {
            tasks: TaskTracker::new(),
            stop: stop.clone(),
            commands: commands.clone(),
            own_ports: own.clone(),
            limits,
        };
        let egress = Egress::new(Setup::default(), means);
        let proxy = egress.listen().unwrap();
        Self { egress, proxy, commands, own, stop }
    }

    /// A connection to the proxy.
    pub(crate) async fn client(&self) -> TcpStream {
        TcpStream::connect(self.proxy).await.unwrap()
    }

    /// Sends a whole request and reads until the proxy closes.
    pub(crate) async fn exchange(&self, request: &str) -> String {
        let mut client = self.client().await;
        client.write_all(request.as_bytes()).await.unwrap();
        rest(&mut client).await
    }

    /// Asks for a page in plain HTTP.
    pub(crate) async fn get(&self, url: &str) -> String {
        let host = url.trim_start_matches("http://").split('/').next().unwrap();
        self.exchange(&format!("GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
            .await
    }

    /// Opens a tunnel; the head of the answer and the connection.
    pub(crate) async fn connect(&self, target: &str) -> (String, TcpStream) {
        let mut client = self.client().await;
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let head = head(&mut client).await;
        (head, client)
    }
}

/// Reads up to the empty line.
pub(crate) async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let read = async {
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte).await.unwrap_or(0) == 0 {
                break;
            }
            head.push(byte[0]);
        }
    };
    tokio::time::timeout(DEADLINE, read).await.unwrap();
    String::from_utf8_lossy(&head).into_owned()
}

/// Reads to the end.
pub(crate) async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset is an end too.
    let _end = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut bytes)).await.unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A server that answers each request with `answer` and keeps the heads it got.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    pub(crate) connections: Arc<AtomicUsize>,
}

impl Site {
    pub(crate) async fn new(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let connections: Arc<AtomicUsize> = Arc::default();
        let (noted, counted, answer) = (heads.clone(), connections.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let (noted, answer) = (noted.clone(), answer.clone());
                tokio::spawn(async move {
                    loop {
                        let head = head(&mut stream).await;
                        if head.is_empty() {
                            break;
                        }
                        let said = answer(&head);
                        noted.lock().unwrap().push(head);
                        if stream.write_all(said.as_bytes()).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        Self { address, heads, connections }
    }

    /// One that always says this.
    pub(crate) async fn saying(text: &'static str) -> Self {
        Self::new(move |_| ok(text)).await
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// A good answer with this body.
pub(crate) fn ok(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len())
}

/// A server that does with each connection what it is told.
pub(crate) async fn listen<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    address
}

/// Sends back what it gets.
pub(crate) async fn echo() -> SocketAddr {
    listen(|mut stream| async move {
        let (mut reader, mut writer) = stream.split();
        let _end = tokio::io::copy(&mut reader, &mut writer).await;
        let _closed = writer.shutdown().await;
    })
    .await
}

/// An honest HTTP proxy for tunnels and plain requests that wants these credentials and keeps the heads it got.
pub(crate) async fn honest_proxy(wanted: Option<&'static str>) -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let connections: Arc<AtomicUsize> = Arc::default();
    let (noted, counted) = (heads.clone(), connections.clone());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let noted = noted.clone();
            tokio::spawn(async move {
                let head = head(&mut stream).await;
                noted.lock().unwrap().push(head.clone());
                let known = wanted.is_none_or(|wanted| {
                    head.contains(&format!("roxy-Authorization: {wanted}\r\n"))
                        || head.contains(&format!("roxy-authorization: {wanted}\r\n"))
                });
                if !known {
                    let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                    let _told = stream.write_all(refusal.as_bytes()).await;
                    return;
                }
                if !head.starts_with("CONNECT") {
                    let _told = stream.write_all(ok("from the upstream").as_bytes()).await;
                    return;
                }
                // Whatever name it is, it is answered here.
                let port = head.split(' ').nth(1).and_then(|target| target.rsplit(':').next());
                let port: u16 = port.unwrap().parse().unwrap();
                match TcpStream::connect(("127.0.0.1", port)).await {
                    Ok(mut server) => {
                        // Together with the first bytes of the server: the head must be cut off exactly.
                        let _told = stream.write_all(b"HTTP/1.1 200 Fine\r\nX: y\r\n\r\n").await;
                        let _end = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
                    }
                    Err(_) => {
                        let _told = stream.write_all(b"HTTP/1.1 502 Bad\r\n\r\n").await;
                    }
                }
            });
        }
    });
    Site { address, heads, connections }
}
