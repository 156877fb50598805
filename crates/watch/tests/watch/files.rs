//! One file: what is written to it, and what editors do to it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant, SystemTime};

use atoll_watch::{Batch, Change, Watcher};

use crate::support::{LONG, Scene, count, describe, is_fence, settings};

#[tokio::test]
async fn writes_close_together_count_once_and_the_last_event_shows_the_final_content() {
    const WINDOW: Duration = Duration::from_millis(500);
    const WRITES: usize = 500;
    let mut scene = Scene::with(|root, settings| {
        std::fs::write(root.join("log"), "").unwrap();
        settings.debounce = WINDOW;
    });
    let begun = Instant::now();
    let mut log = OpenOptions::new().append(true).open(scene.path("log")).unwrap();
    for _ in 0..WRITES {
        log.write_all(b"0123456789").unwrap();
    }
    drop(log);
    let windows = begun.elapsed().as_millis() / WINDOW.as_millis() + 2;
    scene
        .until("the final content", |events| {
            events.last().is_some_and(|event| event.look.size == Some(10 * WRITES as u64))
        })
        .await;
    scene.fence().await;
    let told = count(&scene.events, Change::Write, "log");
    assert!(u128::try_from(told).unwrap() <= windows, "{told} events in {windows} windows");
    assert!(scene.told().is_empty());
}

#[tokio::test]
async fn a_new_file_is_one_event_with_all_its_content() {
    let mut scene = Scene::with(|_, settings| settings.debounce = Duration::from_millis(500));
    scene.write("short-lived", "gone");
    std::fs::remove_file(scene.path("short-lived")).unwrap();
    scene.write("file", "all of it");
    scene.until("three events", |events| events.len() >= 3).await;
    scene.fence().await;
    assert_eq!(scene.told(), ["Create short-lived", "Remove short-lived", "Create file"]);
    assert_eq!(scene.events[0].look.size, None);
    assert_eq!(scene.events[2].look.size, Some(9));
}

#[tokio::test]
async fn whoever_could_have_written_and_did_not_is_not_told() {
    let long_ago = SystemTime::now() - Duration::from_hours(1);
    let mut scene = Scene::with(|root, _| {
        for name in ["untouched", "touched"] {
            let file = File::create(root.join(name)).unwrap();
            file.set_modified(long_ago).unwrap();
        }
    });
    drop(OpenOptions::new().write(true).open(scene.path("untouched")).unwrap());
    let touched = OpenOptions::new().write(true).open(scene.path("touched")).unwrap();
    touched.set_modified(SystemTime::now()).unwrap();
    drop(touched);
    scene.fence().await;
    assert!(scene.told().is_empty());
    assert_eq!(count(&scene.events, Change::Write, "untouched"), 0);
    assert!(count(&scene.events, Change::Write, "touched") > 0);
}

#[tokio::test]
async fn an_editor_that_replaces_a_file_is_told_as_what_it_does() {
    let mut scene = Scene::with(|root, _| std::fs::write(root.join("file"), "old").unwrap());
    scene.write(".file.tmp", "newer");
    scene.rename(".file.tmp", "file");
    scene.fence().await;
    assert_eq!(scene.told(), ["Create .file.tmp", "Rename file from .file.tmp"]);
    assert_eq!(scene.events[1].look.size, Some(5));
}

/// Reads until this is told. Before it only writes may be: one is told in parts if it takes long.
async fn expect(watcher: &Watcher, cursor: &mut u64, expected: &str) {
    loop {
        tokio::time::timeout(LONG, watcher.past(*cursor)).await.expect("an event");
        let Batch { events, cursor: after, lost, .. } = watcher.read(*cursor, 1);
        assert!(!lost);
        *cursor = after;
        let told: Vec<_> = events.iter().map(describe).collect();
        if told == [expected] {
            return;
        }
        assert!(events.iter().all(|event| event.change == Change::Write), "{told:?}");
    }
}

#[tokio::test]
async fn files_are_told_of_when_they_are_finished() {
    let mut scene = Scene::with(|root, _| std::fs::write(root.join("known"), "old").unwrap());
    scene.write(".part-1", "content");
    scene.rename(".part-1", "new");
    scene.write(".part-over-2", "content");
    scene.rename(".part-over-2", "known");
    scene.write(".part-3", "never finished");
    std::fs::remove_file(scene.path(".part-3")).unwrap();
    scene.fence().await;
    let told: Vec<_> = scene.events.iter().filter(|event| !is_fence(event)).map(describe).collect();
    assert_eq!(told, ["Create new", "Write known"]);
}

#[tokio::test]
async fn watching_one_file_survives_its_replacement_and_its_absence() {
    let home = tempfile::tempdir().unwrap();
    let (file, other) = (home.path().join("file"), home.path().join("other"));
    std::fs::write(&file, "old").unwrap();
    let mut settings = settings(&file);
    // A file that is named is watched whatever its name.
    settings.exclude = vec!["file".into()];
    let watcher = Watcher::start(&settings).unwrap();
    let mut cursor = 0;

    std::fs::write(&other, "beside").unwrap();
    std::fs::write(&file, "written").unwrap();
    expect(&watcher, &mut cursor, "Write file").await;
    std::fs::rename(&other, &file).unwrap();
    expect(&watcher, &mut cursor, "Write file").await;
    std::fs::write(&file, "after it was replaced").unwrap();
    expect(&watcher, &mut cursor, "Write file").await;
    std::fs::rename(&file, &other).unwrap();
    expect(&watcher, &mut cursor, "Remove file").await;
    std::fs::rename(&other, &file).unwrap();
    expect(&watcher, &mut cursor, "Create file").await;
    std::fs::remove_file(&file).unwrap();
    expect(&watcher, &mut cursor, "Remove file").await;
    std::fs::write(&file, "again").unwrap();
    expect(&watcher, &mut cursor, "Create file").await;
    assert_eq!(watcher.read(cursor - 1, 1).events[0].path, file);
}

#[tokio::test]
async fn a_link_to_a_file_is_followed_and_shown_as_itself() {
    let home = tempfile::tempdir().unwrap();
    let (file, link) = (home.path().join("real"), home.path().join("link"));
    std::fs::write(&file, "old").unwrap();
    symlink(&file, &link).unwrap();
    let watcher = Watcher::start(&settings(&link)).unwrap();
    std::fs::write(&file, "written").unwrap();
    expect(&watcher, &mut 0, "Write link").await;
    let event = &watcher.read(0, 1).events[0];
    assert_eq!((event.path.as_path(), event.look.size), (link.as_path(), Some(7)));
}
