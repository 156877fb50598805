//! The server as process 1 of a container: it buries orphans, passes signals on and keeps the exit code.

use std::path::PathBuf;
use std::process::Command;

use atoll_api::system::Ping;
use atoll_testkit::{LONG, Server, eventually, eventually_some};
use rustix::process::{Pid, Signal, kill_process};

use crate::{PROGRAM, output};

/// Makes what follows process 1 of a new process namespace. Root needs no user namespace for it.
fn container() -> Vec<&'static str> {
    let mut command = vec!["unshare"];
    if !rustix::process::geteuid().is_root() {
        command.push("--map-root-user");
    }
    command.extend(["--pid", "--fork", "--kill-child", "--mount-proc"]);
    command
}

async fn contained() -> Server {
    Server::builder(PROGRAM).wrapper(&container()).start().await
}

fn children(pid: u32) -> Vec<u32> {
    let path: PathBuf = format!("/proc/{pid}/task/{pid}/children").into();
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The process that is number 1 in there, by its number out here.
fn init(server: &Server) -> u32 {
    children(server.pid())[0]
}

fn kill(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process");
    kill_process(pid, signal).expect("the process to be there");
}

#[tokio::test]
async fn commands_work_and_exit_codes_are_exact() {
    let server = contained().await;
    let client = server.client();
    assert_eq!(client.call(Ping {}).await.unwrap(), "pong");
    assert_eq!(output(&client, "cat /proc/1/comm").await, "atoll\n");
    let codes = "for code in 0 1 7 42 255; do (exit $code); printf '%s ' $?; done";
    assert_eq!(output(&client, codes).await, "0 1 7 42 255 ");
}

#[tokio::test]
async fn orphans_are_buried() {
    let server = contained().await;
    let init = init(&server);
    let server_process = children(init);
    assert_eq!(server_process.len(), 1, "the server is the only child of its init");

    // A stranger in the same namespace, as `docker exec` is one, leaves children behind: they become init's.
    let go = tempfile::tempdir().unwrap();
    let go = go.path().join("go");
    let script = format!(
        "for i in 1 2 3 4 5 6 7 8; do (while ! [ -e {} ]; do sleep 0.02; done &); done",
        go.display()
    );
    let target = init.to_string();
    let mut stranger = Command::new("nsenter");
    stranger.args(["--target", &target, "--pid"]);
    if !rustix::process::geteuid().is_root() {
        stranger.args(["--user", "--preserve-credentials"]);
    }
    let status = stranger.args(["--", "sh", "-c", &script]).status().unwrap();
    assert!(status.success());
    eventually(LONG, || children(init).len() == 9).await;
    std::fs::write(go, "").unwrap();
    // A child that has ended but is not buried would still be listed.
    eventually(LONG, || children(init) == server_process).await;
    assert_eq!(output(&server.client(), "echo alive").await, "alive\n");
}

#[tokio::test]
async fn a_signal_to_process_1_stops_the_server_cleanly() {
    let mut server = contained().await;
    kill(init(&server), Signal::TERM);
    assert_eq!(server.ended(LONG).await.code(), Some(0));
    assert!(server.log().contains("stopped"), "{}", server.log());
}

#[tokio::test]
async fn the_servers_exit_code_becomes_that_of_the_container() {
    let mut killed = contained().await;
    let process = eventually_some(LONG, async || children(init(&killed)).first().copied()).await;
    kill(process, Signal::KILL);
    assert_eq!(killed.ended(LONG).await.code(), Some(137));

    let mut words = container().into_iter();
    let wrong = Command::new(words.next().unwrap_or_default())
        .args(words)
        .args([PROGRAM, "serve", "--listen", "nowhere"])
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(2), "{}", String::from_utf8_lossy(&wrong.stderr));
}
