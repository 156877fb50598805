//! One request carried out, with its redirects, within its time.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use url::Url;

use crate::dial::Dial;
use crate::error::{FetchError, chain};
use crate::request::{Redirects, Request, check};
use crate::tls::Tls;
use crate::unpack::{UnpackError, Unpacker};

/// Bytes of an answer's head.
const HEAD: usize = 128 << 10;
/// Some sites answer only those who look like a browser.
const USER_AGENT: &str = concat!("Mozilla/5.0 (compatible; Atoll/", env!("CARGO_PKG_VERSION"), ")");
const ACCEPT: &str =
    "text/markdown, text/html, application/xhtml+xml, application/json;q=0.9, */*;q=0.8";

/// What was fetched.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// Where it was in the end.
    pub url: Url,
    /// The status it was answered with.
    pub status: u16,
    /// Its media type, parameters included.
    pub media_type: Option<String>,
    /// The other host it is said to be at, which was not asked.
    pub redirect: Option<Url>,
    /// The content; empty for a redirect.
    pub body: Bytes,
}

/// Fetches. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Fetcher {
    dial: Arc<dyn Dial>,
    tls: Arc<Tls>,
}

impl Fetcher {
    /// Connects by this.
    pub fn new(dial: Arc<dyn Dial>) -> Self {
        Self { dial, tls: Arc::default() }
    }

    /// How it connects.
    pub fn dial(&self) -> &Arc<dyn Dial> {
        &self.dial
    }

    /// Carries out a request. An answer with an error's status is an answer.
    pub async fn fetch(&self, request: Request) -> Result<Fetched, FetchError> {
        let (url, time) = (request.url.to_string(), request.time);
        let late = |_| FetchError::Timeout { url, seconds: time.as_secs() };
        timeout(time, Box::pin(self.follow(request))).await.map_err(late)?
    }

    async fn follow(&self, mut request: Request) -> Result<Fetched, FetchError> {
        let first = request.url.clone();
        let mut left = request.redirects.most();
        loop {
            let url = request.url.clone();
            let answer = self.ask(&request).await?;
            let Some(next) = redirect(&url, answer.status().as_u16(), answer.headers()) else {
                return take(url, answer, request.max_bytes).await;
            };
            let next = next.map_err(|reason| answer_error(&url, reason))?;
            check(&next)?;
            let away = !same_host(&url, &next);
            if away && matches!(request.redirects, Redirects::SameHost(_)) {
                let status = answer.status().as_u16();
                let media_type = None;
                return Ok(Fetched {
                    url,
                    status,
                    media_type,
                    redirect: Some(next),
                    body: Bytes::new(),
                });
            }
            if left == 0 {
                let most = request.redirects.most();
                return Err(FetchError::Redirects { url: first.to_string(), most });
            }
            left -= 1;
            if url.origin() != next.origin() {
                // They were for whoever was meant.
                request.headers.clear();
            }
            if !matches!(answer.status().as_u16(), 307 | 308) {
                request.body = None;
            }
            request.url = next;
        }
    }

    /// Sends a request and reads the head of the answer.
    async fn ask(&self, request: &Request) -> Result<hyper::Response<Incoming>, FetchError> {
        let url = &request.url;
        let host = url.host_str().unwrap_or_default();
        let secure = url.scheme() == "https";
        let port = url.port_or_known_default().unwrap_or(80);
        let stream = self.dial.connect(host, port).await?;
        if secure {
            let stream = self.tls.secure(host, stream).await?;
            exchange(request, stream).await
        } else {
            exchange(request, stream).await
        }
    }
}

/// Reads the body of an answer.
async fn take(
    url: Url,
    answer: hyper::Response<Incoming>,
    max_bytes: u64,
) -> Result<Fetched, FetchError> {
    let (head, mut body) = answer.into_parts();
    let text = |name| head.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let too_large = || FetchError::TooLarge { url: url.to_string(), limit: max_bytes };
    let media_type = text(header::CONTENT_TYPE).map(str::to_owned);
    let mut unpacker = Unpacker::new(text(header::CONTENT_ENCODING), max_bytes)
        .map_err(|reason| answer_error(&url, reason))?;
    let broken = |error: UnpackError| match error {
        UnpackError::TooLarge => too_large(),
        UnpackError::Broken(error) => answer_error(&url, format!("its body is broken: {error}")),
    };
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| answer_error(&url, chain(&error)))?;
        if let Ok(data) = frame.into_data() {
            unpacker = unpacker.push(&data).map_err(broken)?;
        }
    }
    let body = unpacker.finish().map_err(broken)?.into();
    Ok(Fetched { status: head.status.as_u16(), media_type, redirect: None, body, url })
}

fn answer_error(url: &Url, reason: impl Into<String>) -> FetchError {
    let host = url.host_str().unwrap_or_default().to_owned();
    FetchError::Answer { host, reason: reason.into() }
}

