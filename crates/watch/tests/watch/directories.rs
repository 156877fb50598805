//! Directories that come and go, what is left out, and what is lost.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use atoll_watch::{Change, Error, PatternList, Watcher};

use crate::support::{LONG, Scene, count, has, settings};

#[tokio::test]
async fn nothing_made_in_new_directories_is_missed_or_told_twice() {
    let mut scene = Scene::with(|_, settings| settings.debounce = Duration::from_millis(50));
    let mut expected = BTreeMap::new();
    for number in 0..300 {
        let base = format!("a{number}");
        scene.make(&format!("{base}/b/c"));
        for file in ["x", "b/y", "b/c/z"] {
            scene.write(&format!("{base}/{file}"), "text");
        }
        for path in ["", "/b", "/b/c", "/x", "/b/y", "/b/c/z"] {
            expected.insert(format!("{base}{path}"), 1_usize);
        }
    }
    let total = expected.len();
    scene
        .until("every creation", |events| {
            events.iter().filter(|event| event.change == Change::Create).count() >= total
        })
        .await;
    scene.fence().await;
    assert_eq!(scene.creations(), expected);
    assert_eq!(scene.losses, 0);
    assert_eq!(scene.watcher.progress().directories, 901);
    // They are all watched from now on.
    scene.write("a299/b/c/later", "text");
    scene.until("a later file", |events| has(events, Change::Create, "a299/b/c/later")).await;
}

#[tokio::test]
async fn twenty_thousand_files_made_in_bursts_are_each_told_once() {
    const FILES: usize = 20_000;
    // Two notices each; the kernel keeps 16,384 for a reader that gets no processor for a while.
    const BURST: usize = 4_000;
    let mut scene = Scene::with(|_, settings| settings.debounce = Duration::from_millis(50));
    for number in 0..FILES {
        std::fs::File::create(scene.path(&format!("f{number}"))).unwrap();
        if (number + 1) % BURST == 0 {
            scene.until("the burst", |events| events.len() > number).await;
        }
    }
    scene.fence().await;
    let creations = scene.creations();
    assert_eq!((creations.len(), scene.losses), (FILES, 0));
    assert!(creations.values().all(|times| *times == 1));
}

#[tokio::test]
async fn an_excluded_directory_is_not_watched_and_only_what_is_asked_for_is_told() {
    let mut scene = Scene::with(|root, settings| {
        std::fs::create_dir_all(root.join("node_modules/deep/deeper")).unwrap();
        std::fs::create_dir_all(root.join("src")).unwrap();
        settings.exclude = vec!["node_modules".into(), "*.pyc".into(), "src/out".into()];
        settings.include = vec!["*.py".into(), "*.pyc".into(), "fence-*".into()];
    });
    assert_eq!(scene.watcher.progress().directories, 2);
    scene.write("node_modules/a.py", "");
    scene.write("src/a.pyc", "");
    scene.write("src/a.txt", "");
    scene.write("src/a.py", "");
    scene.make("src/out");
    scene.write("src/out/b.py", "");
    scene.make("src/node_modules/x");
    scene.make("src/in");
    scene.write("src/in/b.py", "");
    scene.until("the last file", |events| has(events, Change::Create, "src/in/b.py")).await;
    scene.fence().await;
    assert_eq!(scene.told(), ["Create src/a.py", "Create src/in/b.py"]);
    assert_eq!(scene.watcher.progress().directories, 3);
}

#[tokio::test]
async fn without_recursion_only_the_directory_itself_is_watched() {
    let mut scene = Scene::with(|root, settings| {
        std::fs::create_dir(root.join("old")).unwrap();
        settings.recursive = false;
    });
    scene.make("new/below");
    scene.write("old/file", "");
    scene.write("file", "");
    scene.fence().await;
    assert_eq!(scene.told(), ["Create new/", "Create file"]);
    assert_eq!(scene.watcher.progress().directories, 1);
}

#[tokio::test]
async fn links_inside_are_not_followed_and_a_link_that_is_watched_is() {
    let home = tempfile::tempdir().unwrap();
    let (real, link) = (home.path().join("real"), home.path().join("link"));
    std::fs::create_dir_all(real.join("sub")).unwrap();
    std::fs::create_dir(home.path().join("elsewhere")).unwrap();
    symlink(home.path().join("elsewhere"), real.join("away")).unwrap();
    symlink(&real, &link).unwrap();
    let watcher = Watcher::start(&settings(&link)).unwrap();
    assert_eq!(watcher.progress().directories, 2);
    std::fs::write(home.path().join("elsewhere/hidden"), "").unwrap();
    std::fs::write(real.join("sub/seen"), "12345").unwrap();
    watcher.past(0).await;
    let batch = watcher.read(0, 10);
    let [event] = batch.events.as_slice() else { panic!("{batch:?}") };
    assert_eq!(event.path, link.join("sub/seen"));
    assert_eq!(event.look.size, Some(5));
}

