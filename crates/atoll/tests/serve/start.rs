//! A running server: where it listens, what it logs, what its children see, what it leaves on disk.

use atoll_api::system::{GetLimits, GetSandbox, Ping};
use atoll_testkit::{LONG, Server, eventually};
use rustix::process::Signal;
use serde_json::Value;

use crate::{PROGRAM, output, server};

#[tokio::test]
async fn a_server_answers_on_a_free_port() {
    let server = server().await;
    assert!(server.url().starts_with("http://127.0.0.1:"), "{}", server.url());
    assert_eq!(server.client().call(Ping {}).await.unwrap(), "pong");
    assert!(server.log().contains("no isolation yet"), "{}", server.log());
}

#[tokio::test]
async fn a_server_answers_on_a_unix_socket() {
    let builder = Server::builder(PROGRAM);
    let socket = builder.home().join("socket");
    let server = builder.listen(&socket).start().await;
    assert_eq!(server.url(), format!("unix:{}", socket.display()));
    assert_eq!(output(&server.client(), "echo here").await, "here\n");
    assert!(server.stop().await.success());
}

/// What makes an idle server large is work done before anybody asks for its result.
#[tokio::test]
async fn an_idle_server_holds_little() {
    let server = server().await;
    let held = |field: &str| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap().to_owned();
        line.split_ascii_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
    };
    let own = held("RssAnon:");
    assert!(own < 8 << 20, "{own} bytes of its own");
    // A moment after the start, what only that needed is given back.
    eventually(LONG, || held("RssFile:") < 24 << 20).await;
    assert_eq!(server.client().call(Ping {}).await.unwrap(), "pong");
}

#[tokio::test]
async fn home_and_workspace_are_made_and_told() {
    let builder = Server::builder(PROGRAM);
    let (home, workspace) = (builder.home().join("deep/home"), builder.home().join("work"));
    let server =
        builder.argument("--home").argument(&home).variable("WORKSPACE", &workspace).start().await;
    let client = server.client();
    let context = client.call(GetSandbox {}).await.unwrap();
    assert_eq!(context.home_dir, home.to_str().unwrap());
    assert_eq!(context.workspace.as_deref(), workspace.to_str());
    let seen = output(&client, "pwd; echo $HOME; echo $WORKSPACE").await;
    let (home, workspace) = (home.display(), workspace.display());
    assert_eq!(seen, format!("{workspace}\n{home}\n{workspace}\n"));
}

#[tokio::test]
async fn limits_from_the_environment_are_in_force() {
    let builder = Server::builder(PROGRAM).variable("MAX_SHELL_SESSIONS", "3");
    let server = builder.variable("ATOLL_LIMIT_SHELL_QUEUE", "5").start().await;
    let limits = server.client().call(GetLimits {}).await.unwrap();
    assert_eq!((limits.shell_sessions, limits.shell_queue), (3, 5));
}

#[tokio::test]
async fn the_log_is_json_where_asked_and_goes_to_a_file_too() {
    let builder = Server::builder(PROGRAM);
    let directory = builder.home().join("logs");
    let server = builder
        .argument("--log-format")
        .argument("json")
        .variable("LOG_DIR", &directory)
        .start()
        .await;
    server.client().call(Ping {}).await.unwrap();
    let file = directory.join("atoll.log");
    let file = || std::fs::read_to_string(&file).unwrap_or_default();
    eventually(LONG, || file().contains("system_ping")).await;
    for log in [file(), server.log()] {
        assert!(log.contains("system_ping"), "{log}");
        for line in log.lines() {
            let message: Value = serde_json::from_str(line).expect("a JSON line");
            assert!(message["level"].is_string() && message["timestamp"].is_string(), "{line}");
        }
    }
}

#[tokio::test]
async fn private_files_go_with_the_server_and_leftovers_of_a_killed_one_with_the_next() {
    let parent = tempfile::tempdir().unwrap();
    let entries = || std::fs::read_dir(parent.path()).unwrap().count();
    let start = || {
        let builder = Server::builder(PROGRAM).argument("--runtime-dir");
        builder.argument(parent.path()).start()
    };
    let mut killed = start().await;
    assert_eq!(entries(), 1);
    killed.signal(Signal::KILL);
    killed.ended(LONG).await;
    assert_eq!(entries(), 1);

    let next = start().await;
    eventually(LONG, || entries() == 1).await;
    assert_eq!(output(&next.client(), "echo fine").await, "fine\n");
    assert!(next.stop().await.success());
    assert_eq!(entries(), 0);
}

#[tokio::test]
async fn commands_go_before_the_server_when_memory_runs_out() {
    let server = server().await;
    let score = |text: &str| text.trim().parse::<i32>().expect("a score");
    let of_server = std::fs::read_to_string(format!("/proc/{}/oom_score_adj", server.pid()));
    let of_server = score(&of_server.expect("the server's score"));
    let of_command = score(&output(&server.client(), "cat /proc/self/oom_score_adj").await);
    // Nothing can be above the highest, should all of this run under one that has it already.
    assert!(of_command > of_server || of_command == 1000, "{of_command} {of_server}");
}
