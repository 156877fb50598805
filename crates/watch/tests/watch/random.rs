//! Whatever happens, in whatever order: who follows the events knows in the end what is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atoll_watch::{Change, Event};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::{Scene, has};

const STEPS: usize = 3000;
const WITHOUT_EXCHANGES: usize = 11;
const WITH_EXCHANGES: usize = 13;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides as u64).unwrap()
    }
}

/// A few names at a few depths, so that things meet.
fn place(dice: &mut Dice, root: &Path) -> PathBuf {
    let depth = 1 + dice.roll(4);
    let names = (0..depth).map(|_| ["a", "b", "c"][dice.roll(3)]);
    names.fold(root.to_owned(), |path, name| path.join(name))
}

/// Does something; what cannot be done is not.
fn act(dice: &mut Dice, sides: usize, root: &Path, outside: &Path) {
    let (one, two) = (place(dice, root), place(dice, root));
    let away = place(dice, outside);
    let _may_fail = match dice.roll(sides) {
        0..=2 => std::fs::create_dir_all(&one),
        3..=5 => std::fs::write(&one, "text"),
        6 => std::fs::remove_file(&one),
        7 => std::fs::remove_dir_all(&one),
        8 | 9 => std::fs::rename(&one, &two),
        10 if dice.roll(2) == 0 => std::fs::rename(&one, &away),
        10 => std::fs::rename(&away, &one),
        _ => renameat_with(CWD, &one, CWD, &two, RenameFlags::EXCHANGE).map_err(Into::into),
    };
}

/// What a reader believes is there.
fn replay(events: &[Event]) -> BTreeSet<PathBuf> {
    let mut there = BTreeSet::new();
    for event in events {
        match event.change {
            Change::Create | Change::Write | Change::Chmod => {
                there.insert(event.path.clone());
            }
            Change::Remove => there.retain(|path: &PathBuf| !path.starts_with(&event.path)),
            Change::Rename => {
                let old = event.old_path.clone().unwrap();
                let (moved, mut left): (BTreeSet<_>, BTreeSet<_>) =
                    there.into_iter().partition(|path| path.starts_with(&old));
                left.retain(|path| !path.starts_with(&event.path));
                left.insert(event.path.clone());
                left.extend(moved.iter().map(|path| {
                    let below = path.strip_prefix(&old).unwrap();
                    event.path.join(below).components().collect::<PathBuf>()
                }));
                there = left;
            }
        }
    }
    there
}

fn find(directory: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        found.insert(entry.path());
        if entry.file_type().unwrap().is_dir() {
            find(&entry.path(), found);
        }
    }
}

/// Lets things happen, and leaves when a file in every directory that is left has been told of: each is watched.
async fn happen(seed: u64, sides: usize) -> (Scene, BTreeSet<PathBuf>) {
    let mut dice = Dice(seed);
    let mut scene = Scene::with(|_, settings| settings.debounce = Duration::from_millis(50));
    let outside = scene.beside("outside");
    std::fs::create_dir(&outside).unwrap();
    for _ in 0..STEPS {
        act(&mut dice, sides, &scene.path(""), &outside);
    }
    scene.fence().await;
    let mut there = BTreeSet::new();
    find(&scene.path(""), &mut there);
    let directories: Vec<_> = there.iter().filter(|path| path.is_dir()).cloned().collect();
    let mut last = Vec::new();
    for directory in &directories {
        let file = directory.join("last");
        std::fs::write(&file, "").unwrap();
        last.push(file.strip_prefix(scene.path("")).unwrap().display().to_string());
        there.insert(file);
    }
    scene
        .until(&format!("each of {last:?} (seed {seed})"), |events| {
            last.iter().all(|path| has(events, Change::Create, path))
        })
        .await;
    scene.fence().await;
    find(&scene.path(""), &mut there);
    assert_eq!(scene.losses, 0);
    let watched = scene.watcher.progress().directories;
    assert_eq!(watched, directories.len() as u64 + 1, "seed {seed}");
    (scene, there)
}

#[tokio::test]
async fn who_follows_the_events_knows_what_is_there() {
    for seed in 0..8 {
        let (scene, there) = happen(seed, WITHOUT_EXCHANGES).await;
        let believed = replay(&scene.events);
        let missed: Vec<_> = there.difference(&believed).collect();
        let imagined: Vec<_> = believed.difference(&there).collect();
        assert!(missed.is_empty() && imagined.is_empty(), "seed {seed}: {missed:?} {imagined:?}");
    }
}

#[tokio::test]
async fn directories_that_change_places_again_and_again_stay_watched() {
    for seed in 100..108 {
        happen(seed, WITH_EXCHANGES).await;
    }
}
