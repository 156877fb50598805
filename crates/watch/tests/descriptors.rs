//! Nothing is left of watchers and waits that are dropped. Alone in its process: it counts what the process holds.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::path::Path;
use std::time::{Duration, Instant};

use atoll_watch::{Change, Settings, Unfinished, Watcher, wait_for};

fn count(directory: &str) -> usize {
    std::fs::read_dir(Path::new("/proc/self").join(directory)).unwrap().count()
}

fn held() -> (usize, usize) {
    (count("fd"), count("task"))
}

#[tokio::test]
async fn nothing_is_left_of_watchers_and_waits() {
    let home = tempfile::tempdir().unwrap();
    let settings = Settings {
        path: home.path().to_owned(),
        recursive: true,
        exclude: Vec::new(),
        include: Vec::new(),
        unfinished: Unfinished { any: ".part-", replacing: ".part-over-" },
        debounce: Duration::from_millis(50),
        kept: 100,
    };
    let before = held();
    for round in 0..3 {
        let watchers: Vec<_> = (0..10).map(|_| Watcher::start(&settings).unwrap()).collect();
        std::fs::write(home.path().join(format!("file-{round}")), "").unwrap();
        for watcher in &watchers {
            watcher.past(0).await;
        }
        for _ in 0..10 {
            let missing = home.path().join("missing");
            let changes = [Change::Create];
            let waiting = wait_for(&missing, &changes, Duration::from_mins(5));
            tokio::select! {
                biased;
                _ = waiting => unreachable!("the file never comes"),
                () = tokio::task::yield_now() => {}
            }
        }
        assert!(held().0 >= before.0 + 20, "two for each watcher");
    }
    let deadline = Instant::now() + Duration::from_mins(1);
    while held() != before {
        assert!(Instant::now() < deadline, "{:?} left of {before:?}", held());
        std::thread::yield_now();
    }
}
