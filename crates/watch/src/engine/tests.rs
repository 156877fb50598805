//! An engine driven by hand: what no test could force while a thread keeps up.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::stop::{StopOnDrop, StopSignal};
use crate::watcher::Unfinished;

const UNFINISHED: Unfinished = Unfinished { any: ".part-", replacing: ".part-over-" };

struct Stage {
    home: TempDir,
    engine: Engine,
    signal: StopSignal,
    _stop: StopOnDrop,
}

impl Stage {
    fn new(prepare: impl FnOnce(&Path)) -> Self {
        let home = tempfile::tempdir().unwrap();
        prepare(home.path());
        let (stop, signal) = StopOnDrop::new().unwrap();
        let place = Place::find(home.path()).unwrap();
        let filter = Filter::new(home.path(), &[], &[], UNFINISHED).unwrap();
        let shared =
            Arc::new(Shared { log: Log::new(100_000), place, directories: AtomicU64::new(0) });
        let kernel = Inotify::new().unwrap();
        let engine =
            Engine::start(shared, kernel, filter, true, Duration::from_millis(300)).unwrap();
        Self { home, engine, signal, _stop: stop }
    }

    fn path(&self, relative: &str) -> std::path::PathBuf {
        self.home.path().join(relative)
    }

    /// Lets the engine work until what a reader got is enough.
    fn run_until(&mut self, reader: &mut Reader, enough: impl Fn(&Reader) -> bool) {
        let deadline = Instant::now() + Duration::from_mins(1);
        let mut buffer = vec![MaybeUninit::uninit(); 64 << 10];
        loop {
            reader.read(&self.engine);
            if enough(reader) {
                return;
            }
            assert!(Instant::now() < deadline, "never happened: {reader:?}");
            let until = match self.engine.wake() {
                Wake::Now => Instant::now(),
                Wake::At(due) => due.min(deadline),
                Wake::WhenNoticed => deadline,
            };
            self.signal.wait(self.engine.kernel(), Some(until)).unwrap();
            self.engine.turn(&mut buffer).unwrap();
        }
    }
}

#[derive(Debug, Default)]
struct Reader {
    cursor: u64,
    told: Vec<String>,
    losses: usize,
}

impl Reader {
    fn read(&mut self, engine: &Engine) {
        loop {
            let reading = engine.shared.log.read(self.cursor, 1000);
            self.cursor = reading.cursor;
            self.losses += usize::from(reading.lost);
            let told = reading
                .records
                .iter()
                .map(|(_, record)| format!("{:?} {}", record.change, record.relative.display()));
            self.told.extend(told);
            if !reading.more {
                return;
            }
        }
    }
}

#[test]
fn a_file_written_to_before_its_new_directory_is_looked_through_is_told_as_created_once() {
    let mut stage = Stage::new(|_| ());
    let files = ["a/file", "b/file", "c/file"];
    for name in files {
        let file = stage.path(name);
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }
    let mut buffer = vec![MaybeUninit::uninit(); 64 << 10];
    // All three are watched now, and one of them is looked through.
    stage.engine.turn(&mut buffer).unwrap();
    assert_eq!(stage.engine.scans.len(), 2);
    for name in files {
        std::fs::write(stage.path(name), "text").unwrap();
    }

    let mut reader = Reader::default();
    stage.run_until(&mut reader, |reader| reader.told.len() >= 6);
    reader.told.sort_unstable();
    let told = ["a", "a/file", "b", "b/file", "c", "c/file"].map(|name| format!("Create {name}"));
    assert_eq!(reader.told, told);
}

#[test]
fn what_the_kernel_dropped_is_told_as_a_loss_and_everything_is_watched_afterwards() {
    let mut stage = Stage::new(|home| {
        for name in ["kept/deep", "gone/deep", "moved"] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        for name in ["x", "y"] {
            std::fs::write(home.join(name), "").unwrap();
        }
    });
    // By turns, since the kernel counts what is the same as the notice before as one.
    for number in 0..=stage.engine.queue_length {
        let mode = std::fs::Permissions::from_mode(0o600 + u32::from(number % 4 < 2) * 0o40);
        std::fs::set_permissions(stage.path(if number % 2 == 0 { "x" } else { "y" }), mode)
            .unwrap();
    }
    // None of this is noticed.
    std::fs::create_dir_all(stage.path("new/deep")).unwrap();
    std::fs::write(stage.path("new/deep/unseen"), "").unwrap();
    std::fs::remove_dir_all(stage.path("gone")).unwrap();
    std::fs::rename(stage.path("moved"), stage.path("kept/moved")).unwrap();

    let mut reader = Reader::default();
    stage.run_until(&mut reader, |reader| reader.losses > 0);
    reader.told.clear();
    for name in ["new/deep/a", "kept/deep/b", "kept/moved/c"] {
        std::fs::write(stage.path(name), "").unwrap();
    }
    stage.run_until(&mut reader, |reader| reader.told.len() >= 3);
    assert_eq!(reader.told, ["Create new/deep/a", "Create kept/deep/b", "Create kept/moved/c"]);
    assert_eq!(reader.losses, 1);
    assert_eq!(stage.engine.tree.len(), 6);
}

#[test]
fn a_tree_moved_together_with_a_directory_above_it_is_told_as_gone() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("above/between/root");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    let mut stage = Stage::new(|_| {});
    let place = Place::find(&root).unwrap();
    let filter = Filter::new(&root, &[], &[], UNFINISHED).unwrap();
    let shared = Arc::new(Shared { log: Log::new(100), place, directories: AtomicU64::new(0) });
    let kernel = Inotify::new().unwrap();
    stage.engine = Engine::start(shared, kernel, filter, true, Duration::from_millis(300)).unwrap();
    std::fs::rename(outer.path().join("above"), outer.path().join("elsewhere")).unwrap();
    // The kernel does not tell of the move. It shows as soon as a new directory is not to be found.
    std::fs::create_dir(outer.path().join("elsewhere/between/root/new")).unwrap();
    stage.run_until(&mut Reader::default(), |reader| {
        reader.told.iter().any(|told| told == "Remove ")
    });
    assert_eq!(stage.engine.tree.len(), 0);
}
