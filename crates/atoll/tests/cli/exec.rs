//! Commands between pipes: their streams, their ends, and what reaches them.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use atoll_testkit::{LONG, eventually};
use rustix::process::{Pid, Signal, kill_process};

use crate::{command, json, name, printed, refused, run, run_with_input, server, text};

#[tokio::test]
async fn a_command_prints_and_ends_as_if_it_ran_here() {
    let server = server().await;
    let output = run(&server, &["exec", "--", "bash", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("out\n".into(), "err\n".into()));
    let killed = run(&server, &["exec", "kill -9 $$"]);
    assert_eq!(killed.status.code(), Some(137));
    assert!(run(&server, &["exec", "true"]).status.success());
}

#[tokio::test]
async fn several_words_are_taken_as_they_are_and_one_is_a_line_for_bash() {
    let server = server().await;
    let output = run(&server, &["exec", "--", "printf", "%s|", "a b", "$HOME", "*", "it's"]);
    assert_eq!(printed(&output), "a b|$HOME|*|it's|");
    assert_eq!(printed(&run(&server, &["exec", "echo $((6 * 7)) | cat"])), "42\n");
}

#[tokio::test]
async fn directory_variables_and_time_are_as_asked_for() {
    let server = server().await;
    let mut here = command(
        &server,
        &[
            "exec",
            "--cwd",
            "/tmp",
            "--env",
            "A=b c",
            "--env",
            "FROM_HERE",
            "--",
            "bash",
            "-c",
            "pwd; echo $A; echo $FROM_HERE",
        ],
    );
    let output = here.env("FROM_HERE", "yes").output().unwrap();
    assert_eq!(printed(&output), "/tmp\nb c\nyes\n");
    let output = run(&server, &["exec", "--timeout", "0.2", "--", "sleep", "1000"]);
    refused(&output, 124, &["0.2 seconds"]);
    let output = run(&server, &["exec", "--cwd", "/no/such/place", "--", "true"]);
    refused(&output, 1, &["/no/such/place"]);
    refused(&run(&server, &["exec", "--env", "NOT_SET_HERE", "--", "true"]), 2, &["NOT_SET_HERE"]);
    refused(&run(&server, &["exec"]), 2, &["say what to run"]);
}

#[tokio::test]
async fn every_byte_goes_in_and_comes_out_as_it_was() {
    let server = server().await;
    let bytes: Vec<u8> =
        (0..3_000_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
    let output = run_with_input(command(&server, &["exec", "--", "cat"]), &bytes);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stdout == bytes, "{} of {} bytes", output.stdout.len(), bytes.len());
    let output = run_with_input(command(&server, &["exec", "wc -c"]), b"");
    assert_eq!(printed(&output).trim(), "0");
}

#[tokio::test]
async fn a_hundred_megabytes_of_output_arrive_whole() {
    const SIZE: usize = 100 << 20;
    let server = server().await;
    let mut child = command(&server, &["exec", &format!("head -c {SIZE} /dev/urandom | tee kept")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut received = Vec::with_capacity(SIZE);
    child.stdout.take().unwrap().read_to_end(&mut received).unwrap();
    assert!(child.wait().unwrap().success());
    let kept = std::fs::read(server.home().join("kept")).unwrap();
    assert!(received == kept, "{} of {} bytes, or others", received.len(), kept.len());
    assert_eq!(kept.len(), SIZE);
}

#[tokio::test]
async fn input_waits_for_a_command_that_does_not_read_yet() {
    const SIZE: usize = 24 << 20;
    let server = server().await;
    let mut child = command(&server, &["exec", "until [ -e go ]; do sleep 0.01; done; wc -c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let written = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&written);
    let writing = std::thread::spawn(move || {
        let piece = vec![b'x'; 64 << 10];
        for _ in 0..SIZE / piece.len() {
            stdin.write_all(&piece).unwrap();
            counted.fetch_add(piece.len(), Ordering::Relaxed);
        }
    });
    // As much as the server lets wait has gone over: more would be lost if nothing held it back.
    eventually(LONG, || written.load(Ordering::Relaxed) >= 8 << 20).await;
    std::fs::write(server.home().join("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    assert_eq!(printed(&output).trim(), SIZE.to_string());
}

#[tokio::test]
async fn a_command_that_wants_no_more_input_ends_all_the_same() {
    let server = server().await;
    let input = vec![b'y'; 20 << 20];
    let output = run_with_input(command(&server, &["exec", "head -c 3"]), &input);
    assert_eq!(printed(&output), "yyy");
}

#[tokio::test]
async fn an_interrupt_reaches_the_command() {
    let server = server().await;
    for (line, code, last) in [
        ("trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done", 7, "caught\n"),
        ("echo ready; exec sleep 1000", 130, ""),
    ] {
        let mut child = command(&server, &["exec", line]).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        assert_eq!(first, "ready\n");
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!((child.wait().unwrap().code(), rest.as_str()), (Some(code), last), "{line}");
    }
}

#[tokio::test]
async fn what_runs_ends_with_its_reader_and_with_the_command_line() {
    let server = server().await;
    let line = "echo $$ > pid; exec yes";
    let mut child = command(&server, &["exec", line]).stdout(Stdio::piped()).spawn().unwrap();
    let mut piece = [0; 4096];
    child.stdout.take().unwrap().read_exact(&mut piece).unwrap();
    // Its reader is gone now.
    assert_eq!(child.wait().unwrap().code(), Some(141));
    let pid = std::fs::read_to_string(server.home().join("pid")).unwrap();
    let place = format!("/proc/{}/stat", pid.trim());
    eventually(LONG, || std::fs::read_to_string(&place).is_err()).await;
}

#[tokio::test]
async fn a_session_keeps_its_directory_and_what_runs_in_it() {
    let server = server().await;
    let session = ["exec", "--session", "work"];
    printed(&run(
        &server,
        &[&session[..], &["--cwd", "/tmp", "sleep 1000 & echo started"]].concat(),
    ));
    assert_eq!(printed(&run(&server, &[&session[..], &["pwd"]].concat())), "/tmp\n");
    let sessions = json(&run(&server, &["bash", "list-sessions"]));
    assert_eq!(sessions[0]["session_id"], "work");
    assert_eq!(sessions[0]["command_count"], 2);
    let output = run(&server, &["bash", "close-session", "work"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[tokio::test]
async fn a_server_that_goes_away_is_no_end_of_the_command() {
    let server = server().await;
    let mut child = command(&server, &["exec", "echo ready; sleep 1000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let home = name(server.home()).to_owned();
    server.stop().await;
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{} {home}", text(&output.stderr));
    assert!(!output.stderr.is_empty());
}
