//! Sessions by id: how many may exist, which may be ended for a new one, and what became of those that are gone.
//!
//! The rule, the same for every kind of session: a session that runs something is never ended behind its user's back.
//! When the table is full, the one that was made up by a call without an id, runs nothing and was unused the longest
//! makes room; if there is none, the call is refused. A session unused for long that runs nothing is closed.

mod excerpt;

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use atoll_operation::{Error, Kind};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

pub(crate) use excerpt::{Excerpt, excerpt, loss};

/// Ended sessions whose reason is remembered.
const REMEMBERED: usize = 1024;
/// How often unused sessions are looked for.
const SWEEP: Duration = Duration::from_secs(15);
/// Longest id a caller may choose.
const LONGEST_ID: usize = 256;

/// What a table must know of its sessions.
pub(crate) trait Session: Send + Sync + 'static {
    /// Whether it runs something, or someone watches it.
    fn busy(&self) -> bool;
    /// Ends it with everything started in it.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// A session in the table.
#[derive(Debug)]
pub(crate) struct Entry<S> {
    pub(crate) id: String,
    pub(crate) session: Arc<S>,
    pub(crate) created: Timestamp,
    /// Made up by a call that gave no id.
    made_up: bool,
    used: Mutex<(Timestamp, Instant)>,
}

impl<S> Entry<S> {
    pub(crate) fn last_used(&self) -> Timestamp {
        self.used().0
    }

    /// Time since it was last used.
    pub(crate) fn unused(&self) -> Duration {
        self.used().1.elapsed()
    }

    /// Notes that it is used now.
    pub(crate) fn touch(&self) {
        *self.used() = (Timestamp::now(), Instant::now());
    }

    fn used(&self) -> MutexGuard<'_, (Timestamp, Instant)> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names and bounds of a table.
#[derive(Debug, Clone)]
pub(crate) struct TableSettings {
    /// Codes begin with this word.
    pub(crate) area: &'static str,
    /// Variable that raises the bound.
    pub(crate) variable: &'static str,
    pub(crate) max: usize,
    pub(crate) idle: Duration,
}

/// A session that was added, and one that was ended to make room for it.
pub(crate) type Inserted<S> = (Arc<Entry<S>>, Option<Arc<Entry<S>>>);

/// The sessions of one kind.
#[derive(Debug)]
pub(crate) struct Table<S> {
    settings: TableSettings,
    inner: Mutex<Inner<S>>,
}

#[derive(Debug)]
struct Inner<S> {
    entries: HashMap<String, Arc<Entry<S>>>,
    ended: VecDeque<(String, &'static str)>,
}

impl<S: Session> Table<S> {
    pub(crate) fn new(settings: TableSettings) -> Self {
        let inner = Inner { entries: HashMap::new(), ended: VecDeque::new() };
        Self { settings, inner: Mutex::new(inner) }
    }

    pub(crate) fn settings(&self) -> &TableSettings {
        &self.settings
    }

    /// The session with this id, which counts as used now.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Entry<S>>> {
        let entry = self.lock().entries.get(id).cloned()?;
        entry.touch();
        Some(entry)
    }

    /// Why there is no session with this id.
    pub(crate) fn not_found(&self, id: &str, message: String) -> Error {
        let error = Error::new(
            Kind::NotFound,
            format!("{}.session_not_found", self.settings.area),
            message,
        );
        let reason = self
            .lock()
            .ended
            .iter()
            .rev()
            .find(|(ended, _)| ended == id)
            .map(|(_, reason)| *reason);
        match reason {
            Some(reason) => error.with_hint(format!("session {id} {reason}")),
            None => error.with_hint(format!("no session {id} was ever created; create it first")),
        }
    }

    /// Adds a session. The second part is one that was ended to make room: the caller closes it.
    pub(crate) fn insert(
        &self,
        id: String,
        made_up: bool,
        session: Arc<S>,
    ) -> Result<Inserted<S>, Error> {
        let mut inner = self.lock();
        let evicted = self.make_room(&mut inner)?;
        let now = Timestamp::now();
        let entry = Arc::new(Entry {
            id: id.clone(),
            session,
            created: now,
            made_up,
            used: Mutex::new((now, Instant::now())),
        });
        inner.entries.insert(id, Arc::clone(&entry));
        Ok((entry, evicted))
    }

