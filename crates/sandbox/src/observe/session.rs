//! One observation from its start to its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atoll_api::observe::{ObservationMode, ObservationStartResult};
use atoll_observe::{Journal, Sampler, Scope};
use atoll_process::Spawner;
use jiff::Timestamp;
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use super::store::Store;

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) about: ObservationStartResult,
    pub(super) interval: Duration,
    pub(super) duration: Option<Duration>,
    pub(super) scope: Scope,
    pub(super) journal: Arc<Journal>,
    /// Events there were when it began.
    pub(super) events_before: u64,
    pub(super) end: CancellationToken,
    pub(super) progress: Mutex<Progress>,
}

/// How far a session has come.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) store: Store,
    pub(super) last_sample_at: Option<String>,
    /// Events there were when it ended, once it has.
    pub(super) events_after: Option<u64>,
}

impl Session {
    pub(super) fn mode(&self) -> ObservationMode {
        self.about.mode
    }

    pub(super) fn is_over(&self) -> bool {
        self.progress().events_after.is_some()
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it; whether it was under way.
    pub(super) fn finish(&self) -> bool {
        self.end.cancel();
        let mut progress = self.progress();
        let under_way = progress.events_after.is_none();
        progress.events_after.get_or_insert(self.journal.count());
        under_way
    }

    /// Looks again and again until it is ended, its time is over, or there is no room for more.
    pub(super) async fn run(self: Arc<Self>, sampler: Sampler, spawner: Spawner) {
        let deadline = self.duration.map(|duration| Instant::now() + duration);
        let over = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.end.cancelled() => {}
            () = over => {}
            () = self.look_on(sampler, &spawner) => {}
        }
        self.finish();
    }

    async fn look_on(&self, mut sampler: Sampler, spawner: &Spawner) {
        let mut ticks = interval(self.interval);
        // A look that was missed tells nothing any more.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let (scope, killed) = (self.scope, spawner.victims());
            let look = tokio::task::spawn_blocking(move || {
                let sample = sampler.look(scope, killed);
                (sampler, sample)
            });
            let Ok((back, sample)) = look.await else { return };
            sampler = back;
            let at = sample.at.clone();
            // A line of a few kilobytes at most, so seldom that no thread of its own is worth it.
            let mut progress = self.progress();
            let kept = progress.store.push(sample);
            progress.last_sample_at = Some(at);
            drop(progress);
            let problem = match kept {
                Ok(true) => continue,
                Ok(false) => {
                    "there is no room for more samples (limits.observe_capture_bytes)".to_owned()
                }
                Err(error) => format!("a sample could not be written: {error}"),
            };
            let message = format!("{} ended: {problem}", self.about.session_id);
            let data = json!({ "session_id": self.about.session_id });
            self.journal.push("capture_full", message, data);
            return;
        }
    }
}

/// A name nobody else has, which tells the time it was made.
pub(super) fn unique(kind: &str, at: Timestamp) -> String {
    let time: String =
        at.to_string().chars().take(19).filter(|at| *at != '-' && *at != ':').collect();
    let unique = uuid::Uuid::new_v4().simple().to_string();
    format!("{kind}-{time}-{}", &unique[..8])
}
