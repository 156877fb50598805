//! Waiting for one file.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atoll_watch::{Change, Error, Event, wait_for};
use tokio::task::JoinHandle;

use crate::support::LONG;

const ALL: [Change; 5] =
    [Change::Create, Change::Write, Change::Remove, Change::Rename, Change::Chmod];

/// Waits in the background, and does something again and again until it is noticed: so it does not matter when the
/// waiting begins.
async fn provoke(path: &Path, wanted: &[Change], mut act: impl FnMut()) -> Event {
    let waiting = wait(path, wanted);
    while !waiting.is_finished() {
        act();
        tokio::task::yield_now().await;
    }
    waiting.await.unwrap()
}

fn wait(path: &Path, wanted: &[Change]) -> JoinHandle<Event> {
    let (path, wanted) = (path.to_owned(), wanted.to_owned());
    tokio::spawn(async move { wait_for(&path, &wanted, LONG).await.unwrap().expect("an event") })
}

fn home() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    (home, file)
}

#[tokio::test]
async fn a_file_that_exists_counts_as_created() {
    let (_home, file) = home();
    std::fs::write(&file, "12345").unwrap();
    let event = wait_for(&file, &ALL, LONG).await.unwrap().unwrap();
    assert_eq!((event.change, event.seq, event.look.size), (Change::Create, 1, Some(5)));
    assert_eq!((event.path, event.relative), (file, PathBuf::from("file")));
}

#[tokio::test]
async fn neither_the_file_nor_its_directories_need_exist() {
    let (home, _) = home();
    for number in 0..50 {
        let file = home.path().join(format!("{number}/a/b/c/file"));
        let waiting = wait(&file, &[Change::Create]);
        if number % 2 == 0 {
            tokio::task::yield_now().await;
        }
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "text").unwrap();
        let event = waiting.await.unwrap();
        assert_eq!((event.change, event.path), (Change::Create, file));
    }
}

#[tokio::test]
async fn directories_that_come_by_moving_or_go_meanwhile_are_followed() {
    let (home, _) = home();
    let file = home.path().join("a/b/file");
    std::fs::create_dir_all(home.path().join("a/b")).unwrap();
    let waiting = wait(&file, &[Change::Create]);
    std::fs::rename(home.path().join("a"), home.path().join("elsewhere")).unwrap();
    std::fs::write(home.path().join("elsewhere/b/file"), "").unwrap();
    std::fs::create_dir(home.path().join("a")).unwrap();
    std::fs::rename(home.path().join("elsewhere/b"), home.path().join("a/b")).unwrap();
    let event = waiting.await.unwrap();
    assert_eq!((event.change, event.path), (Change::Create, file.clone()));

    let event = provoke(&file, &[Change::Remove], || {
        let (a, b) = (home.path().join("a"), home.path().join("b"));
        if std::fs::rename(&a, &b).is_err() {
            std::fs::rename(&b, &a).unwrap();
        }
    })
    .await;
    assert_eq!(event.change, Change::Remove);
}

#[tokio::test]
async fn content_is_waited_for_until_it_is_complete() {
    let (_home, file) = home();
    std::fs::write(&file, "").unwrap();
    let event = provoke(&file, &[Change::Write], || {
        let mut file = OpenOptions::new().append(true).open(&file).unwrap();
        file.write_all(b"x").unwrap();
    })
    .await;
    assert_eq!(event.change, Change::Write);
    assert!(event.look.size.is_some_and(|size| size > 0));

    // A writer that never closes the file is noticed too.
    let mut open = OpenOptions::new().append(true).open(&file).unwrap();
    let event = provoke(&file, &[Change::Write], || open.write_all(b"x").unwrap()).await;
    assert_eq!(event.change, Change::Write);
}

#[tokio::test]
async fn a_file_put_in_place_of_another_is_new_content() {
    let (home, file) = home();
    let other = home.path().join("other");
    std::fs::write(&file, "").unwrap();
    for (wanted, old) in [(Change::Write, None), (Change::Rename, Some(other.clone()))] {
        let event = provoke(&file, &[wanted], || {
            std::fs::write(&other, "text").unwrap();
            std::fs::rename(&other, &file).unwrap();
        })
        .await;
        assert_eq!((event.change, &event.path, event.old_path), (wanted, &file, old));
        assert_eq!(event.look.size, Some(4));
    }
}

#[tokio::test]
async fn modes_removals_and_moves_are_waited_for() {
    let (home, file) = home();
    std::fs::write(&file, "").unwrap();
    let mut mode = 0o600;
    let event = provoke(&file, &[Change::Chmod], || {
        mode ^= 0o100;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    })
    .await;
    assert_eq!(event.change, Change::Chmod);

    let beside = home.path().join("beside");
    let event = provoke(&file, &[Change::Rename, Change::Remove], || {
        std::fs::write(&file, "text").unwrap();
        std::fs::rename(&file, &beside).unwrap();
    })
    .await;
    assert_eq!(event.change, Change::Rename);
    assert_eq!((event.path, event.old_path), (beside, Some(file.clone())));

    let event = provoke(&file, &[Change::Rename, Change::Remove], || {
        let away = home.path().join("away");
        std::fs::create_dir_all(&away).unwrap();
        std::fs::write(&file, "text").unwrap();
        std::fs::rename(&file, away.join("file")).unwrap();
    })
    .await;
    assert_eq!((event.change, event.path), (Change::Remove, file.clone()));

    let event = provoke(&file, &[Change::Remove], || {
        std::fs::write(&file, "").unwrap();
        std::fs::remove_file(&file).unwrap();
    })
    .await;
    assert_eq!((event.change, event.look.inode), (Change::Remove, None));
}

#[tokio::test]
async fn a_wait_ends_with_its_time_and_a_path_that_names_no_file_is_refused() {
    let (_home, file) = home();
    let none = wait_for(&file, &ALL, Duration::from_millis(50)).await.unwrap();
    assert!(none.is_none());
    for path in ["/", "/a/..", "/a\0b"] {
        let error = wait_for(Path::new(path), &ALL, LONG).await.unwrap_err();
        assert!(matches!(error, Error::Path { .. }), "{path}: {error}");
    }
}
