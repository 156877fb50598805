//! Commands at a terminal: keys, window sizes, leaving and returning.

use crate::pseudo_terminal::PseudoTerminal;
use crate::{command, printed, run, server};

#[tokio::test]
async fn a_command_at_a_terminal_has_one_of_the_same_size_and_hears_keys() {
    let server = server().await;
    let line = "stty size; read -r word; echo \"got <$word>\"; exit 3";
    let mut terminal =
        PseudoTerminal::start(command(&server, &["exec", "--", "bash", "-c", line]), 101, 41);
    terminal.shows("41 101").await;
    terminal.press("hello\r");
    terminal.shows("got <hello>").await;
    assert_eq!(terminal.ended().await.code(), Some(3));
    // What was typed is shown once, by the terminal in the sandbox.
    assert_eq!(terminal.shown().matches("hello").count(), 2, "{}", terminal.shown());
    assert!(terminal.is_cooked(), "the terminal was left raw");
}

#[tokio::test]
async fn a_window_that_changes_its_size_does_so_for_the_command() {
    let server = server().await;
    let line = "trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done";
    let mut terminal =
        PseudoTerminal::start(command(&server, &["exec", "--", "bash", "-c", line]), 80, 24);
    terminal.shows("ready").await;
    terminal.resize(133, 43);
    terminal.shows("43 133").await;
    terminal.press("\u{3}");
    assert_eq!(terminal.ended().await.code(), Some(130));
}

#[tokio::test]
async fn without_a_command_it_is_a_shell() {
    let server = server().await;
    let mut terminal = PseudoTerminal::start(command(&server, &["exec"]), 80, 24);
    terminal.press("echo $((6 * 7))-$TERM; exit 5\r");
    terminal.shows("42-xterm").await;
    assert_eq!(terminal.ended().await.code(), Some(5));
    // The session was made up for it: nobody else knows of it.
    let sessions = printed(&run(&server, &["shell", "list-sessions"]));
    assert!(sessions.contains("\"sessions\": {}"), "{sessions}");
}

#[tokio::test]
async fn who_leaves_a_command_can_return_to_it() {
    let server = server().await;
    let line = "echo ready; read -r word; echo \"got <$word>\"; read -r _";
    let arguments = ["exec", "--session", "work", "--", "bash", "-c", line];
    let mut terminal = PseudoTerminal::start(command(&server, &arguments), 80, 24);
    terminal.shows("ready").await;
    terminal.press("\r~.");
    terminal.shows("--session work").await;
    assert_eq!(terminal.ended().await.code(), Some(0));
    assert!(terminal.is_cooked());

    let mut again = PseudoTerminal::start(command(&server, &["exec", "--session", "work"]), 80, 24);
    again.shows("got <>").await;
    again.press("\r");
    again.press("echo still $((40 + 2))\r");
    again.shows("still 42").await;
    again.press("~.");
    assert_eq!(again.ended().await.code(), Some(0));
}

#[tokio::test]
async fn pipes_can_be_asked_for_at_a_terminal() {
    let server = server().await;
    let arguments = ["exec", "-T", "--", "bash", "-c", "[ -t 1 ] || echo no terminal"];
    let mut terminal = PseudoTerminal::start(command(&server, &arguments), 80, 24);
    terminal.shows("no terminal").await;
    assert_eq!(terminal.ended().await.code(), Some(0));
}
