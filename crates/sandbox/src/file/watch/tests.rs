//! The watching capability in a directory of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use atoll_api::file::{
    CreateWatch, FileEventKind, FollowWatch, ListWatches, PollWatch, StopWatch, WaitForFile,
    WatchEvents, Watcher,
};
use atoll_api::system::Limits;
use atoll_operation::{Context, Error, Event, Handle, Kind, Operation, Stream, Streaming};
use atoll_process::Spawner;
use futures::StreamExt;
use serde_json::{Value, from_value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Watches;
use crate::{Environment, Foundation, Programs};

const LONG: Duration = Duration::from_mins(1);

struct Stage {
    watches: Arc<Watches>,
    programs: Programs,
    stop: CancellationToken,
    directory: tempfile::TempDir,
}

impl Stage {
    fn new(limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().to_owned();
        let stop = CancellationToken::new();
        let none = std::iter::empty();
        let foundation = Foundation {
            home: home.clone(),
            workspace: home.clone(),
            runtime_dir: home.clone(),
            environment: Arc::new(Environment::build(none, &home, &home, "someone", &[])),
            limits: Arc::new(limits),
            version: "test",
            stop: stop.clone(),
        };
        // These tests start no programs.
        let spawner = Spawner::launch_program(Path::new("/bin/true")).unwrap();
        let programs = Programs::new(foundation, spawner);
        Self { watches: Watches::new(&programs), programs, stop, directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    async fn ask<O: Operation>(&self, input: O) -> Result<O::Output, Error>
    where
        Watches: Handle<O>,
    {
        let cx = Context::new("test");
        timeout(LONG, self.watches.handle(&cx, input)).await.unwrap()
    }

    async fn create(&self) -> Watcher {
        self.ask(request::<CreateWatch>(json!({ "path": "." }))).await.unwrap()
    }

    async fn poll(&self, id: &str, cursor: u64, timeout: u64) -> Result<WatchEvents, Error> {
        let watcher_id = id.to_owned();
        self.ask(PollWatch { watcher_id, cursor, limit: 100, timeout }).await
    }

    async fn follow(&self, id: &str, resume: Option<&str>) -> Stream {
        let cx = Context::new("test").resuming_after(resume.map(str::to_owned));
        let input = FollowWatch { watcher_id: id.to_owned() };
        self.watches.stream(&cx, input).await.unwrap()
    }

    async fn stop(&self, id: &str) -> Result<bool, Error> {
        Ok(self.ask(StopWatch { watcher_id: id.to_owned() }).await?.stopped)
    }

    async fn count(&self) -> u64 {
        self.ask(ListWatches {}).await.unwrap().count
    }
}

fn request<O: Operation>(input: Value) -> O {
    from_value(input).unwrap()
}

/// A watch with the shortest window.
fn quick(path: &str) -> CreateWatch {
    request(json!({ "path": path, "debounce": 50 }))
}

async fn next(stream: &mut Stream) -> Event {
    timeout(LONG, stream.next()).await.unwrap().expect("an event")
}

fn code(error: &Error) -> (Kind, &str) {
    (error.kind(), error.code())
}

#[tokio::test]
async fn a_watcher_is_made_listed_polled_and_stopped() {
    let stage = Stage::new(Limits::default());
    std::fs::create_dir_all(stage.path("src/deep")).unwrap();
    std::fs::create_dir(stage.path("node_modules")).unwrap();
    let made = stage.ask(request::<CreateWatch>(json!({ "path": "./src/.." }))).await.unwrap();
    assert_eq!(made.directories, 3);
    assert!(made.recursive && made.exclude.contains(&".git".to_owned()));
    assert_eq!((made.cursor, made.buffered, made.debounce), (0, 0, 300));
    assert_eq!(stage.ask(ListWatches {}).await.unwrap().watchers[0].watcher_id, made.watcher_id);

    std::fs::write(stage.path("src/deep/file"), "12345").unwrap();
    let read = stage.poll(&made.watcher_id, 0, 60).await.unwrap();
    let [event] = read.events.as_slice() else { panic!("{read:?}") };
    assert_eq!((event.seq, event.kind, event.size), (1, FileEventKind::Create, Some(5)));
    assert_eq!(event.path, stage.path("src/../src/deep/file").to_str().unwrap());
    assert_eq!(event.relative_path, "src/deep/file");
    assert_eq!((read.cursor, read.overflow, read.has_more), (1, false, false));
    assert!(stage.poll(&made.watcher_id, 1, 0).await.unwrap().events.is_empty());
    assert_eq!(stage.poll(&made.watcher_id, 99, 0).await.unwrap().cursor, 1);
    let all = stage.ask(FollowWatch { watcher_id: made.watcher_id.clone() }).await.unwrap();
    assert_eq!(all.events, read.events);

    assert!(stage.stop(&made.watcher_id).await.unwrap());
    assert_eq!(stage.count().await, 0);
    let gone = stage.stop(&made.watcher_id).await.unwrap_err();
    assert_eq!(code(&gone), (Kind::NotFound, "watch.not_found"));
    assert!(gone.message().contains("restarts"));
    assert!(stage.poll("unknown", 0, 0).await.is_err());
}

#[tokio::test]
async fn what_cannot_be_watched_is_refused_and_takes_no_room() {
    let stage = Stage::new(Limits { file_watchers: 1, ..Limits::default() });
    for (input, expected, word) in [
        (json!({ "path": "missing" }), (Kind::NotFound, "watch.path"), "does not exist"),
        (json!({ "path": "" }), (Kind::InvalidArgument, "watch.path"), "empty"),
        (json!({ "path": "a\0b" }), (Kind::InvalidInput, "input.invalid"), "path: "),
        (
            json!({ "path": ".", "exclude": ["[a"] }),
            (Kind::InvalidInput, "input.invalid"),
            "exclude: \"[a\"",
        ),
        (
            json!({ "path": ".", "include_patterns": ["{a"] }),
            (Kind::InvalidInput, "input.invalid"),
            "include_patterns: ",
        ),
    ] {
        let error = stage.ask(request::<CreateWatch>(input.clone())).await.unwrap_err();
        assert_eq!(code(&error), expected, "{input}");
        assert!(error.message().contains(word), "{input}: {error}");
    }
    let made = stage.create().await;
    for refused in [
        stage.ask(quick(".")).await.unwrap_err(),
        stage.ask(request::<WaitForFile>(json!({ "path": "x" }))).await.unwrap_err(),
    ] {
        assert_eq!(code(&refused), (Kind::ResourceExhausted, "watch.watchers_exhausted"));
        assert!(refused.message().contains("AIO_FILE_WATCH_MAX_WATCHERS"));
    }
    stage.stop(&made.watcher_id).await.unwrap();
    stage.create().await;
}

#[tokio::test]
async fn a_stream_begins_with_what_is_kept_and_resumes_where_it_was() {
    let stage = Stage::new(Limits::default());
    let id = stage.ask(quick(".")).await.unwrap().watcher_id;
    std::fs::create_dir(stage.path("a")).unwrap();
    stage.poll(&id, 0, 60).await.unwrap();

    let mut stream = stage.follow(&id, None).await;
    let started = next(&mut stream).await;
    assert_eq!((started.name, started.id), ("watch_started", Some(format!("{id}:0"))));
    assert_eq!(started.data["watcher_id"], id.as_str());
    let first = next(&mut stream).await;
    assert_eq!((first.name, first.id.clone()), ("file_change", Some(format!("{id}:1"))));
    assert_eq!(
        (&first.data["type"], &first.data["relative_path"]),
        (&json!("create"), &json!("a"))
    );
    std::fs::create_dir(stage.path("b")).unwrap();
    assert_eq!(next(&mut stream).await.id, Some(format!("{id}:2")));
    drop(stream);

    std::fs::create_dir(stage.path("c")).unwrap();
    let mut resumed = stage.follow(&id, first.id.as_deref()).await;
    assert_eq!(next(&mut resumed).await.id, Some(format!("{id}:1")));
    assert_eq!(next(&mut resumed).await.data["relative_path"], "b");
    assert_eq!(next(&mut resumed).await.data["relative_path"], "c");
    for foreign in ["other:2", "nonsense", &format!("{id}:x")] {
        let mut anew = stage.follow(&id, Some(foreign)).await;
        assert_eq!(next(&mut anew).await.id, Some(format!("{id}:0")), "{foreign}");
    }

    // It ends with its watcher.
    stage.stop(&id).await.unwrap();
    assert!(timeout(LONG, resumed.next()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_reader_that_falls_behind_is_told_of_the_overflow_once() {
    let stage = Stage::new(Limits { file_watch_events: 3, ..Limits::default() });
    let id = stage.ask(quick(".")).await.unwrap().watcher_id;
    for number in 0..8 {
        std::fs::create_dir(stage.path(&number.to_string())).unwrap();
        stage.poll(&id, number, 60).await.unwrap();
    }
    let late = stage.poll(&id, 1, 0).await.unwrap();
    assert!(late.overflow);
    assert_eq!((late.events[0].seq, late.cursor), (6, 8));
    assert!(!stage.poll(&id, late.cursor, 0).await.unwrap().overflow);

    let mut stream = stage.follow(&id, Some(&format!("{id}:2"))).await;
    assert_eq!(next(&mut stream).await.name, "watch_started");
    let overflow = next(&mut stream).await;
    assert_eq!((overflow.name, overflow.data), ("overflow", json!({ "cursor": 5 })));
    assert_eq!(overflow.id, Some(format!("{id}:5")));
    assert_eq!(next(&mut stream).await.id, Some(format!("{id}:6")));
}

#[tokio::test]
async fn a_file_is_waited_for_and_a_wait_in_vain_is_told() {
    let stage = Stage::new(Limits::default());
    let file = stage.path("a/b/file");
    let wait = async {
        let input = json!({ "path": "a/b/file", "event_types": ["create"], "timeout": 60 });
        stage.ask(request::<WaitForFile>(input)).await
    };
    let make = async {
        tokio::task::yield_now().await;
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "text").unwrap();
    };
    let (found, ()) = tokio::join!(wait, make);
    let event = found.unwrap().event;
    assert_eq!((event.kind, event.path.as_str()), (FileEventKind::Create, file.to_str().unwrap()));

    let input = json!({ "path": "never", "timeout": 1 });
    let error = stage.ask(request::<WaitForFile>(input)).await.unwrap_err();
    assert_eq!(code(&error), (Kind::DeadlineExceeded, "watch.timeout"));
    assert!(error.message().starts_with("timed out waiting for "));
    let error = stage.ask(request::<WaitForFile>(json!({ "path": "/" }))).await.unwrap_err();
    assert_eq!(code(&error), (Kind::InvalidArgument, "watch.path"));
    let input = json!({ "path": "x", "event_types": [] });
    let error = stage.ask(request::<WaitForFile>(input)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::InvalidInput);
}

#[tokio::test]
async fn a_caller_that_leaves_leaves_nothing_behind() {
    let stage = Stage::new(Limits { file_watchers: 1, ..Limits::default() });
    let wait = stage.ask(request::<WaitForFile>(json!({ "path": "never", "timeout": 300 })));
    tokio::select! {
        biased;
        _ = wait => unreachable!("the file never comes"),
        () = tokio::task::yield_now() => {}
    }
    let id = stage.create().await.watcher_id;
    tokio::select! {
        biased;
        _ = stage.poll(&id, 0, 60) => unreachable!("nothing happens"),
        () = tokio::task::yield_now() => {}
    }
    drop(stage.follow(&id, None).await);
}

#[tokio::test]
async fn everything_ends_with_the_server() {
    let stage = Stage::new(Limits::default());
    let id = stage.create().await.watcher_id;
    let mut stream = stage.follow(&id, None).await;
    next(&mut stream).await;
    let wait = stage.ask(request::<WaitForFile>(json!({ "path": "x", "timeout": 300 })));
    let stop = async {
        tokio::task::yield_now().await;
        stage.stop.cancel();
    };
    let (polled, waited, ended, ()) =
        tokio::join!(stage.poll(&id, 0, 60), wait, stream.next(), stop);
    assert!(polled.is_ok_and(|read| read.events.is_empty()));
    assert_eq!(waited.unwrap_err().kind(), Kind::Cancelled);
    assert!(ended.is_none());
    stage.programs.tasks().close();
    timeout(LONG, stage.programs.tasks().wait()).await.unwrap();
    assert_eq!(stage.count().await, 0);
    assert!(stage.ask(quick(".")).await.is_err());
}

#[tokio::test]
async fn a_wait_for_events_ends_when_the_watcher_is_stopped() {
    let stage = Stage::new(Limits::default());
    let id = stage.create().await.watcher_id;
    let stop = async {
        tokio::task::yield_now().await;
        stage.stop(&id).await.unwrap()
    };
    let (polled, stopped) = tokio::join!(stage.poll(&id, 0, 60), stop);
    assert!(stopped);
    assert_eq!(polled.unwrap_err().code(), "watch.not_found");
}

/// Time stands still but for what the test moves it by: a watcher's own thread is not concerned.
#[tokio::test]
async fn watchers_nobody_reads_from_are_stopped_and_others_are_not() {
    let stage = Stage::new(Limits { file_watch_idle_seconds: 100, ..Limits::default() });
    let forgotten = stage.create().await.watcher_id;
    let followed = stage.create().await.watcher_id;
    let polled = stage.create().await.watcher_id;
    let stream = stage.follow(&followed, None).await;
    tokio::time::pause();
    for _ in 0..12 {
        tokio::time::advance(Duration::from_secs(10)).await;
        stage.poll(&polled, 0, 0).await.unwrap();
    }
    tokio::time::resume();
    let wait_until = async |id: &str| {
        let gone = async {
            while stage.lists(id).await {
                tokio::task::yield_now().await;
            }
        };
        timeout(LONG, gone).await.unwrap();
    };
    wait_until(&forgotten).await;
    assert_eq!(stage.count().await, 2);

    // A stream that is left counts as a reader until it is.
    drop(stream);
    tokio::time::pause();
    for _ in 0..12 {
        tokio::time::advance(Duration::from_secs(10)).await;
        stage.poll(&polled, 0, 0).await.unwrap();
    }
    tokio::time::resume();
    wait_until(&followed).await;
    stage.poll(&polled, 0, 0).await.unwrap();
}

impl Stage {
    /// Whether a watcher is listed; asking this does not count as reading from it.
    async fn lists(&self, id: &str) -> bool {
        let listed = self.ask(ListWatches {}).await.unwrap().watchers;
        listed.iter().any(|watcher| watcher.watcher_id == id)
    }
}
