//! What is being done: the latest calls of every face, kept in memory, and the operation that lists them.
//!
//! Told by the registry of each call that begins and ends. A record holds what [`summary`] lets through and nothing
//! else of a call. The oldest that have ended make room for new ones; those that run are kept as long as any other
//! can go.

mod mask;
mod summary;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use atoll_api::activity::{Activity, ActivityEntry, ActivityOutcome, ListActivity};
use atoll_api::system::Limits;
use atoll_auth::{How, Principal};
use atoll_operation::{
    Context, Ending, Error, Event, Handle, Observer, Registry, Spec, Stream, Streaming,
};
use futures::stream::{self, StreamExt};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::Notify;

/// Entries in an answer that says nothing else.
const LISTED: usize = 100;
/// Pause between two batches of events, so that a thousand calls a second are a few batches.
const PAUSE: Duration = Duration::from_millis(50);

/// Keeps the log from now on, and binds what shows it.
pub(crate) fn bind(registry: &mut Registry, limits: &Limits) {
    let most = usize::try_from(limits.activity_entries).unwrap_or(usize::MAX).max(1);
    let log = Arc::new(ActivityLog { most, inner: Mutex::default(), changed: Notify::new() });
    let shown = Arc::new(Activities(Arc::clone(&log)));
    registry.bind::<ListActivity, _>(&shown).bind_stream::<ListActivity, _>(&shown);
    registry.observe(log);
}

/// The latest calls.
#[derive(Debug)]
struct ActivityLog {
    most: usize,
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// In the order they began, so that ids ascend.
    records: VecDeque<Record>,
    calls: u64,
    revision: u64,
    forgotten: u64,
}

#[derive(Debug)]
struct Record {
    id: u64,
    revision: u64,
    operation: &'static str,
    summary: String,
    started_at: Timestamp,
    started: Instant,
    /// How long it took and the code of its error, once it is over.
    ended: Option<(Duration, Option<String>)>,
    via: &'static str,
    subject: Option<String>,
}

impl ActivityLog {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The latest of those that changed after this revision, in the order they changed.
    fn since(&self, after: u64, limit: usize) -> Activity {
        let inner = self.lock();
        let changed = inner.records.iter().filter(|record| record.revision > after);
        let mut entries: Vec<_> = changed.map(Record::entry).collect();
        entries.sort_unstable_by_key(|entry| entry.revision);
        entries.drain(..entries.len().saturating_sub(limit));
        Activity { entries, next: inner.revision, forgotten: inner.forgotten }
    }

    fn limit(&self, input: &ListActivity) -> usize {
        let wanted = input.limit.and_then(|limit| usize::try_from(limit).ok());
        wanted.unwrap_or(LISTED).min(self.most)
    }
}

impl Record {
    fn entry(&self) -> ActivityEntry {
        let (outcome, took, code) = match &self.ended {
            None => (ActivityOutcome::Running, None, None),
            Some((took, None)) => (ActivityOutcome::Ok, Some(*took), None),
            Some((took, Some(code))) => (ActivityOutcome::Failed, Some(*took), Some(code.clone())),
        };
        let group = self.operation.split('_').next().unwrap_or_default();
        ActivityEntry {
            id: self.id,
            revision: self.revision,
            operation: self.operation.to_owned(),
            group: group.to_owned(),
            summary: self.summary.clone(),
            started_at: format!("{:.3}", self.started_at),
            duration_ms: took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
            outcome,
            error_code: code,
            via: self.via.to_owned(),
            subject: self.subject.clone(),
        }
    }
}

impl Observer for ActivityLog {
    fn began(&self, spec: &Spec, cx: &Context, input: &Value) -> u64 {
        let known = cx.caller::<Principal>().filter(|caller| caller.how != How::Anonymous);
        let subject = known.map(|caller| caller.id.clone());
        let summary = summary::of(input);
        let (started_at, started) = (Timestamp::now(), Instant::now());
        let (operation, via) = (spec.id, cx.face());
        let mut inner = self.lock();
        inner.calls += 1;
        inner.revision += 1;
        let (id, revision) = (inner.calls, inner.revision);
        if inner.records.len() >= self.most {
            let over = inner.records.iter().position(|record| record.ended.is_some());
            inner.records.remove(over.unwrap_or(0));
            inner.forgotten += 1;
        }
        let ended = None;
        inner.records.push_back(Record {
            id,
            revision,
            operation,
            summary,
            started_at,
            started,
            ended,
            via,
            subject,
        });
        drop(inner);
        self.changed.notify_waiters();
        id
    }

    fn ended(&self, call: u64, ending: Ending<'_>) {
        let code = match ending {
            Ending::Done => None,
            Ending::Failed(code) => Some(code.to_owned()),
            Ending::Abandoned => Some("caller.left".to_owned()),
        };
        let mut inner = self.lock();
        let Ok(position) = inner.records.binary_search_by_key(&call, |record| record.id) else {
            return;
        };
        inner.revision += 1;
        let revision = inner.revision;
        if let Some(record) = inner.records.get_mut(position) {
            record.ended = Some((record.started.elapsed(), code));
            record.revision = revision;
        }
        drop(inner);
        self.changed.notify_waiters();
    }
}

/// Shows the log.
#[derive(Debug)]
struct Activities(Arc<ActivityLog>);

impl Handle<ListActivity> for Activities {
    async fn handle(&self, _cx: &Context, input: ListActivity) -> Result<Activity, Error> {
        Ok(self.0.since(input.after.unwrap_or(0), self.0.limit(&input)))
    }
}

impl Streaming<ListActivity> for Activities {
    async fn stream(&self, cx: &Context, input: ListActivity) -> Result<Stream, Error> {
        let resumed = cx.resume_after().and_then(|id| id.parse().ok());
        let after = resumed.or(input.after);
        let follower = Follower {
            limit: if after.is_some() { self.0.most } else { self.0.limit(&input) },
            seen: after.unwrap_or(0),
            waiting: VecDeque::new(),
            log: Arc::clone(&self.0),
        };
        Ok(stream::unfold(follower, async |mut follower| {
            let event = follower.next().await;
            Some((event, follower))
        })
        .boxed())
    }
}

/// Somebody who follows the log.
struct Follower {
    log: Arc<ActivityLog>,
    seen: u64,
    limit: usize,
    waiting: VecDeque<ActivityEntry>,
}

impl Follower {
    async fn next(&mut self) -> Event {
        loop {
            if let Some(entry) = self.waiting.pop_front() {
                let id = Some(entry.revision.to_string());
                let data = serde_json::to_value(entry).unwrap_or_default();
                if self.waiting.is_empty() {
                    tokio::time::sleep(PAUSE).await;
                }
                return Event { name: "activity", id, data };
            }
            let log = Arc::clone(&self.log);
            let changed = log.changed.notified();
            let now = log.since(self.seen, self.limit);
            (self.seen, self.limit) = (now.next, log.most);
            self.waiting = now.entries.into();
            if self.waiting.is_empty() {
                changed.await;
            }
        }
    }
}

#[cfg(test)]
mod tests;
