//! The program from outside: its command line, its start, its end, and what its children get to see.

#![expect(clippy::expect_used, reason = "test code")]

mod auth;
mod coercion;
mod command_line;
mod crowd;
mod disks;
mod endurance;
mod names;
mod outputs;
mod pid_one;
mod routes;
mod secrets;
mod start;
mod stop;
mod wire;

use std::path::Path;

use atoll_api::bash::ExecBash;
use atoll_client::Client;
use atoll_testkit::{LONG, Server, eventually_some};

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_atoll");

/// A server with nothing special about it.
async fn server() -> Server {
    Server::start(PROGRAM).await
}

/// What a command prints.
async fn output(client: &Client, command: &str) -> String {
    let result = client.call(bash(command)).await.expect("a result");
    assert_eq!(result.exit_code, Some(0), "{result:?}");
    result.stdout.unwrap_or_default()
}

fn bash(command: &str) -> ExecBash {
    ExecBash { command: command.to_owned(), ..ExecBash::default() }
}

/// The number a process has written to this file.
async fn number_in(file: &Path) -> u32 {
    eventually_some(LONG, async || {
        let text = std::fs::read_to_string(file).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    })
    .await
}

/// Whether a process is there and not merely unburied.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