#[tokio::test]
async fn the_end_of_the_watched_directory_is_told_and_its_return_too() {
    let mut scene = Scene::new();
    scene.write("file", "");
    // Whoever still uses the directory must not keep its end from being told.
    let in_use = std::fs::File::open(scene.path("")).unwrap();
    std::fs::remove_dir_all(scene.path("")).unwrap();
    scene.until("the end", |events| has(events, Change::Remove, ".")).await;
    assert!(has(&scene.events, Change::Remove, "file"));
    assert_eq!(scene.watcher.progress().directories, 0);
    drop(in_use);

    scene.make("again");
    scene.write("again/file", "");
    scene.until("the return", |events| has(events, Change::Create, "again/file")).await;
    assert!(has(&scene.events, Change::Create, "."));

    std::fs::rename(scene.path(""), scene.beside("moved")).unwrap();
    scene.until("the move", |events| count(events, Change::Remove, ".") == 2).await;
    std::fs::write(scene.beside("moved/unseen"), "").unwrap();
    std::fs::create_dir(scene.path("")).unwrap();
    scene.fence().await;
    assert!(!has(&scene.events, Change::Create, "unseen"));
}

#[tokio::test]
async fn the_watched_directory_goes_with_the_one_it_lies_in() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("above/root");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    let watcher = Watcher::start(&settings(&root)).unwrap();
    std::fs::rename(home.path().join("above"), home.path().join("elsewhere")).unwrap();
    tokio::time::timeout(LONG, watcher.past(0)).await.unwrap();
    let told = watcher.read(0, 10);
    assert_eq!((told.events[0].change, &told.events[0].path), (Change::Remove, &root));
    assert_eq!(watcher.progress().directories, 0);
}

#[tokio::test]
async fn a_reader_that_falls_behind_is_told_once_and_goes_on() {
    let mut scene = Scene::with(|_, settings| settings.kept = 4);
    for number in 0..10 {
        scene.make(&format!("d{number}"));
    }
    while scene.watcher.progress().latest < 10 {
        let latest = scene.watcher.progress().latest;
        tokio::time::timeout(LONG, scene.watcher.past(latest)).await.unwrap();
    }
    scene.read();
    assert_eq!((scene.losses, scene.watcher.progress().kept), (1, 4));
    assert_eq!(scene.told(), ["Create d6/", "Create d7/", "Create d8/", "Create d9/"]);
    scene.fence().await;
    assert_eq!(scene.losses, 1);
}

#[tokio::test]
async fn events_say_what_the_file_is_like() {
    let mut scene = Scene::new();
    scene.write("file", "12345");
    std::fs::set_permissions(scene.path(""), std::fs::Permissions::from_mode(0o750)).unwrap();
    scene.fence().await;
    assert_eq!(scene.told(), ["Create file", "Chmod ./"]);
    std::fs::set_permissions(scene.path("file"), std::fs::Permissions::from_mode(0o600)).unwrap();
    scene.fence().await;
    std::fs::remove_file(scene.path("file")).unwrap();
    scene.fence().await;
    assert_eq!(scene.told(), ["Create file", "Chmod ./", "Chmod file", "Remove file"]);
    let find = |change| scene.events.iter().find(|event| event.change == change).unwrap();
    let (created, removed) = (find(Change::Create), find(Change::Remove));
    assert_eq!(created.look.size, Some(5));
    assert!(created.look.inode.is_some() && created.look.mtime.is_some_and(|time| time > 1e9));
    assert!(created.timestamp > 1e9 && created.timestamp <= removed.timestamp);
    assert_eq!(removed.look, atoll_watch::Look::default());
}

#[tokio::test]
async fn any_name_is_told() {
    let mut scene = Scene::new();
    let name = OsStr::from_bytes(b"caf\xe9 \n*");
    std::fs::create_dir(scene.path("").join(name)).unwrap();
    std::fs::write(scene.path("").join(name).join("日本"), "").unwrap();
    let wanted = std::path::Path::new(name).join("日本");
    scene.until("the file", |events| events.iter().any(|event| event.relative == wanted)).await;
}

#[test]
fn what_cannot_be_watched_is_refused_with_the_reason() {
    let home = tempfile::tempdir().unwrap();
    let missing = Watcher::start(&settings(&home.path().join("missing"))).unwrap_err();
    assert!(matches!(missing, Error::Missing { .. }), "{missing}");
    std::fs::write(home.path().join("file"), "").unwrap();
    let below = Watcher::start(&settings(&home.path().join("file/x"))).unwrap_err();
    assert!(matches!(below, Error::Path { .. }), "{below}");
    let mut bad = settings(home.path());
    bad.include = vec!["{a".into()];
    let error = Watcher::start(&bad).unwrap_err();
    assert!(matches!(error, Error::Pattern { list: PatternList::Include, .. }), "{error}");
    // The superuser may read everything.
    if !rustix::process::geteuid().is_root() {
        let closed = home.path().join("closed");
        std::fs::create_dir(&closed).unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o300)).unwrap();
        let denied = Watcher::start(&settings(&closed)).unwrap_err();
        assert!(matches!(denied, Error::Denied { .. }), "{denied}");
    }
}
