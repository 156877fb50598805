//! Flags, environment and file; what goes wrong with them; what is printed.

use std::net::TcpListener;
use std::process::{Command, Output};

use crate::PROGRAM;

/// Runs the program with nothing in its environment but these variables.
fn atoll(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(PROGRAM)
        .args(arguments)
        .env_clear()
        .envs(variables.iter().copied())
        .output()
        .expect("the program to run")
}

fn printed(output: &Output) -> toml::Table {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8_lossy(&output.stdout);
    text.parse().expect("TOML")
}

fn refused(output: &Output, code: i32, parts: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "{said:?} lacks {part:?}");
    }
}

#[test]
fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("atoll.toml");
    let text = "listen = '127.0.0.1:1001'\nworkspace = '/from/file'\n[limits]\nbash_sessions = 1\nshell_sessions = 1";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let variables = [("WORKSPACE", "/from/environment"), ("MAX_SHELL_SESSIONS", "2")];
    let flags = ["serve", "--print-config", "--config", file, "--listen", "127.0.0.1:1003"];

    let config = printed(&atoll(&flags, &variables));
    assert_eq!(config["listen"].as_str(), Some("127.0.0.1:1003"));
    assert_eq!(config["workspace"].as_str(), Some("/from/environment"));
    let limits = config["limits"].as_table().unwrap();
    assert_eq!(limits["shell_sessions"].as_integer(), Some(2));
    assert_eq!(limits["bash_sessions"].as_integer(), Some(1));
}

#[test]
fn the_printed_configuration_is_one_that_can_be_used() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("atoll.toml");
    let variables = [("PUBLIC_PORT", "1004"), ("ATOLL_PASS_ENV", "A,B_*"), ("LOG_DIR", "/logs")];
    let first = atoll(&["serve", "--print-config"], &variables);
    std::fs::write(&file, &first.stdout).unwrap();
    let second = atoll(&["serve", "--print-config", "--config", file.to_str().unwrap()], &[]);
    assert_eq!(printed(&second), printed(&first));
}

#[test]
fn a_mistake_ends_the_program_with_code_2_and_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("wrong.toml");
    std::fs::write(&file, "[limits]\nshell_sesions = 3\n").unwrap();
    let file = file.to_str().unwrap();
    let with_file = atoll(&["serve", "--config", file], &[]);
    refused(&with_file, 2, &[file, "limits.shell_sesions", "shell_sessions"]);
    let by_variable = atoll(&["serve"], &[("ATOLL_LOG_LEVEL", "loud")]);
    refused(&by_variable, 2, &["ATOLL_LOG_LEVEL", "loud", "debug"]);
    let by_flag = atoll(&["serve", "--listen", "nowhere"], &[]);
    refused(&by_flag, 2, &["--listen", "nowhere", "127.0.0.1:8080"]);
    refused(&atoll(&["srve"], &[]), 2, &["srve", "serve"]);
}

#[test]
fn what_keeps_the_server_from_starting_is_told_with_a_way_out() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().to_str().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = atoll(&["serve", "--home", home, "--listen", &address], &[]);
    refused(&output, 1, &[&address, "in use", "--listen"]);
    let output = atoll(&["serve", "--home", "/proc/nothing"], &[]);
    refused(&output, 1, &["/proc/nothing", "--home"]);
    let output = atoll(&["serve", "--home", home, "--runtime-dir", "/proc"], &[]);
    refused(&output, 1, &["/proc", "--runtime-dir"]);
}

#[test]
fn the_openapi_document_is_printed() {
    let output = atoll(&["openapi"], &[]);
    assert!(output.status.success());
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/v1/sandbox"]["get"].is_object());
}

#[test]
fn the_version_is_printed() {
    let output = atoll(&["--version"], &[]);
    let expected = format!("atoll {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}
