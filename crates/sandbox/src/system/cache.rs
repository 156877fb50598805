//! Keeps the last answer to one costly question. An answer is good while the directories it was read from are
//! unchanged, and for a minute at most; callers that ask while it is being found wait for it and share it, failures
//! included, so that a hanging program costs its deadline once and not once per caller.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::Mutex;

/// For changes that no directory shows: a file rewritten in place, a mount.
const LONGEST: Duration = Duration::from_mins(1);
/// A directory's time moves in kernel ticks: two changes within one tick cannot be told apart.
const TICK: Duration = Duration::from_millis(20);

/// What was found, and where one would see that it no longer holds.
#[derive(Debug)]
pub(crate) struct Found<T> {
    pub(crate) value: T,
    /// Directories, existing or not, whose change makes the value stale.
    pub(crate) directories: Vec<PathBuf>,
}

/// The last answer to one question.
#[derive(Debug)]
pub(crate) struct Cache<T, E> {
    last: Mutex<Option<Entry<T, E>>>,
}

#[derive(Debug)]
struct Entry<T, E> {
    answer: Result<Arc<T>, E>,
    finished: Instant,
    stamps: Vec<(PathBuf, Stamp)>,
}

/// When a directory last changed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stamp {
    Missing,
    At(SystemTime),
    /// It changed while it was being read, or so shortly before that a change after would not show.
    Unsettled,
}

impl<T, E> Default for Cache<T, E> {
    fn default() -> Self {
        Self { last: Mutex::new(None) }
    }
}

impl<T: Send + Sync, E: Clone + Send> Cache<T, E> {
    /// The answer, found anew if need be.
    pub(crate) async fn get<F>(&self, find: impl FnOnce() -> F + Send) -> Result<Arc<T>, E>
    where
        F: Future<Output = Result<Found<T>, E>> + Send,
    {
        let asked = Instant::now();
        let mut last = self.last.lock().await;
        if let Some(entry) = last.as_mut() {
            // Finished while this caller waited for the lock: it is the answer to this question too.
            if entry.finished >= asked || entry.is_good().await {
                return entry.answer.clone();
            }
        }
        let started = SystemTime::now();
        let (answer, directories) = match find().await {
            Ok(found) => (Ok(Arc::new(found.value)), found.directories),
            Err(error) => (Err(error), Vec::new()),
        };
        let stamps = stamps(directories, Some(started)).await;
        let entry = last.insert(Entry { answer, finished: Instant::now(), stamps });
        entry.answer.clone()
    }
}

impl<T, E> Entry<T, E> {
    async fn is_good(&self) -> bool {
        if self.answer.is_err() || self.finished.elapsed() >= LONGEST {
            return false;
        }
        let directories = self.stamps.iter().map(|(path, _)| path.clone()).collect();
        let settled = |(_, stamp): &(PathBuf, Stamp)| *stamp != Stamp::Unsettled;
        self.stamps.iter().all(settled) && stamps(directories, None).await == self.stamps
    }
}

async fn stamps(directories: Vec<PathBuf>, since: Option<SystemTime>) -> Vec<(PathBuf, Stamp)> {
    let unsettled_from = since.and_then(|since| since.checked_sub(TICK));
    let look = move || {
        let stamp = |path: &PathBuf| match std::fs::metadata(path).and_then(|meta| meta.modified())
        {
            Err(_) => Stamp::Missing,
            Ok(time) if unsettled_from.is_some_and(|from| time >= from) => Stamp::Unsettled,
            Ok(time) => Stamp::At(time),
        };
        directories
            .into_iter()
            .map(|path| {
                let stamp = stamp(&path);
                (path, stamp)
            })
            .collect()
    };
    // A look that panicked leaves no stamps: the answer then lives for its minute.
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Notify;

    use super::*;

    type TestCache = Cache<u32, String>;

    #[derive(Default)]
    struct Finder {
        runs: AtomicU32,
        directories: Vec<PathBuf>,
    }

    impl Finder {
        async fn ask(&self, cache: &TestCache) -> u32 {
            let find = || async {
                Ok(Found {
                    value: self.runs.fetch_add(1, Ordering::SeqCst),
                    directories: self.directories.clone(),
                })
            };
            *cache.get(find).await.unwrap()
        }
    }

    /// A directory last changed long ago.
    fn settled_directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let past = SystemTime::now() - Duration::from_secs(100);
        let handle = std::fs::File::open(directory.path()).unwrap();
        handle.set_modified(past).unwrap();
        directory
    }

    #[tokio::test]
    async fn an_answer_is_kept_until_its_directory_changes() {
        let directory = settled_directory();
        let finder = Finder { directories: vec![directory.path().to_owned()], ..Finder::default() };
        let cache = TestCache::default();
        assert_eq!(finder.ask(&cache).await, 0);
        assert_eq!(finder.ask(&cache).await, 0);
        std::fs::write(directory.path().join("new"), "").unwrap();
        assert_eq!(finder.ask(&cache).await, 1);
    }

    #[tokio::test]
    async fn a_directory_that_appears_makes_the_answer_stale() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        let finder = Finder { directories: vec![missing.clone()], ..Finder::default() };
        let cache = TestCache::default();
        assert_eq!(finder.ask(&cache).await, 0);
        assert_eq!(finder.ask(&cache).await, 0);
        std::fs::create_dir(&missing).unwrap();
        assert_eq!(finder.ask(&cache).await, 1);
    }

    #[tokio::test]
    async fn a_change_while_finding_is_not_missed() {
        let directory = settled_directory();
        let cache = TestCache::default();
        let find = || async {
            std::fs::write(directory.path().join("new"), "").unwrap();
            Ok(Found { value: 7, directories: vec![directory.path().to_owned()] })
        };
        assert_eq!(*cache.get(find).await.unwrap(), 7);
        let finder = Finder::default();
        assert_eq!(finder.ask(&cache).await, 0);
    }

    #[tokio::test]
    async fn callers_at_the_same_time_share_one_look_and_its_failure() {
        let cache = TestCache::default();
        let runs = AtomicU32::new(0);
        let gate = Notify::new();
        let ask = || {
            cache.get(|| async {
                runs.fetch_add(1, Ordering::SeqCst);
                gate.notified().await;
                Err("broken".to_owned())
            })
        };
        let all = futures::future::join_all((0..10).map(|_| ask()));
        let open = async {
            while runs.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
            gate.notify_one();
        };
        let (answers, ()) = tokio::join!(all, open);
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert!(answers.iter().all(|answer| *answer == Err("broken".to_owned())));

        // Only those who waited share it: the next caller tries again.
        assert_eq!(Finder::default().ask(&cache).await, 0);
    }
}
