//! How the server ends: in bounded time whatever is open, with nothing left behind, by the right exit code.

use std::os::unix::process::ExitStatusExt;

use atoll_api::shell::{AttachShell, ExecShell};
use atoll_testkit::{LONG, Server, eventually, raw};
use futures::StreamExt;
use rustix::process::Signal;

use crate::{PROGRAM, bash, is_alive, number_in, server};

#[tokio::test]
async fn every_signal_that_asks_for_a_stop_gets_a_clean_one() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut server = server().await;
        server.signal(signal);
        assert_eq!(server.ended(LONG).await.code(), Some(0), "{signal:?}");
    }
}

#[tokio::test]
async fn a_stop_ends_open_streams_waiting_calls_and_every_process() {
    let mut server = server().await;
    let client = server.client();
    let file = |name: &str| server.home().join(name);

    let command = format!("echo $$ > {}; sleep 100000", file("streamed").display());
    let exec = ExecShell { command, ..ExecShell::default() };
    let mut stream = client.stream(exec, None).await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    let mut socket = client.converse(AttachShell::default()).await.unwrap();
    assert!(socket.receive().await.unwrap().is_ok());
    let command = format!(
        "(setsid sh -c 'echo $$ > {}; sleep 100000' &); echo $$ > {}; sleep 100000",
        file("detached").display(),
        file("waiting").display()
    );
    let waiting = {
        let client = client.clone();
        tokio::spawn(async move { client.call(bash(&command)).await })
    };
    let mut processes = Vec::new();
    for name in ["streamed", "detached", "waiting"] {
        processes.push(number_in(&file(name)).await);
    }
    assert!(processes.iter().all(|pid| is_alive(*pid)), "{processes:?}");

    server.signal(Signal::TERM);
    assert_eq!(server.ended(LONG).await.code(), Some(0));
    eventually(LONG, || !processes.iter().any(|pid| is_alive(*pid))).await;
    // Each of the three callers hears of the end.
    while let Some(event) = stream.next().await {
        if event.is_err() {
            break;
        }
    }
    while let Some(message) = socket.receive().await {
        if message.is_err() {
            break;
        }
    }
    waiting.await.expect("an answer or an error, no hang").ok();
}

#[tokio::test]
async fn a_request_that_never_ends_delays_the_stop_only_by_the_grace() {
    let builder = Server::builder(PROGRAM).variable("ATOLL_LIMIT_STOP_GRACE_SECONDS", "1");
    let mut server = builder.start().await;
    let _half = raw::half_a_request(server.url(), "/v1/bash/exec").await.unwrap();
    // The server has read the first half once it answers a later request.
    server.client().call(atoll_api::system::Ping {}).await.unwrap();
    server.signal(Signal::TERM);
    assert_eq!(server.ended(LONG).await.code(), Some(0));
}

#[tokio::test]
async fn a_second_signal_ends_the_server_at_once() {
    let builder = Server::builder(PROGRAM).variable("ATOLL_LIMIT_STOP_GRACE_SECONDS", "100000");
    let mut server = builder.start().await;
    let _half = raw::half_a_request(server.url(), "/v1/bash/exec").await.unwrap();
    server.client().call(atoll_api::system::Ping {}).await.unwrap();
    server.signal(Signal::TERM);
    eventually(LONG, || server.log().contains("stopping")).await;
    server.signal(Signal::INT);
    assert_eq!(server.ended(LONG).await.code(), Some(130));
}

#[tokio::test]
async fn a_killed_server_takes_every_process_with_it() {
    let mut server = server().await;
    let file = server.home().join("pid");
    let command = format!("(setsid sh -c 'echo $$ > {}; sleep 100000' &)", file.display());
    server.client().call(bash(&command)).await.unwrap();
    let pid = number_in(&file).await;
    assert!(is_alive(pid));
    server.signal(Signal::KILL);
    assert_eq!(server.ended(LONG).await.signal(), Some(9));
    eventually(LONG, || !is_alive(pid)).await;
}
