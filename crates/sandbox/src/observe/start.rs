//! Beginning and ending observations, and telling how they stand.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use atoll_api::observe::{
    GetObservation, ObservationMode, ObservationStartResult, ObservationStatus,
    ObservationStopResult, ObserveStartMode, StartObservation, StopObservation,
};
use atoll_observe::Scope;
use atoll_operation::{Context, Error, Handle, Kind};
use jiff::{SignedDuration, Timestamp};

use super::service::Observers;
use super::session::{Progress, Session, unique};
use super::store::Store;

/// Seconds between two looks: when nobody says, and at least.
const CAPTURE_INTERVAL: (f64, f64) = (1.0, 0.1);
const GUARDRAIL_INTERVAL: (f64, f64) = (10.0, 5.0);
/// Seconds a capture lasts when nobody says.
const CAPTURE_SECONDS: u64 = 300;
/// Processes in each look of a session.
const PROCESSES: usize = 15;

impl Observers {
    /// Begins a session.
    pub(super) fn begin(&self, order: &StartObservation) -> Result<ObservationStartResult, Error> {
        let (mode, (usual, least), seconds) = match order.mode {
            ObserveStartMode::Guardrail => {
                (ObservationMode::Guardrail, GUARDRAIL_INTERVAL, order.duration_seconds)
            }
            ObserveStartMode::Capture => {
                let seconds = order.duration_seconds.unwrap_or(CAPTURE_SECONDS);
                (ObservationMode::Capture, CAPTURE_INTERVAL, Some(seconds))
            }
        };
        let interval = order.interval_seconds.unwrap_or(usual);
        if interval < least {
            let message = format!("must be {least} or more for this mode");
            return Err(Error::field("interval_seconds", "minimum", message));
        }
        let running =
            self.sessions().iter().find(|each| each.mode() == mode && !each.is_over()).cloned();
        if let Some(running) = running {
            let id = &running.about.session_id;
            let message =
                format!("{id} is under way already; stop it first, or wait until it is over");
            return Err(Error::new(Kind::Conflict, "observe.already_running", message));
        }
        let session = self.session_of(order, mode, interval, seconds)?;
        let about = session.about.clone();
        self.add(Arc::clone(&session));
        let run = session.run(self.sampler(), self.programs.spawner().clone());
        let stop = self.programs.foundation().stop.clone();
        self.programs.tasks().spawn(async move { stop.run_until_cancelled(run).await });
        Ok(about)
    }

    fn session_of(
        &self,
        order: &StartObservation,
        mode: ObservationMode,
        interval: f64,
        seconds: Option<u64>,
    ) -> Result<Arc<Session>, Error> {
        let foundation = self.programs.foundation();
        let directory = foundation.runtime_dir.join("observe");
        let now = Timestamp::now();
        let word = if mode == ObservationMode::Capture { "capture" } else { "guardrail" };
        let id = unique(word, now);
        let store = match mode {
            ObservationMode::Capture => std::fs::create_dir_all(&directory).and_then(|()| {
                let path = directory.join(format!("{id}.jsonl"));
                Store::file(path, foundation.limits.observe_capture_bytes)
            }),
            _ => Ok(Store::ring(foundation.limits.observe_samples)),
        };
        let store = store.map_err(|error| {
            let message = format!("samples cannot be kept in {}: {error}", directory.display());
            Error::new(Kind::Unavailable, "observe.unwritable", message)
        })?;
        let processes = order.include_processes.unwrap_or(mode == ObservationMode::Capture);
        let ends = seconds.and_then(|seconds| {
            now.checked_add(SignedDuration::from_secs(i64::try_from(seconds).ok()?)).ok()
        });
        Ok(Arc::new(Session {
            about: ObservationStartResult {
                session_id: id,
                mode,
                started_at: format!("{now:.6}"),
                ends_at: ends.map(|ends| format!("{ends:.6}")),
                interval_seconds: interval,
                runtime_dir: directory.display().to_string(),
            },
            interval: Duration::from_secs_f64(interval),
            duration: seconds.map(Duration::from_secs),
            scope: Scope {
                disks: order.include_disk,
                processes: if processes { PROCESSES } else { 0 },
            },
            journal: Arc::clone(&self.journal),
            events_before: self.journal.count(),
            end: foundation.stop.child_token(),
            progress: Mutex::new(Progress { store, last_sample_at: None, events_after: None }),
        }))
    }
}

impl Handle<StartObservation> for Observers {
    async fn handle(
        &self,
        _: &Context,
        input: StartObservation,
    ) -> Result<ObservationStartResult, Error> {
        let mut keys = self.keys.lock().await;
        if let Some(answer) = keys.started(input.idempotency_key.as_deref()) {
            return Ok(answer);
        }
        let answer = self.begin(&input)?;
        keys.keep_started(input.idempotency_key, &answer);
        Ok(answer)
    }
}

impl Handle<StopObservation> for Observers {
    async fn handle(
        &self,
        _: &Context,
        input: StopObservation,
    ) -> Result<ObservationStopResult, Error> {
        let session = match input.session_id.filter(|id| !id.is_empty()) {
            Some(id) => self.session(&id)?,
            None => self.active().ok_or_else(|| {
                let message = "nothing is being observed; start it first";
                Error::new(Kind::FailedPrecondition, "observe.not_running", message)
            })?,
        };
        let stopped = session.finish();
        let report_ready = !session.progress().store.is_empty();
        Ok(ObservationStopResult {
            session_id: session.about.session_id.clone(),
            stopped,
            report_ready,
        })
    }
}

impl Handle<GetObservation> for Observers {
    async fn handle(&self, _: &Context, _: GetObservation) -> Result<ObservationStatus, Error> {
        let report_count = self.reports.list().await?.len() as u64;
        let Some(session) = self.active() else {
            return Ok(ObservationStatus {
                mode: ObservationMode::Off,
                running: false,
                session_id: None,
                started_at: None,
                ends_at: None,
                interval_seconds: None,
                last_sample_at: None,
                runtime_dir: None,
                report_count,
            });
        };
        let about = session.about.clone();
        let last_sample_at = session.progress().last_sample_at.clone();
        Ok(ObservationStatus {
            mode: about.mode,
            running: true,
            session_id: Some(about.session_id),
            started_at: Some(about.started_at),
            ends_at: about.ends_at,
            interval_seconds: Some(about.interval_seconds),
            last_sample_at,
            runtime_dir: Some(about.runtime_dir),
            report_count,
        })
    }
}
