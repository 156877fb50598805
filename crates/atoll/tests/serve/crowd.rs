//! Very many clients that say nothing.

use std::fs;
use std::io;

use atoll_testkit::{LONG, Server, eventually};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpStream;

use crate::wire::Line;
use crate::{PROGRAM, bash};

const WANTED: u64 = 10_000;
const BATCH: u64 = 100;
/// Open files of this process that other tests may need.
const SPARE: u64 = 1000;
/// Bytes of the server's memory that a connection may cost.
const EACH: u64 = 10 << 10;

fn open_files(server: &Server) -> u64 {
    fs::read_dir(format!("/proc/{}/fd", server.pid())).map_or(0, Iterator::count) as u64
}

/// The most memory the server ever had, in bytes.
fn peak(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    let kilobytes = line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number");
    kilobytes * 1024
}

#[tokio::test]
async fn ten_thousand_connections_that_say_nothing_cost_little_and_keep_nobody_waiting() {
    let files = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files }).expect("more files");
    let most = files.maximum.unwrap_or(u64::MAX).saturating_sub(SPARE);
    let count = WANTED.min(most);
    let limit = (count + 100).to_string();
    let server = Server::builder(PROGRAM).variable("ATOLL_LIMIT_CONNECTIONS", limit).start().await;
    let client = server.client();
    client.call(bash("true")).await.expect("a warm server");
    let (files_before, peak_before) = (open_files(&server), peak(&server));

    let address = server.url().trim_start_matches("http://").to_owned();
    let mut held = Vec::new();
    for number in 0..count {
        if number % BATCH == 0 {
            // Answered only when all before it were taken up: the system keeps no more than a thousand waiting.
            assert_eq!(Line::to(&server).ask("GET", "/health", "").await.status, 200);
        }
        let stream = TcpStream::connect(&address).await.expect("a connection");
        // Ended with a reset: ports in waiting would be in the way of other tests.
        rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO))
            .expect("a socket option");
        held.push(stream);
    }
    for _ in 0..20 {
        assert_eq!(Line::to(&server).ask("GET", "/v1/limits", "").await.status, 200);
    }
    let done = client.call(bash("exit 3")).await.expect("a result");
    assert_eq!(done.exit_code, Some(3));
    // None was turned away: each is still open, or was let go of after its time without a word.
    for stream in &held {
        let mut said = [0; 64];
        match stream.try_read(&mut said) {
            Ok(0) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => panic!("{other:?}: {}", String::from_utf8_lossy(&said)),
        }
    }
    let grown = peak(&server).saturating_sub(peak_before);
    assert!(grown <= count * EACH, "{} bytes a connection", grown / count);
    drop(held);
    eventually(LONG, || open_files(&server) < files_before + 64).await;
    assert_eq!(Line::to(&server).ask("GET", "/health", "").await.status, 200);
}
