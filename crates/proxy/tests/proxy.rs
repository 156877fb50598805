//! The proxy between two real servers: what passes, what does not, and how it ends.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code")]

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use atoll_proxy::{Address, Proxy, ProxyError};
use bytes::Bytes;
use futures::StreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::mpsc;

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

fn text(body: impl Into<Bytes>) -> Answer {
    Response::new(Full::new(body.into()).boxed_unsync())
}

async fn answer<I, F>(io: I, service: impl Fn(Request<Incoming>) -> F + Send + 'static)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let service = service_fn(move |request| {
        let answer = service(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(io), service);
    drop(connection.with_upgrades().await);
}

async fn serve<F>(service: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static) -> SocketAddr
where
    F: Future<Output = Answer> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((io, _)) = listener.accept().await {
            tokio::spawn(answer(io, service.clone()));
        }
    });
    address
}

/// A front that passes everything on to `back`.
async fn front(back: Address) -> SocketAddr {
    let proxy: Proxy<UnsyncBoxBody<Bytes, hyper::Error>> = Proxy::default();
    serve(move |request: Request<Incoming>| {
        let (proxy, back) = (proxy.clone(), back.clone());
        async move {
            match proxy.forward(&back, request.map(BodyExt::boxed_unsync)).await {
                Ok(forwarded) => {
                    if let Some(switch) = forwarded.switch {
                        tokio::spawn(switch.run());
                    }
                    let (parts, body) = forwarded.response.into_parts();
                    let body = body.into_data_stream().map(|part| match part {
                        Ok(part) => Ok(Frame::data(part)),
                        Err(error) => panic!("the answer broke off: {error}"),
                    });
                    Response::from_parts(parts, StreamBody::new(body).boxed_unsync())
                }
                Err(error) => {
                    let mut response = text(error.to_string());
                    *response.status_mut() = match error {
                        ProxyError::Unreachable { .. } => StatusCode::SERVICE_UNAVAILABLE,
                        ProxyError::Broken { .. } => StatusCode::BAD_GATEWAY,
                    };
                    response
                }
            }
        }
    })
    .await
}

async fn connect(
    address: SocketAddr,
) -> hyper::client::conn::http1::SendRequest<UnsyncBoxBody<Bytes, Infallible>> {
    let io = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(async move { drop(connection.with_upgrades().await) });
    sender
}

fn get(path: &str) -> Request<UnsyncBoxBody<Bytes, Infallible>> {
    let request = Request::get(path).header("host", "front.example");
    request.body(Empty::new().boxed_unsync()).unwrap()
}

async fn body_of(response: Response<Incoming>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn path_query_host_and_headers_pass_as_they_are() {
    let back = serve(|request: Request<Incoming>| async move {
        let headers = request.headers();
        let mut answer = text(format!(
            "{} {} host={} kept={:?} private={:?}",
            request.method(),
            request.uri(),
            headers["host"].to_str().unwrap(),
            headers.get("x-kept"),
            headers.get("x-private"),
        ));
        answer.headers_mut().insert("x-answer", "yes".parse().unwrap());
        answer
    })
    .await;
    let mut sender = connect(front(Address::Tcp(back)).await).await;
    for _ in 0..3 {
        let mut request = get("/a%20b?c=d%2F&e");
        request.headers_mut().insert("x-kept", "1".parse().unwrap());
        request.headers_mut().insert("x-private", "1".parse().unwrap());
        request.headers_mut().insert("connection", "keep-alive, x-private".parse().unwrap());
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.headers()["x-answer"], "yes");
        let expected = "GET /a%20b?c=d%2F&e host=front.example kept=Some(\"1\") private=None";
        assert_eq!(body_of(response).await, expected);
    }
}

#[tokio::test]
async fn a_unix_socket_serves_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("back socket");
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        while let Ok((io, _)) = listener.accept().await {
            tokio::spawn(answer(io, |_| async { text("from a socket") }));
        }
    });
    let mut sender = connect(front(Address::Unix(path)).await).await;
    let response = sender.send_request(get("/")).await.unwrap();
    assert_eq!(body_of(response).await, "from a socket");
}

