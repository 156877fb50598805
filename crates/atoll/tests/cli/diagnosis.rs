//! `doctor`, and the logs it points to.

use atoll_testkit::Server;

use crate::pseudo_terminal::PseudoTerminal;
use crate::{PROGRAM, command, plain, refused, run, server, text};

fn part<'a>(found: &'a serde_json::Value, side: &str, name: &str) -> &'a serde_json::Value {
    let parts = found[side].as_array().expect("a list");
    parts.iter().find(|part| part["part"] == name).unwrap_or_else(|| panic!("no {name} in {found}"))
}

#[tokio::test]
async fn a_machine_without_a_browser_is_told_the_cure() {
    let server = server().await;
    let mut bare = command(&server, &["doctor"]);
    let output = bare.env("PATH", "").env("BROWSER_EXECUTABLE_PATH", "/nowhere").output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let browser = part(&found, "machine", "Chromium");
    assert_eq!(browser["state"], "missing", "{browser}");
    assert!(browser["cure"].as_str().unwrap().contains("apt-get install chromium"), "{browser}");
    for (name, package) in [
        ("Xvnc", "tigervnc"),
        ("openbox", "openbox"),
        ("ffmpeg", "ffmpeg"),
        ("Node.js", "nodejs"),
        ("Python", "python3"),
    ] {
        let missing = part(&found, "machine", name);
        assert_eq!(missing["state"], "missing", "{missing}");
        assert!(missing["cure"].as_str().unwrap().contains(package), "{missing}");
        assert!(!missing["detail"].as_str().unwrap().is_empty());
    }
    // Nothing of that is needed by everybody, and the sandbox itself works.
    assert_eq!(part(&found, "sandbox", "commands")["state"], "fine");
    assert_eq!(output.status.code(), Some(0), "{found}");
}

#[tokio::test]
async fn people_are_told_what_is_there_and_programs_in_json() {
    let server = server().await;
    let output = run(&server, &["doctor"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["healthy"], output.status.success(), "{found}");
    assert_eq!(part(&found, "machine", "bash")["state"], "fine");
    assert_eq!(part(&found, "sandbox", "reachable")["state"], "fine");
    assert_eq!(part(&found, "sandbox", "version")["detail"], env!("CARGO_PKG_VERSION"));

    let mut terminal = PseudoTerminal::start(command(&server, &["doctor"]), 120, 60);
    terminal.ended().await;
    terminal.shows("This machine").await;
    terminal.shows("✓").await;
    terminal.shows(server.url()).await;
}

#[tokio::test]
async fn a_server_that_is_down_or_shut_is_told_apart() {
    let mut nobody = plain(&["doctor", "--api-url", "http://127.0.0.1:9"]);
    let found: serde_json::Value =
        serde_json::from_slice(&nobody.output().unwrap().stdout).unwrap();
    let reachable = part(&found, "sandbox", "reachable");
    assert_eq!((&reachable["state"], &reachable["required"]), (&"failed".into(), &false.into()));
    assert!(reachable["cure"].as_str().unwrap().contains("atoll serve"), "{reachable}");

    let server = Server::builder(PROGRAM).variable("SANDBOX_API_KEY", "k").start().await;
    let output = run(&server, &["doctor"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(found.to_string().contains("ATOLL_API_KEY"), "{found}");
    assert_eq!(output.status.code(), Some(1), "{found}");
}

#[test]
fn the_servers_own_log_is_read_where_it_is_kept() {
    refused(&plain(&["logs"]).output().unwrap(), 2, &["LOG_DIR", "atoll services list"]);
    let here = tempfile::tempdir().unwrap();
    std::fs::write(here.path().join("atoll.log"), "one\ntwo\nthree\n").unwrap();
    let mut logs = plain(&["logs", "-n", "2"]);
    let output = logs.env("LOG_DIR", here.path()).output().unwrap();
    assert_eq!(text(&output.stdout), "two\nthree\n");
}
