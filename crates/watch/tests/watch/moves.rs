//! Things that move: inside, in, out, and over each other.

use std::fs::File;

use atoll_watch::Change;
use rustix::fs::{RenameFlags, renameat_with};

use crate::support::{Scene, count, has};

#[tokio::test]
async fn a_move_inside_is_one_event_and_what_lies_in_a_moved_directory_stays_watched() {
    let mut scene = Scene::with(|root, _| {
        std::fs::create_dir_all(root.join("a/sub")).unwrap();
        std::fs::create_dir(root.join("b")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
    });
    scene.rename("file", "b/other");
    scene.rename("a", "b/c");
    scene.write("b/c/sub/new", "");
    scene.until("the new file", |events| has(events, Change::Create, "b/c/sub/new")).await;
    scene.fence().await;
    assert_eq!(
        scene.told(),
        ["Rename b/other from file", "Rename b/c/ from a", "Create b/c/sub/new"]
    );
    let renamed = &scene.events[0];
    assert_eq!(renamed.old_path.as_deref(), Some(scene.path("file").as_path()));
    assert_eq!(renamed.path, scene.path("b/other"));
    assert_eq!(scene.watcher.progress().directories, 4);
}

#[tokio::test]
async fn what_moves_in_is_told_with_its_content_and_what_moves_out_is_not_followed() {
    let mut scene = Scene::with(|root, _| {
        std::fs::create_dir_all(root.join("leaving/sub")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
    });
    let outside = scene.beside("outside/sub");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("deep"), "").unwrap();
    std::fs::write(scene.beside("loose"), "").unwrap();

    std::fs::rename(scene.path("leaving"), scene.beside("left")).unwrap();
    std::fs::rename(scene.path("file"), scene.beside("file")).unwrap();
    std::fs::write(scene.beside("left/sub/unseen"), "").unwrap();
    std::fs::rename(scene.beside("loose"), scene.path("loose")).unwrap();
    std::fs::rename(scene.beside("outside"), scene.path("inside")).unwrap();
    scene.until("the content", |events| has(events, Change::Create, "inside/sub/deep")).await;
    scene.fence().await;
    assert_eq!(
        scene.told(),
        [
            "Remove leaving/",
            "Remove file",
            "Create loose",
            "Create inside/",
            "Create inside/sub/",
            "Create inside/sub/deep"
        ]
    );
    assert_eq!(scene.watcher.progress().directories, 3);
    scene.write("inside/sub/more", "");
    scene.until("a later file", |events| has(events, Change::Create, "inside/sub/more")).await;
}

#[tokio::test]
async fn a_side_that_is_left_out_is_out_of_sight() {
    let mut scene = Scene::with(|root, settings| {
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        std::fs::create_dir_all(root.join("hidden.d/deep")).unwrap();
        std::fs::write(root.join("hidden.d/deep/file"), "").unwrap();
        settings.exclude = vec!["hidden.d".into(), "*.swp".into(), "top/skip/**".into()];
    });
    scene.write("a.swp", "text");
    scene.rename("a.swp", "a");
    scene.rename("a", "b.swp");
    scene.rename("src", "src-old");
    std::fs::rename(scene.path("hidden.d"), scene.path("shown.d")).unwrap();
    scene.rename("src-old", "hidden.d");
    scene.write("hidden.d/deep/unseen", "");
    scene.until("what appeared", |events| has(events, Change::Create, "shown.d/deep/file")).await;
    scene.fence().await;
    let mut told = scene.told();
    told.sort();
    assert_eq!(
        told,
        [
            "Create a",
            "Create shown.d/",
            "Create shown.d/deep/",
            "Create shown.d/deep/file",
            "Remove a",
            "Remove src-old/",
            "Rename src-old/ from src",
        ]
    );

    // A pattern with a place in it applies to whatever comes to lie there.
    scene.make("other/skip/x");
    scene.until("the directory", |events| has(events, Change::Create, "other/skip/x")).await;
    scene.rename("other", "top");
    scene.write("top/skip/x/unseen", "");
    scene.fence().await;
    assert!(!has(&scene.events, Change::Create, "top/skip/x/unseen"));
    scene.rename("top", "back");
    scene
        .until("what shows again", |events| has(events, Change::Create, "back/skip/x/unseen"))
        .await;
    assert!(has(&scene.events, Change::Create, "back/skip"));
}

#[tokio::test]
async fn directories_that_change_places_are_told_apart_afterwards() {
    let mut scene = Scene::with(|root, _| {
        for name in ["a/in-a", "b/in-b"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
    });
    let root = File::open(scene.path("")).unwrap();
    renameat_with(&root, "a", &root, "b", RenameFlags::EXCHANGE).unwrap();
    scene.write("b/in-a/x", "");
    scene.write("a/in-b/y", "");
    scene.until("the files", |events| events.len() >= 4).await;
    scene.fence().await;
    assert_eq!(
        scene.told(),
        ["Rename b/ from a", "Rename a/ from b", "Create b/in-a/x", "Create a/in-b/y"]
    );
    assert_eq!(scene.watcher.progress().directories, 5);
}

#[tokio::test]
async fn a_directory_moved_over_another_takes_its_place() {
    let mut scene = Scene::with(|root, _| {
        std::fs::create_dir_all(root.join("full/sub")).unwrap();
        std::fs::create_dir(root.join("empty")).unwrap();
    });
    // Somebody in the directory that goes keeps the kernel from forgetting it.
    let in_use = File::open(scene.path("empty")).unwrap();
    scene.rename("full", "empty");
    scene.write("empty/sub/file", "");
    scene.until("the file", |events| has(events, Change::Create, "empty/sub/file")).await;
    scene.fence().await;
    assert_eq!(scene.told(), ["Rename empty/ from full", "Create empty/sub/file"]);
    assert_eq!(scene.watcher.progress().directories, 3);
    drop(in_use);
}

#[tokio::test]
async fn directories_moved_right_after_they_were_made_are_watched_where_they_are() {
    let mut scene = Scene::new();
    for number in 0..200 {
        scene.make(&format!("p{number}/d"));
        scene.rename(&format!("p{number}"), &format!("q{number}"));
        scene.rename(&format!("q{number}/d"), &format!("q{number}/e"));
    }
    // It may be found where it is before the notice of its move is read.
    scene
        .until("the last move", |events| {
            has(events, Change::Rename, "q199/e") || has(events, Change::Create, "q199/e")
        })
        .await;
    scene.fence().await;
    for number in 0..200 {
        scene.write(&format!("q{number}/e/file"), "");
    }
    scene
        .until("every file", |events| {
            (0..200).all(|number| has(events, Change::Create, &format!("q{number}/e/file")))
        })
        .await;
    scene.fence().await;
    for number in 0..200 {
        assert_eq!(count(&scene.events, Change::Create, &format!("q{number}/e/file")), 1);
    }
    assert_eq!(scene.watcher.progress().directories, 401);
}
