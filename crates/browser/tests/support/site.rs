//! A site on loopback. It answers by what its paths say, at two ports and under two host names, so that pages of
//! other origins and other sites are at hand:
//!
//! * `/p/N`: a page given to [`Site::page`] or [`Site::serve`];
//! * `/status/CODE`, `/redirect/PATH`, `/download/NAME`, `/echo` (the request's own head, as text);
//! * `/endless` (a document that never ends), `/never` (no answer at all), `/slow/MS` (an answer after that time);
//! * anything else is 404.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A site. It closes when dropped.
pub(crate) struct Site {
    port: u16,
    other_port: u16,
    pages: Arc<Pages>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

#[derive(Default)]
struct Pages {
    by_path: Mutex<HashMap<String, Served>>,
    /// Paths that were asked for, in order.
    asked: Mutex<Vec<String>>,
    latest: AtomicUsize,
}

#[derive(Clone)]
struct Served {
    kind: String,
    headers: String,
    body: Vec<u8>,
}

impl Site {
    pub(crate) async fn open() -> Self {
        let pages = Arc::new(Pages::default());
        let mut ports = Vec::new();
        let mut tasks = Vec::new();
        for _ in 0..2 {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            ports.push(listener.local_addr().unwrap().port());
            let pages = pages.clone();
            tasks.push(tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let pages = pages.clone();
                    tokio::spawn(async move { answer(stream, &pages).await });
                }
            }));
        }
        Self { port: ports[0], other_port: ports[1], pages, tasks }
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The same path at another origin of the same site.
    pub(crate) fn other_origin(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.other_port)
    }

    /// The same path at another site, which gets a process of its own.
    pub(crate) fn other_site(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port)
    }

    /// Serves a page and returns its path.
    pub(crate) fn path(&self, body: &str) -> String {
        let html = format!("<!doctype html><meta charset=utf-8><body>{body}");
        self.serve("text/html", "", html.as_bytes())
    }

    /// Serves a page and returns its URL.
    pub(crate) fn page(&self, body: &str) -> String {
        self.url(&self.path(body))
    }

    /// Serves anything, with header lines of its own, each with its line end, and returns its path.
    pub(crate) fn serve(&self, kind: &str, headers: &str, body: &[u8]) -> String {
        let path = format!("/p/{}", self.pages.latest.fetch_add(1, Ordering::Relaxed));
        let served =
            Served { kind: kind.to_owned(), headers: headers.to_owned(), body: body.to_vec() };
        self.pages.by_path.lock().unwrap().insert(path.clone(), served);
        path
    }

    /// How often a path was asked for, whatever its query.
    pub(crate) fn asked(&self, path: &str) -> usize {
        let asked = self.pages.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.split('?').next() == Some(path)).count()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn answer(mut stream: TcpStream, pages: &Pages) {
    let mut head = Vec::new();
    let mut byte = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut byte).await {
            Ok(count) if count > 0 => head.extend_from_slice(&byte[..count]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split(' ').nth(1).unwrap_or("/").to_owned();
    pages.asked.lock().unwrap().push(target.clone());
    let path = target.split('?').next().unwrap_or("/").to_owned();
    let served = pages.by_path.lock().unwrap().get(&path).cloned();
    let (status, headers, body) = match served {
        Some(Served { kind, headers, body }) => {
            (200, format!("content-type: {kind}\r\n{headers}"), body)
        }
        None => match special(&path, &head, &mut stream).await {
            Some(answer) => answer,
            None => return,
        },
    };
    let head = format!(
        "HTTP/1.1 {status} Whatever\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // The browser may have lost interest.
    let _gone = stream.write_all(head.as_bytes()).await;
    let _gone = stream.write_all(&body).await;
    let _gone = stream.shutdown().await;
}

/// What a path says; `None` when it was answered already, or never will be.
async fn special(path: &str, head: &str, stream: &mut TcpStream) -> Option<(u16, String, Vec<u8>)> {
    let html = || "content-type: text/html\r\n".to_owned();
    if let Some(code) = path.strip_prefix("/status/") {
        let code = code.parse().unwrap();
        return Some((code, html(), format!("<title>{code}</title>status {code}").into_bytes()));
    }
    if let Some(to) = path.strip_prefix("/redirect") {
        return Some((302, format!("location: {to}\r\n"), Vec::new()));
    }
    if let Some(name) = path.strip_prefix("/download/") {
        let headers = format!(
            "content-type: application/octet-stream\r\ncontent-disposition: attachment; filename=\"{name}\"\r\n"
        );
        return Some((200, headers, b"downloaded bytes".to_vec()));
    }
    if let Some(milliseconds) = path.strip_prefix("/slow/") {
        tokio::time::sleep(Duration::from_millis(milliseconds.parse().unwrap())).await;
        return Some((200, html(), b"<title>slow</title>slow".to_vec()));
    }
    match path {
        "/echo" => Some((200, "content-type: text/plain\r\n".to_owned(), head.as_bytes().to_vec())),
        "/never" => {
            // Nothing more comes; the connection stays until the browser gives up.
            let mut rest = [0; 16];
            let _closed = stream.read(&mut rest).await;
            None
        }
        "/endless" => {
            let start =
                b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ntransfer-encoding: chunked\r\n\r\n";
            let _gone = stream.write_all(start).await;
            let first = "<!doctype html><title>endless</title><p id=first>first</p>";
            let padding = " ".repeat(4096);
            let chunk = format!("{:x}\r\n{first}{padding}\r\n", first.len() + padding.len());
            let _gone = stream.write_all(chunk.as_bytes()).await;
            let mut rest = [0; 16];
            let _closed = stream.read(&mut rest).await;
            None
        }
        _ => Some((404, html(), b"<title>404</title>nothing here".to_vec())),
    }
}