#[tokio::test]
async fn bodies_pass_part_by_part_in_both_directions() {
    let back = serve(|request: Request<Incoming>| async move {
        let (sender, mut receiver) = mpsc::channel::<Bytes>(1);
        tokio::spawn(async move {
            let mut body = request.into_body().into_data_stream();
            while let Some(Ok(part)) = body.next().await {
                if sender.send(part).await.is_err() {
                    return;
                }
            }
        });
        let parts = futures::stream::poll_fn(move |cx| receiver.poll_recv(cx));
        Response::new(StreamBody::new(parts.map(|part| Ok(Frame::data(part)))).boxed_unsync())
    })
    .await;
    let mut sender = connect(front(Address::Tcp(back)).await).await;
    let (up, mut parts) = mpsc::channel::<Bytes>(1);
    let body = futures::stream::poll_fn(move |cx| parts.poll_recv(cx));
    let body = StreamBody::new(body.map(|part| Ok(Frame::data(part)))).boxed_unsync();
    let request = Request::post("/").header("host", "h").body(body).unwrap();
    up.send(Bytes::from_static(b"part 0")).await.unwrap();
    let response = sender.send_request(request).await.unwrap();
    let mut down = response.into_body().into_data_stream();
    assert_eq!(down.next().await.unwrap().unwrap(), "part 0");
    for number in 1..50 {
        // Each part comes back before the next is sent: nothing on the way waits for more.
        let part = format!("part {number}");
        up.send(part.clone().into()).await.unwrap();
        assert_eq!(down.next().await.unwrap().unwrap(), part);
    }
    drop(up);
    assert!(down.next().await.is_none());
}

#[tokio::test]
async fn a_connection_that_changes_over_carries_bytes_both_ways_until_one_side_ends() {
    let back = serve(|mut request: Request<Incoming>| async move {
        let protocol = request.headers()["upgrade"].clone();
        let upgraded = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let mut io = TokioIo::new(upgraded.await.unwrap());
            let mut buffer = [0; 5];
            while io.read_exact(&mut buffer).await.is_ok() {
                buffer.reverse();
                io.write_all(&buffer).await.unwrap();
            }
        });
        let mut response = text("");
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        response.headers_mut().insert("upgrade", protocol);
        response.headers_mut().insert("connection", "Upgrade".parse().unwrap());
        response
    })
    .await;
    let mut sender = connect(front(Address::Tcp(back)).await).await;
    let mut request = get("/socket");
    request.headers_mut().insert("upgrade", "mirror".parse().unwrap());
    request.headers_mut().insert("connection", "Upgrade".parse().unwrap());
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    assert_eq!(response.headers()["upgrade"], "mirror");
    let mut io = TokioIo::new(hyper::upgrade::on(response).await.unwrap());
    for word in ["hello", "world"] {
        io.write_all(word.as_bytes()).await.unwrap();
        let mut buffer = [0; 5];
        io.read_exact(&mut buffer).await.unwrap();
        assert!(buffer.iter().eq(word.as_bytes().iter().rev()));
    }
    io.shutdown().await.unwrap();
    assert_eq!(io.read(&mut [0; 1]).await.unwrap(), 0, "our end ends theirs");
}

#[tokio::test]
async fn a_refused_change_of_protocol_is_an_ordinary_answer() {
    let back = serve(|_| async {
        let mut response = text("no");
        *response.status_mut() = StatusCode::FORBIDDEN;
        response
    })
    .await;
    let mut sender = connect(front(Address::Tcp(back)).await).await;
    let mut request = get("/socket");
    request.headers_mut().insert("upgrade", "websocket".parse().unwrap());
    request.headers_mut().insert("connection", "Upgrade".parse().unwrap());
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
    assert_eq!(body_of(response).await, "no");
}

