//! The kernel that stands ready.

mod common;

use std::path::PathBuf;

use atoll_kernel::Session;
use common::{Bench, alive_with, eventually, printed, run};

const PID: &str = "import os; print(os.getpid())";

/// Processes of this bench's kernels.
fn kernels(bench: &Bench) -> Vec<i32> {
    alive_with(&bench.runtime.path().to_string_lossy())
}

async fn warmed() -> Bench {
    let bench = Bench::new();
    bench.host.keep_ready(bench.python().await, bench.home.path().to_owned());
    eventually("a kernel that stands ready", || bench.host.is_ready()).await;
    bench
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_taken_by_the_first_session_and_replaced() {
    let bench = warmed().await;
    let standing = kernels(&bench);
    assert_eq!(standing.len(), 1);
    let session = bench.session().await;
    assert_eq!(printed(&session, PID).await, format!("{}\n", standing[0]));
    assert_eq!(run(&session, "1").await.execution_count, Some(2), "it looks unused to its user");
    eventually("another", || bench.host.is_ready()).await;
    let other = bench.session().await;
    let second: i32 = printed(&other, PID).await.trim().parse().unwrap();
    assert_ne!(second, standing[0]);
    bench.host.close().await;
    drop((session, other));
    eventually("no kernel", || kernels(&bench).is_empty() && bench.is_clean()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_moves_to_the_directory_of_the_session_that_takes_it() {
    let bench = warmed().await;
    let standing = kernels(&bench);
    let there = bench.home.path().join("there");
    std::fs::create_dir(&there).unwrap();
    let session = Session::new(&bench.host, bench.python().await, there.clone());
    let said = printed(&session, "import os; print(os.getpid(), os.getcwd())").await;
    let there = there.canonicalize().unwrap();
    assert_eq!(said, format!("{} {}\n", standing[0], there.display()));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_died_is_not_handed_out() {
    let bench = warmed().await;
    let standing = kernels(&bench)[0];
    let killed = std::process::Command::new("kill").args(["-9", &standing.to_string()]).status();
    assert!(killed.unwrap().success());
    let process = PathBuf::from(format!("/proc/{standing}"));
    eventually("its end", || !process.exists() && !bench.host.is_ready()).await;
    let session = bench.session().await;
    assert_ne!(printed(&session, PID).await, format!("{standing}\n"));
    eventually("another", || bench.host.is_ready()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn none_is_kept_unless_asked_for_and_none_after_the_end() {
    let bench = Bench::new();
    let session = bench.session().await;
    run(&session, "1").await;
    assert_eq!(kernels(&bench).len(), 1);
    bench.host.keep_ready(bench.python().await, bench.home.path().to_owned());
    bench.stop.cancel();
    bench.host.close().await;
    session.close().await;
    eventually("no kernel", || kernels(&bench).is_empty() && bench.is_clean()).await;
    assert!(!bench.host.is_ready());
}
