//! What is printed: for people at a terminal, JSON for programs, files where they are named.

use crate::pseudo_terminal::PseudoTerminal;
use crate::{command, json, name, printed, refused, run, server};

#[tokio::test]
async fn programs_get_json_and_people_a_text() {
    let server = server().await;
    let limits = json(&run(&server, &["system", "limits"]));
    assert!(limits["shell_sessions"].is_u64());

    let mut terminal = PseudoTerminal::start(command(&server, &["system", "limits"]), 100, 30);
    assert!(terminal.ended().await.success());
    terminal.shows("shell_sessions").await;
    assert!(!terminal.shown().contains('{'), "{}", terminal.shown());
    assert!(terminal.shown().contains("\u{1b}[1m"), "{}", terminal.shown());

    let mut terminal =
        PseudoTerminal::start(command(&server, &["--json", "system", "limits"]), 100, 30);
    assert!(terminal.ended().await.success());
    terminal.shows("\"shell_sessions\":").await;
}

#[tokio::test]
async fn colours_can_be_declined() {
    let server = server().await;
    let mut plain = command(&server, &["system", "limits"]);
    plain.env("NO_COLOR", "1");
    let mut terminal = PseudoTerminal::start(plain, 100, 30);
    assert!(terminal.ended().await.success());
    terminal.shows("shell_sessions").await;
    assert!(!terminal.shown().contains('\u{1b}'), "{}", terminal.shown());
}

#[tokio::test]
async fn an_answer_goes_to_the_file_that_is_named() {
    let server = server().await;
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("answer.json");
    assert_eq!(printed(&run(&server, &["system", "limits", "-o", name(&file)])), "");
    let written: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(written["shell_sessions"].is_u64());
    let output = run(&server, &["system", "limits", "-o", "/no/such/place/file"]);
    refused(&output, 1, &["/no/such/place/file"]);
}

#[tokio::test]
async fn bytes_are_not_thrown_at_a_terminal() {
    let server = server().await;
    std::fs::write(server.home().join("bytes"), [0, 1, 2, 255]).unwrap();
    for words in [["file", "cat", "bytes"], ["file", "download", "bytes"]] {
        let mut terminal = PseudoTerminal::start(command(&server, &words), 100, 30);
        assert_eq!(terminal.ended().await.code(), Some(2));
        terminal.shows("-o FILE").await;
    }
    assert_eq!(run(&server, &["file", "download", "bytes"]).stdout, [0, 1, 2, 255]);
}

#[tokio::test]
async fn wrong_use_is_code_2_and_names_what_is_wrong() {
    let server = server().await;
    refused(&run(&server, &["brwser"]), 2, &["brwser", "browser"]);
    refused(&run(&server, &["browser", "navigat"]), 2, &["navigat", "navigate"]);
    refused(&run(&server, &["call", "no_such_operation"]), 2, &["no_such_operation"]);
    refused(&run(&server, &["file", "grep"]), 2, &["--pattern"]);
    refused(&run(&server, &["file", "list", "--sort-by", "colour"]), 2, &["colour", "size"]);
    refused(&run(&server, &["system", "limits", "--api-url", "ftp://h"]), 2, &["ftp://h"]);
    refused(&run(&server, &["system", "limits", "--header", "nonsense"]), 2, &["Name: value"]);
}

#[tokio::test]
async fn what_the_server_refuses_is_code_1_with_its_words_and_its_code() {
    let server = server().await;
    let output = run(&server, &["shell", "view", "no-such-session"]);
    refused(&output, 1, &["no-such-session", "shell.session_not_found"]);
    let output = run(&server, &["bash", "exec", "true", "--timeout", "-1"]);
    refused(&output, 1, &["timeout"]);
}