    /// Whether another session could be added now.
    pub(crate) fn check_room(&self) -> Result<(), Error> {
        let inner = self.lock();
        let room = inner.entries.len() < self.settings.max || evictable(&inner).is_some();
        if room { Ok(()) } else { Err(self.exhausted()) }
    }

    /// Takes a session out.
    pub(crate) fn remove(&self, id: &str, reason: &'static str) -> Option<Arc<Entry<S>>> {
        let mut inner = self.lock();
        let entry = inner.entries.remove(id)?;
        remember(&mut inner, id.to_owned(), reason);
        Some(entry)
    }

    pub(crate) fn entries(&self) -> Vec<Arc<Entry<S>>> {
        let mut entries: Vec<_> = self.lock().entries.values().cloned().collect();
        entries.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.id.cmp(&b.id)));
        entries
    }

    /// Closes every session, together.
    pub(crate) async fn close_all(&self, reason: &'static str) {
        let ids: Vec<_> = self.entries().iter().map(|entry| entry.id.clone()).collect();
        let entries = ids.iter().filter_map(|id| self.remove(id, reason));
        futures::future::join_all(entries.map(async |entry| entry.session.close().await)).await;
    }

    /// Closes unused sessions until told to stop.
    pub(crate) async fn sweep(&self, stop: CancellationToken) {
        while stop
            .run_until_cancelled(tokio::time::sleep(SWEEP.min(self.settings.idle)))
            .await
            .is_some()
        {
            for entry in self.entries() {
                if entry.unused() >= self.settings.idle
                    && !entry.session.busy()
                    && let Some(entry) =
                        self.remove(&entry.id, "was closed after a long time unused")
                {
                    tracing::info!(
                        area = self.settings.area,
                        session = entry.id,
                        "unused session closed"
                    );
                    entry.session.close().await;
                }
            }
        }
    }

    fn make_room(&self, inner: &mut Inner<S>) -> Result<Option<Arc<Entry<S>>>, Error> {
        if inner.entries.len() < self.settings.max {
            return Ok(None);
        }
        let oldest = evictable(inner).ok_or_else(|| self.exhausted())?;
        let evicted = inner.entries.remove(&oldest);
        tracing::debug!(area = self.settings.area, session = oldest, "session ended to make room");
        remember(
            inner,
            oldest,
            "was made up for a call without an id and ended, unused, to make room for another",
        );
        Ok(evicted)
    }

    fn exhausted(&self) -> Error {
        let TableSettings { area, variable, max, .. } = &self.settings;
        Error::new(
            Kind::ResourceExhausted,
            format!("{area}.sessions_exhausted"),
            format!(
                "all {max} {area} sessions are in use; close one, or raise {variable} when starting the server"
            ),
        )
    }

    fn lock(&self) -> MutexGuard<'_, Inner<S>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn evictable<S: Session>(inner: &Inner<S>) -> Option<String> {
    let made_up = inner.entries.values().filter(|entry| entry.made_up);
    let mut candidates: Vec<_> = made_up.map(|entry| (entry.used().1, entry)).collect();
    // The oldest is nearly always idle: asking each of them first would cost more than the command that is to run.
    while let Some(position) = position_of_oldest(&candidates) {
        let (_, entry) = candidates.swap_remove(position);
        if !entry.session.busy() {
            return Some(entry.id.clone());
        }
    }
    None
}

fn position_of_oldest<S>(entries: &[(Instant, &Arc<Entry<S>>)]) -> Option<usize> {
    let oldest = entries.iter().enumerate().min_by_key(|(_, (used, _))| *used);
    oldest.map(|(position, _)| position)
}

fn remember<S>(inner: &mut Inner<S>, id: String, reason: &'static str) {
    if inner.ended.len() == REMEMBERED {
        inner.ended.pop_front();
    }
    inner.ended.push_back((id, reason));
}

