//! The watched directory: its skills are registered at the start, and come and go with their files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use atoll_watch::{Settings, Unfinished, Watcher};

use super::discover::{SKIPPED, discover};
use super::service::{Skills, blocking};

/// Time within which changes of one file count once.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// Changes kept; that there were any is all that matters.
const KEPT: usize = 64;
/// How our own unfinished files begin.
const HIDDEN: &str = ".atoll";

impl Skills {
    /// Follows the directory until the server stops.
    pub(super) async fn watch(&self, root: PathBuf) {
        let stop = self.programs.foundation().stop.clone();
        let begun = blocking({
            let root = root.clone();
            move || {
                std::fs::create_dir_all(&root).map_err(|error| error.to_string())?;
                let root = std::fs::canonicalize(root).map_err(|error| error.to_string())?;
                let watcher = Watcher::start(&settings(&root)).map_err(|error| error.to_string());
                Ok::<_, String>((root, watcher))
            }
        });
        let (root, watcher) = match begun.await {
            Ok(Ok(begun)) => begun,
            Ok(Err(error)) => {
                tracing::error!(path = %root.display(), %error, "no skills are found there");
                return;
            }
            Err(_) => return,
        };
        let mut told = self.scan(&root, Vec::new()).await;
        let watcher = match watcher {
            Ok(watcher) => watcher,
            Err(error) => {
                let path = root.display();
                tracing::error!(%path, %error, "skills that come and go there are not noticed");
                return;
            }
        };
        let mut cursor = 0;
        while stop.run_until_cancelled(watcher.past(cursor)).await.is_some() {
            cursor = watcher.progress().latest;
            told = self.scan(&root, told).await;
        }
        watcher.stop().await;
    }

    /// Looks through the directory. What is wrong is logged once, as long as it stays so.
    async fn scan(&self, root: &Path, told: Vec<String>) -> Vec<String> {
        let _turn = self.changing.lock().await;
        let (place, most_bytes) = (root.to_owned(), self.limits.skill_file_bytes);
        let found = blocking(move || discover(&place, most_bytes)).await;
        let mut problems: Vec<String> = Vec::new();
        let found = match found {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                problems.push(format!("{}: {error}", root.display()));
                super::discover::Discovery::default()
            }
            Err(error) => {
                tracing::error!(%error, "skills could not be looked for");
                return told;
            }
        };
        problems.extend(self.take_over(root, &found.skills));
        let mistake = |mistake: &super::discover::Mistake| {
            format!("{}: {}", mistake.path.display(), mistake.problem)
        };
        problems.extend(found.mistakes.iter().map(mistake));
        for problem in problems.iter().filter(|problem| !told.contains(problem)) {
            tracing::warn!("a skill is left out: {problem}");
        }
        problems
    }
}

fn settings(root: &Path) -> Settings {
    let hidden = [".git".to_owned(), ".venv".to_owned()];
    Settings {
        path: root.to_owned(),
        recursive: true,
        exclude: SKIPPED.iter().map(ToString::to_string).chain(hidden).collect(),
        include: Vec::new(),
        unfinished: Unfinished { any: HIDDEN, replacing: HIDDEN },
        debounce: DEBOUNCE,
        kept: KEPT,
    }
}