async fn exchange<S>(request: &Request, stream: S) -> Result<hyper::Response<Incoming>, FetchError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let url = &request.url;
    let failed = |error: &hyper::Error| answer_error(url, chain(error));
    let wrong = |error: &dyn std::error::Error| FetchError::Address {
        url: url.to_string(),
        reason: chain(error),
    };
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| failed(&error))?;
    // Ends with the body it carries, or with whoever dropped that.
    tokio::spawn(connection);
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let mut building = hyper::Request::builder()
        .method(if request.body.is_some() { "POST" } else { "GET" })
        .uri(path)
        .header(header::HOST, host)
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::ACCEPT_ENCODING, "gzip, deflate");
    if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept")) {
        building = building.header(header::ACCEPT, ACCEPT);
    }
    if request.body.is_some() {
        building = building.header(header::CONTENT_TYPE, "application/json");
    }
    for (name, value) in &request.headers {
        building = building.header(*name, value);
    }
    let body = Full::new(request.body.clone().unwrap_or_default());
    let request = building.body(body).map_err(|error| wrong(&error))?;
    sender.send_request(request).await.map_err(|error| failed(&error))
}

/// Where an answer sends to; an error for a place that is none.
fn redirect(url: &Url, status: u16, headers: &HeaderMap) -> Option<Result<Url, String>> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = headers.get(header::LOCATION)?;
    let text = String::from_utf8_lossy(location.as_bytes());
    let wrong = |error| format!("it redirects to {text:?}, which is no address: {error}");
    Some(url.join(&text).map_err(wrong))
}

/// Whether two addresses are of one site: a `www.` before its name makes no other of it.
fn same_host(one: &Url, other: &Url) -> bool {
    let bare = |url: &Url| {
        let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
        host.strip_prefix("www.").map(str::to_owned).unwrap_or(host)
    };
    bare(one) == bare(other)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::dial::Direct;

    const TIME: Duration = Duration::from_mins(1);

    /// Answers each connection with the next of these, and then hangs up.
    async fn site(answers: Vec<Vec<u8>>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = vec![0; 4096];
                let _count = stream.read(&mut head).await.unwrap();
                stream.write_all(&answer).await.unwrap();
            }
        });
        format!("http://{address}")
    }

    fn answer(head: &str, body: &str) -> Vec<u8> {
        let length = body.len();
        format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
    }

    async fn get(url: &str, redirects: Redirects) -> Result<Fetched, FetchError> {
        let fetcher = Fetcher::new(Arc::new(Direct));
        fetcher.fetch(Request::get(url, 1000, TIME).unwrap().following(redirects)).await
    }

    #[tokio::test]
    async fn redirects_are_followed_up_to_a_bound() {
        let there = answer("302 Found\r\nLocation: /b?x=1", "");
        let found = answer("200 OK\r\nContent-Type: text/html; charset=latin1", "hello");
        let url = site(vec![there.clone(), found]).await;
        let fetched = get(&format!("{url}/a"), Redirects::Follow(3)).await.unwrap();
        assert_eq!(fetched.url.as_str(), format!("{url}/b?x=1"));
        assert_eq!((fetched.status, &fetched.body[..]), (200, &b"hello"[..]));
        assert_eq!(fetched.media_type.as_deref(), Some("text/html; charset=latin1"));
        let url = site(vec![there.clone(), there.clone(), there]).await;
        let error = get(&url, Redirects::Follow(2)).await.unwrap_err();
        assert!(matches!(error, FetchError::Redirects { most: 2, .. }), "{error}");
    }

    #[tokio::test]
    async fn a_redirect_to_another_host_is_told_when_asked_for() {
        let url = site(vec![answer("301 Moved\r\nLocation: https://else.example/x", "")]).await;
        let fetched = get(&url, Redirects::SameHost(3)).await.unwrap();
        assert_eq!(fetched.redirect.unwrap().as_str(), "https://else.example/x");
        let url = site(vec![answer("301 Moved\r\nLocation: file:///etc/passwd", "")]).await;
        let error = get(&url, Redirects::Follow(3)).await.unwrap_err();
        assert!(matches!(error, FetchError::Address { .. }), "{error}");
    }

    #[tokio::test]
    async fn what_is_too_large_or_no_answer_is_named() {
        let url = site(vec![answer("200 OK", &"x".repeat(2000))]).await;
        let error = get(&url, Redirects::Follow(0)).await.unwrap_err();
        assert!(matches!(error, FetchError::TooLarge { limit: 1000, .. }), "{error}");
        let url = site(vec![b"SSH-2.0 hello\r\n".to_vec()]).await;
        let error = get(&url, Redirects::Follow(0)).await.unwrap_err();
        assert!(matches!(error, FetchError::Answer { .. }), "{error}");
        let url = site(vec![b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc".to_vec()]).await;
        assert!(matches!(get(&url, Redirects::Follow(0)).await, Err(FetchError::Answer { .. })));
        for address in ["ftp://a/", "http://", "nothing", "file:///etc/passwd"] {
            assert!(Request::get(address, 1, TIME).is_err(), "{address}");
        }
    }

    #[tokio::test]
    async fn a_site_that_never_ends_its_answer_is_left() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let fetcher = Fetcher::new(Arc::new(Direct));
        let request = Request::get(&url, 1000, Duration::from_millis(50)).unwrap();
        let (fetched, accepted) = tokio::join!(fetcher.fetch(request), listener.accept());
        let _held = accepted.unwrap();
        assert!(matches!(fetched, Err(FetchError::Timeout { .. })));
    }

    #[test]
    fn www_makes_no_other_host() {
        let same = |a: &str, b: &str| same_host(&Url::parse(a).unwrap(), &Url::parse(b).unwrap());
        assert!(same("http://a.org/", "https://www.A.org/x"));
        assert!(!same("http://a.org/", "http://b.a.org/"));
    }
}
