//! What use leaves behind: no memory for output, no descriptors, processes or zombies for commands and sessions.

use std::fs;

use atoll_api::bash::{CloseBashSession, ExecBash};
use atoll_api::shell::{AttachShell, CloseShell, CreateShell, ExecShell, TerminalOutput};
use atoll_testkit::{LONG, Server, eventually};

use crate::{bash, server};

/// Bytes the output of one command may cost the server, however much it is.
const OUTPUT_MEMORY: u64 = 8 << 20;
/// Descriptors and processes that come and go.
const SLACK: usize = 16;

#[tokio::test(flavor = "multi_thread")]
async fn output_costs_disk_and_not_memory_and_every_byte_is_there() {
    let server = server().await;
    let client = server.client();
    // What the start gives back would make room that hides what output costs.
    eventually(LONG, || memory(&server, "RssFile:") < 24 << 20).await;
    let exec = |command: &str| ExecBash {
        command: command.to_owned(),
        max_output_length: 1000,
        ..ExecBash::default()
    };
    client.call(exec("seq 1 3000 | head -c 2000")).await.expect("a warm server");
    // "5" resets the high-water mark, so that it tells of what follows.
    fs::write(format!("/proc/{}/clear_refs", server.pid()), "5").expect("a mark to reset");
    let (before, code) = (memory(&server, "VmHWM:"), memory(&server, "RssFile:"));
    let command = "seq 1 30000000 | head -c 200000000; echo; echo end";
    let result = client.call(exec(command)).await.expect("a result");
    assert_eq!((result.exit_code, result.offset), (Some(0), 200_000_005));
    let text = result.stdout.unwrap_or_default();
    assert!(text.starts_with("1\n2\n3\n") && text.ends_with("\nend\n"), "{text}");
    // Code that was not in memory yet is no part of what output costs.
    let code = memory(&server, "RssFile:").saturating_sub(code);
    let grown = memory(&server, "VmHWM:").saturating_sub(before + code);
    assert!(grown <= OUTPUT_MEMORY, "{grown} bytes for 200 MB of output");
    let file = result.stdout_full_output_file_path.expect("a file with all of it");
    let sums =
        format!("cmp <(seq 1 30000000 | head -c 200000000; echo; echo end) {file} && echo same");
    assert_eq!(crate::output(&client, &sums).await, "same\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_and_sessions_leave_nothing_behind() {
    let server = Server::builder(crate::PROGRAM).variable("MAX_BASH_SESSIONS", "4").start().await;
    let client = server.client();
    let use_everything = async || {
        for number in 0..20 {
            let id = format!("session-{number}");
            let create = CreateShell { id: Some(id.clone()), ..CreateShell::default() };
            client.call(create).await.expect("a shell");
            let attach = AttachShell { session_id: Some(id.clone()), offset: None };
            let mut talk = client.converse(attach).await.expect("a terminal");
            let greeting = talk.receive().await.expect("an open socket").expect("a message");
            assert_eq!(greeting, TerminalOutput::SessionId { data: id.clone() });
            drop(talk);
            let exec = ExecShell {
                id: Some(id.clone()),
                command: "sleep 1000 & exit 3".to_owned(),
                ..ExecShell::default()
            };
            assert_eq!(client.call(exec).await.expect("a result").exit_code, Some(3));
            client.call(CloseShell { session_id: id }).await.expect("a closed shell");
            let result = client.call(bash("sleep 1000 & (exit 4)")).await.expect("a result");
            assert_eq!(result.exit_code, Some(4));
            let session_id = result.session_id;
            client.call(CloseBashSession { session_id }).await.expect("a closed session");
        }
        for number in 0..50 {
            let result = client.call(bash(&format!("exit {number}"))).await.expect("a result");
            assert_eq!(result.exit_code, Some(number));
        }
    };
    use_everything().await;
    let before = (descriptors(&server), processes(&server));
    use_everything().await;
    use_everything().await;
    // Forty of each were used since: one thing left behind by each would show. A connection or a waiting keeper more
    // or less is no leak.
    eventually(LONG, || {
        let grown = (descriptors(&server), processes(&server));
        grown.0 < before.0 + SLACK && grown.1 < before.1 + SLACK && zombies(&server) == 0
    })
    .await;
}

/// A figure of the server's memory in bytes.
fn memory(server: &Server, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("a status");
    let line = status.lines().find(|line| line.starts_with(name)).expect("the figure");
    let kilobytes =
        line.split_ascii_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kilobytes.expect("a number") * 1024
}

fn descriptors(server: &Server) -> usize {
    fs::read_dir(format!("/proc/{}/fd", server.pid())).map_or(0, Iterator::count)
}

fn processes(server: &Server) -> usize {
    descendants(server.pid()).len()
}

fn zombies(server: &Server) -> usize {
    descendants(server.pid()).iter().filter(|pid| !crate::is_alive(**pid)).count()
}

fn descendants(root: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut waiting = vec![root];
    while let Some(pid) = waiting.pop() {
        let children =
            fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let children =
            children.split_ascii_whitespace().filter_map(|child| child.parse::<u32>().ok());
        waiting.extend(children.clone());
        found.extend(children);
    }
    found
}