#[tokio::test]
async fn a_server_that_is_not_there_or_breaks_off_is_told_apart() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mut sender = connect(front(Address::Tcp(gone)).await).await;
    let response = sender.send_request(get("/")).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(body_of(response).await.contains(&gone.to_string()));

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let rude = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut io, _)) = listener.accept().await {
            // The head is read before the connection is closed, so that it is broken and not refused.
            let mut head = [0; 16];
            drop(io.read_exact(&mut head).await);
        }
    });
    let mut sender = connect(front(Address::Tcp(rude)).await).await;
    let response = sender.send_request(get("/")).await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
}

#[tokio::test]
async fn a_port_is_found_on_either_loopback_address() {
    for host in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TcpListener::bind(host).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((io, _)) = listener.accept().await {
                tokio::spawn(answer(io, |_| async { text("here") }));
            }
        });
        let mut sender = connect(front(Address::Port(port)).await).await;
        let response = sender.send_request(get("/")).await.unwrap();
        assert_eq!(body_of(response).await, "here", "{host}");
    }
}

/// Answers requests one after the other on each connection, by hand; how many connections there were.
async fn by_hand(answers_each: usize, answer: &'static str) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut io, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                for _ in 0..answers_each {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        match io.read_u8().await {
                            Ok(byte) => head.push(byte),
                            Err(_) => return,
                        }
                    }
                    io.write_all(answer.as_bytes()).await.unwrap();
                }
                // The next request is read, and not answered: the connection ends under it.
                drop(io.read_u8().await);
            });
        }
    });
    (address, connections)
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[tokio::test]
async fn requests_that_follow_each_other_share_a_connection() {
    let (back, connections) = by_hand(usize::MAX, OK).await;
    let mut sender = connect(front(Address::Tcp(back)).await).await;
    for _ in 0..20 {
        let response = sender.send_request(get("/")).await.unwrap();
        assert_eq!(body_of(response).await, "ok");
    }
    // A machine that is stopped for more than a second in between needs another.
    assert!(connections.load(Ordering::SeqCst) < 10);
}

#[tokio::test]
async fn a_connection_that_ends_under_a_harmless_request_is_replaced() {
    let (back, connections) = by_hand(1, OK).await;
    let mut sender = connect(front(Address::Tcp(back)).await).await;
    for _ in 0..10 {
        let response = sender.send_request(get("/")).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(body_of(response).await, "ok");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 10);
}

#[tokio::test]
async fn what_is_no_http_is_an_error_and_nothing_of_it_passes() {
    for wrong in [
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 999999 OK\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    ] {
        let (back, _) = by_hand(1, wrong).await;
        let mut sender = connect(front(Address::Tcp(back)).await).await;
        let response = sender.send_request(get("/")).await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_GATEWAY, "{wrong:?}");
    }
}

#[tokio::test]
async fn an_answer_beyond_its_length_is_not_taken_for_the_next_one() {
    let smuggled = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil";
    let (back, _) = by_hand(usize::MAX, smuggled).await;
    let mut sender = connect(front(Address::Tcp(back)).await).await;
    for _ in 0..5 {
        let response = sender.send_request(get("/")).await.unwrap();
        assert_eq!(body_of(response).await, "ok");
    }
}

#[tokio::test]
async fn whoever_goes_away_takes_the_request_along() {
    let (heard, mut gone) = mpsc::channel::<()>(1);
    let back = serve(move |_| {
        let heard = heard.clone();
        async move {
            let endless = futures::stream::unfold(heard, |heard| async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Some((Ok(Frame::data(Bytes::from_static(b"more"))), heard))
            });
            Response::new(StreamBody::new(endless).boxed_unsync())
        }
    })
    .await;
    let mut sender = connect(front(Address::Tcp(back)).await).await;
    let response = sender.send_request(get("/")).await.unwrap();
    let mut body = response.into_body().into_data_stream();
    assert_eq!(body.next().await.unwrap().unwrap().slice(..4), "more");
    drop((body, sender));
    // One end of it is kept by whoever serves connections; the one of this answer goes with its connection.
    let waited = tokio::time::timeout(Duration::from_mins(1), async {
        while gone.sender_strong_count() > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.unwrap();
    gone.close();
}
