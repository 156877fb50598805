//! The kernel's own limits, reached for real: in a user namespace, which has limits of its own.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use atoll_watch::{Change, Error, Settings, Unfinished, Watcher, wait_for};

const INSIDE: &str = "ATOLL_WATCH_INSIDE_NAMESPACE";
const SCRIPT: &str = "echo 10 >/proc/sys/user/max_inotify_watches && \
                      echo 3 >/proc/sys/user/max_inotify_instances && \
                      exec \"$0\" --exact limits_are_named_and_never_a_silent_loss --nocapture";

#[tokio::test]
async fn limits_are_named_and_never_a_silent_loss() {
    if std::env::var_os(INSIDE).is_some() {
        return inside().await;
    }
    let unshare = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user"]).args(arguments).env(INSIDE, "1");
        command.output()
    };
    if !unshare(&["true"]).is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: user namespaces are not to be had here");
        return;
    }
    let program = std::env::current_exe().unwrap();
    let output = unshare(&["sh", "-c", SCRIPT, program.to_str().unwrap()]).unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let faults = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}{faults}");
}

fn settings(path: &Path) -> Settings {
    Settings {
        path: path.to_owned(),
        recursive: true,
        exclude: Vec::new(),
        include: Vec::new(),
        unfinished: Unfinished { any: ".part-", replacing: ".part-over-" },
        debounce: Duration::from_millis(50),
        kept: 1000,
    }
}

async fn inside() {
    let home = tempfile::tempdir().unwrap();
    let (large, small) = (home.path().join("large"), home.path().join("small"));
    for number in 0..20 {
        std::fs::create_dir_all(large.join(number.to_string())).unwrap();
    }
    std::fs::create_dir(&small).unwrap();

    let error = Watcher::start(&settings(&large)).unwrap_err();
    assert!(matches!(error, Error::Directories { .. }), "{error}");

    // What comes later and cannot be watched is a loss.
    let watcher = Watcher::start(&settings(&small)).unwrap();
    for number in 0..20 {
        std::fs::create_dir(small.join(number.to_string())).unwrap();
    }
    let mut cursor = 0;
    loop {
        tokio::time::timeout(Duration::from_mins(1), watcher.past(cursor)).await.unwrap();
        let batch = watcher.read(cursor, 100);
        if batch.lost {
            break;
        }
        cursor = batch.cursor;
    }
    watcher.stop().await;

    let mut watchers = Vec::new();
    let error = loop {
        match Watcher::start(&settings(&small.join("0"))) {
            Ok(watcher) => watchers.push(watcher),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Instances { .. }), "{error}");
    let error = wait_for(&small.join("x"), &[Change::Create], Duration::from_mins(1)).await;
    assert!(matches!(error, Err(Error::Instances { .. })), "{error:?}");
}
