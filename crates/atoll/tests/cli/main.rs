//! The command line against a real server: what people and scripts type, and what they get.

#![expect(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "test code")]

mod answers;
mod calls;
mod diagnosis;
mod documented;
mod documents;
mod exec;
mod files;
mod guides;
mod pseudo_terminal;
mod servers;
mod terminal;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use atoll_testkit::Server;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_atoll");

/// A server with nothing special about it.
async fn server() -> Server {
    Server::start(PROGRAM).await
}

/// The program with these words, to ask this server, with nothing else in its environment but the search path.
fn command(server: &Server, words: &[&str]) -> Command {
    let mut command = plain(words);
    command.env("ATOLL_URL", server.url());
    command
}

/// The program with these words and an environment that names no server.
fn plain(words: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(words).env_clear().stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

/// Runs the program to its end.
fn run(server: &Server, words: &[&str]) -> Output {
    command(server, words).output().expect("the program to run")
}

/// Runs the program to its end with this on its standard input.
fn run_with_input(mut command: Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program to start");
    let mut stdin = child.stdin.take().expect("its standard input");
    let input = input.to_vec();
    // It may not want all of it.
    let writing = std::thread::spawn(move || stdin.write_all(&input).is_ok());
    let output = child.wait_with_output().expect("the program to end");
    writing.join().expect("a writer");
    output
}

/// What it printed, when it went well.
fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout)
}

/// The JSON it printed, when it went well.
fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(&printed(output)).expect("JSON")
}

/// Checks that it failed with this code and said these things.
fn refused(output: &Output, code: i32, parts: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "{said:?} lacks {part:?}");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A path as text.
fn name(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}
