//! What the operations of observation share.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atoll_api::observe::{
    ListReports, ObservationMode, ObservationReportInfo, ObservationStartResult, ObserveStartMode,
    StartObservation,
};
use atoll_observe::{Journal, Sampler, Watch};
use atoll_operation::{Context, Error, Handle, Kind};

use super::reports::Reports;
use super::session::Session;
use crate::programs::Programs;

/// Sessions that are over and whose samples are kept.
const KEPT: usize = 8;
/// Answers that are given again to the same key.
const KEYS: usize = 256;

/// How the operator wants to observe.
#[derive(Debug, Clone, Default)]
pub struct ObserveSettings {
    /// Begin a guardrail with the server.
    pub guardrail: bool,
    /// Where reports are kept; they go with the server otherwise.
    pub report_dir: Option<PathBuf>,
}

/// The observing capability.
#[derive(Debug)]
pub struct Observers {
    pub(super) programs: Programs,
    pub(super) journal: Arc<Journal>,
    pub(super) watch: Arc<Watch>,
    /// For looks at the moment.
    pub(super) live: tokio::sync::Mutex<Option<Sampler>>,
    pub(super) reports: Arc<Reports>,
    /// Requests with a key are answered one after the other.
    pub(super) keys: tokio::sync::Mutex<Keys>,
    sessions: Mutex<VecDeque<Arc<Session>>>,
}

/// What was answered to requests with a key.
#[derive(Debug, Default)]
pub(super) struct Keys {
    started: VecDeque<(String, ObservationStartResult)>,
    exported: VecDeque<(String, ObservationReportInfo)>,
}

impl Observers {
    /// Looks at nothing yet, unless a guardrail shall begin.
    pub fn new(
        programs: &Programs,
        journal: &Arc<Journal>,
        settings: ObserveSettings,
    ) -> Arc<Self> {
        let foundation = programs.foundation();
        let directory =
            settings.report_dir.unwrap_or_else(|| foundation.runtime_dir.join("observe/reports"));
        let observers = Arc::new(Self {
            programs: programs.clone(),
            journal: Arc::clone(journal),
            watch: Watch::new(journal),
            live: tokio::sync::Mutex::default(),
            reports: Arc::new(Reports::new(directory, foundation.limits.observe_reports)),
            keys: tokio::sync::Mutex::default(),
            sessions: Mutex::default(),
        });
        if settings.guardrail {
            let mode = ObserveStartMode::Guardrail;
            let order = StartObservation { mode, ..StartObservation::default() };
            if let Err(error) = observers.begin(&order) {
                tracing::warn!(%error, "the guardrail could not be started");
            }
        }
        observers
    }

    /// Looks at the own group and the disks that the sandbox writes to.
    pub(super) fn sampler(&self) -> Sampler {
        let foundation = self.programs.foundation();
        let directories =
            vec![foundation.home.clone(), foundation.workspace.clone(), PathBuf::from("/tmp")];
        Sampler::new(directories, &self.watch)
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, VecDeque<Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session under way that matters most: a capture before a guardrail.
    pub(super) fn active(&self) -> Option<Arc<Session>> {
        let sessions = self.sessions();
        let running = |mode| {
            sessions.iter().rev().find(|each| each.mode() == mode && !each.is_over()).cloned()
        };
        running(ObservationMode::Capture).or_else(|| running(ObservationMode::Guardrail))
    }

    pub(super) fn session(&self, id: &str) -> Result<Arc<Session>, Error> {
        let sessions = self.sessions();
        sessions.iter().find(|each| each.about.session_id == id).cloned().ok_or_else(|| {
            let known: Vec<_> =
                sessions.iter().map(|each| each.about.session_id.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let message =
                format!("there is no session {id:?} of which anything is kept; there are: {known}");
            Error::new(Kind::NotFound, "observe.session_not_found", message)
        })
    }

    /// Adds a session; the oldest that is over makes room.
    pub(super) fn add(&self, session: Arc<Session>) {
        let mut sessions = self.sessions();
        sessions.push_back(session);
        while sessions.iter().filter(|each| each.is_over()).count() > KEPT {
            let oldest = sessions.iter().position(|each| each.is_over());
            oldest.and_then(|position| sessions.remove(position));
        }
    }
}

impl Keys {
    pub(super) fn started(&self, key: Option<&str>) -> Option<ObservationStartResult> {
        find(&self.started, key)
    }

    pub(super) fn exported(&self, key: Option<&str>) -> Option<ObservationReportInfo> {
        find(&self.exported, key)
    }

    pub(super) fn keep_started(&mut self, key: Option<String>, answer: &ObservationStartResult) {
        keep(&mut self.started, key, answer);
    }

    pub(super) fn keep_exported(&mut self, key: Option<String>, answer: &ObservationReportInfo) {
        keep(&mut self.exported, key, answer);
    }

    /// A report that was deleted is made anew for the key it was made for.
    pub(super) fn forget_report(&mut self, id: &str) {
        self.exported.retain(|(_, report)| report.report_id != id);
    }
}

fn find<T: Clone>(answers: &VecDeque<(String, T)>, key: Option<&str>) -> Option<T> {
    let key = key?;
    answers.iter().find(|(known, _)| known == key).map(|(_, answer)| answer.clone())
}

fn keep<T: Clone>(answers: &mut VecDeque<(String, T)>, key: Option<String>, answer: &T) {
    if let Some(key) = key {
        if answers.len() >= KEYS {
            answers.pop_front();
        }
        answers.push_back((key, answer.clone()));
    }
}

impl Handle<ListReports> for Observers {
    async fn handle(
        &self,
        _: &Context,
        _: ListReports,
    ) -> Result<Vec<ObservationReportInfo>, Error> {
        self.reports.list().await
    }
}