/// The id a caller chose, if it chose one; an unusable one is refused.
pub(crate) fn chosen_id(field: &str, id: Option<&String>) -> Result<Option<String>, Error> {
    match id.filter(|id| !id.is_empty()) {
        None => Ok(None),
        Some(id)
            if id.len() <= LONGEST_ID && !id.contains(|c: char| c.is_control() || c == '/') =>
        {
            Ok(Some(id.clone()))
        }
        Some(_) => Err(Error::field(
            field,
            "id",
            format!("must be at most {LONGEST_ID} bytes, without control characters or /"),
        )),
    }
}

/// Seconds from the wire: finite, bounded by a hundred years.
pub(crate) fn seconds(seconds: f64) -> Duration {
    const CENTURY: f64 = 3.2e9;
    Duration::try_from_secs_f64(seconds.clamp(0.0, CENTURY)).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[derive(Debug, Default)]
    struct Fake {
        busy: AtomicBool,
        closed: AtomicBool,
    }

    impl Session for Fake {
        fn busy(&self) -> bool {
            self.busy.load(Ordering::Relaxed)
        }

        async fn close(&self) {
            self.closed.store(true, Ordering::Relaxed);
        }
    }

    fn table(max: usize, idle: Duration) -> Table<Fake> {
        Table::new(TableSettings { area: "fake", variable: "MAX_FAKES", max, idle })
    }

    fn add(
        table: &Table<Fake>,
        id: &str,
        made_up: bool,
        busy: bool,
    ) -> Result<Option<String>, Error> {
        let session = Fake { busy: AtomicBool::new(busy), ..Fake::default() };
        table
            .insert(id.to_owned(), made_up, Arc::new(session))
            .map(|(_, evicted)| evicted.map(|entry| entry.id.clone()))
    }

    #[test]
    fn only_idle_sessions_nobody_named_make_room_and_the_caller_is_told_why() {
        let table = table(4, Duration::from_secs(9));
        assert_eq!(add(&table, "named", false, false).unwrap(), None);
        assert_eq!(add(&table, "busy", true, true).unwrap(), None);
        assert_eq!(add(&table, "old", true, false).unwrap(), None);
        assert_eq!(add(&table, "new", true, false).unwrap(), None);
        table.get("old").unwrap();
        assert_eq!(add(&table, "a", true, true).unwrap().as_deref(), Some("new"));
        assert_eq!(add(&table, "b", true, true).unwrap().as_deref(), Some("old"));
        let error = add(&table, "c", false, false).unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (Kind::ResourceExhausted, "fake.sessions_exhausted")
        );
        assert!(error.message().contains("MAX_FAKES"));
        assert!(table.not_found("old", "gone".into()).hint().unwrap().contains("to make room"));
        assert!(table.not_found("never", "gone".into()).hint().unwrap().contains("ever created"));
    }

    #[tokio::test(start_paused = true)]
    async fn unused_sessions_are_closed_and_busy_ones_never() {
        let table = Arc::new(table(4, Duration::from_millis(1)));
        add(&table, "idle", false, false).unwrap();
        add(&table, "busy", false, true).unwrap();
        let idle = table.get("idle").unwrap();
        let stop = CancellationToken::new();
        let sweeper = tokio::spawn({
            let (table, stop) = (Arc::clone(&table), stop.clone());
            async move { table.sweep(stop).await }
        });
        while !idle.session.closed.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
        assert!(table.get("busy").is_some() && table.get("idle").is_none());
        stop.cancel();
        sweeper.await.unwrap();
    }

    #[test]
    fn ids_are_free_within_reason() {
        assert_eq!(chosen_id("id", None).unwrap(), None);
        assert_eq!(chosen_id("id", Some(&String::new())).unwrap(), None);
        assert_eq!(chosen_id("id", Some(&"日本 x".to_owned())).unwrap().as_deref(), Some("日本 x"));
        assert!(chosen_id("id", Some(&"a/b".to_owned())).is_err());
        assert!(chosen_id("id", Some(&"x".repeat(257))).is_err());
    }

    #[test]
    fn any_number_of_seconds_is_a_duration() {
        for value in [0.0, 1.5, 1e300, f64::INFINITY, f64::NAN, -1.0] {
            let _converted = seconds(value);
        }
        assert_eq!(seconds(1.5), Duration::from_millis(1500));
    }
}
