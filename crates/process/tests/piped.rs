//! Programs on pipes, started for real.

mod common;

use std::time::Duration;

use atoll_process::{Exit, Piped};
use common::{Bench, alive_with_marker, eventually, marker};

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_separate_and_exit_codes_exact() {
    let bench = Bench::new();
    let piped = bench.bash("echo out; echo err >&2; exit 7").await;
    assert_eq!(piped.wait().await, Exit::Code(7));
    assert_eq!(piped.stdout().read_text(0, 100).text, "out\n");
    assert_eq!(piped.stderr().read_text(0, 100).text, "err\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_child_holding_the_pipe_does_not_delay_the_end() {
    let bench = Bench::new();
    let piped = bench.bash("(read line < fifo; echo late) & echo hi").await;
    assert_eq!(piped.wait().await, Exit::Code(0));
    let first = piped.stdout().read_text(0, 100);
    assert_eq!(first.text, "hi\n");
    assert!(!first.progress.closed);
    std::fs::write(bench.path("fifo"), "go\n").unwrap();
    piped.stdout().wait_past(first.next).await;
    assert_eq!(piped.stdout().read_text(first.next, 100).text, "late\n");
    piped.child().gone().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killing_reaches_grandchildren_and_double_forked_ones() {
    let bench = Bench::new();
    let marker = marker();
    let script = format!(
        "sleep 1000.{marker} & (setsid sleep 1000.{marker} & ) ; (nohup bash -c 'sleep 1000.{marker} & exec sleep 1000.{marker}' >/dev/null 2>&1 &); echo up; wait"
    );
    let piped = bench.bash(&script).await;
    eventually("four sleepers", || alive_with_marker(&marker).len() >= 4).await;
    piped.child().kill_all().await;
    assert_eq!(piped.wait().await, Exit::Signal(9));
    assert_eq!(alive_with_marker(&marker), Vec::<i32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_last_handle_ends_background_jobs() {
    let bench = Bench::new();
    let marker = marker();
    let piped =
        bench.bash(&format!("sleep 1000.{marker} & setsid sleep 1000.{marker} & echo up")).await;
    piped.wait().await;
    eventually("both jobs", || alive_with_marker(&marker).len() == 2).await;
    drop(piped);
    eventually("no job", || alive_with_marker(&marker).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_keeper_takes_its_command_and_orphans_along() {
    let bench = Bench::new();
    let marker = marker();
    let sleepers = format!("setsid sleep 1000.{marker} & sleep 1000.{marker} &");
    let piped = bench.bash(&format!("{sleepers} read go < fifo; kill -9 $PPID; wait")).await;
    std::fs::write(bench.path("fifo"), "go\n").unwrap();
    assert_eq!(piped.wait().await, Exit::Lost);
    eventually("no orphan", || alive_with_marker(&marker).is_empty()).await;
    assert_eq!(bench.bash("exit 5").await.wait().await, Exit::Code(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_server_dies_everything_it_started_dies() {
    let bench = Bench::new();
    let marker = marker();
    let piped = bench.bash(&format!("setsid sleep 1000.{marker} & sleep 1000.{marker}")).await;
    eventually("both", || alive_with_marker(&marker).len() >= 2).await;
    drop(piped);
    drop(bench);
    eventually("none", || alive_with_marker(&marker).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_stay_exact_while_orphans_are_buried() {
    let bench = std::sync::Arc::new(Bench::new());
    let storm =
        bench.bash("for i in $(seq 1000); do (setsid bash -c 'exit 9' &); done; wait").await;
    let runs = (0..2000u32).map(|number| {
        let bench = std::sync::Arc::clone(&bench);
        tokio::spawn(async move {
            let code = i32::try_from(number % 256).unwrap();
            (code, bench.bash(&format!("exit {code}")).await.wait().await)
        })
    });
    for run in runs.collect::<Vec<_>>() {
        let (code, exit) = run.await.unwrap();
        assert_eq!(exit, Exit::Code(code));
    }
    storm.wait().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn input_reaches_the_program_and_its_end_does_too() {
    let bench = Bench::new();
    let piped = bench.bash("cat; echo end").await;
    piped.stdin().write("äöü\n".as_bytes()).unwrap();
    piped.stdout().wait_past(0).await;
    piped.stdin().close().unwrap();
    assert_eq!(piped.wait().await, Exit::Code(0));
    assert_eq!(piped.stdout().read_text(0, 100).text, "äöü\nend\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_read_fills_a_bounded_queue() {
    let bench = Bench::new();
    let piped = bench.bash("read line; sleep 1000").await;
    let block = vec![b'x'; 200_000];
    let refused = (0..100).find_map(|_| piped.stdin().write(&block).err());
    assert!(matches!(refused, Some(atoll_process::InputError::Full { .. })), "{refused:?}");
    piped.child().kill_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_output_is_lossless_by_offset() {
    let bench = Bench::new();
    let piped = bench.bash("for i in $(seq 3); do seq 200000; done").await;
    piped.wait().await;
    let once: String =
        (1..=200_000).flat_map(|number: u32| [number.to_string(), "\n".to_owned()]).collect();
    let expected = once.repeat(3);
    let (mut read, mut offset) = (String::new(), 0);
    loop {
        let chunk = piped.stdout().read_text(offset, 100_001);
        if chunk.text.is_empty() {
            break;
        }
        assert_eq!(chunk.skipped, 0);
        read.push_str(&chunk.text);
        offset = chunk.next;
    }
    assert!(read == expected, "{} bytes read, {} expected", read.len(), expected.len());
    let whole = std::fs::read_to_string(piped.stdout().materialise().unwrap()).unwrap();
    assert!(whole == expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_run_is_named() {
    let bench = Bench::new();
    let mut command = bench.command("true");
    command.program = "/nonexistent/program".into();
    let error = Piped::start(&bench.spawner, &command, &bench.settings()).await.unwrap_err();
    assert!(error.to_string().contains("/nonexistent/program"), "{error}");
    let mut command = bench.command("true");
    command.directory = "/nonexistent/directory".into();
    let error = Piped::start(&bench.spawner, &command, &bench.settings()).await.unwrap_err();
    assert!(error.to_string().contains("/nonexistent/directory"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_very_long_argument_list_travels() {
    let bench = Bench::new();
    let mut command = bench.command("echo ${#1} ${#2}");
    command.arguments.push("bash".into());
    command.arguments.push("x".repeat(100_000));
    command.arguments.push("y".repeat(100_000));
    let piped = Piped::start(&bench.spawner, &command, &bench.settings()).await.unwrap();
    piped.wait().await;
    assert_eq!(piped.stdout().read_text(0, 100).text, "100000 100000\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_reach_the_group_or_everything() {
    let bench = Bench::new();
    let piped =
        bench.bash("trap 'echo got int; exit 4' INT; echo up; while :; do sleep 0.05; done").await;
    piped.stdout().wait_past(0).await;
    piped.child().signal_group(2).await;
    assert_eq!(
        tokio::time::timeout(Duration::from_mins(1), piped.wait()).await.unwrap(),
        Exit::Code(4)
    );
    let marker = marker();
    let piped = bench.bash(&format!("setsid sleep 1000.{marker} & echo up; wait")).await;
    eventually("up", || alive_with_marker(&marker).len() == 2).await;
    piped.child().signal_all(15).await;
    assert_eq!(piped.wait().await, Exit::Signal(15));
    eventually("none", || alive_with_marker(&marker).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn children_inherit_no_descriptors_and_no_environment() {
    let bench = Bench::new();
    let piped =
        bench.bash("ls /proc/self/fd | wc -l; env | sort | cut -d= -f1 | tr '\\n' ' '").await;
    piped.wait().await;
    // ls itself opens the directory: 0, 1, 2 and that.
    assert_eq!(piped.stdout().read_text(0, 1000).text, "4\nPATH PWD SHLVL _ ");
}
