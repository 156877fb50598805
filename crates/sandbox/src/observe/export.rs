//! Making, downloading and deleting reports.

use std::sync::Arc;

use atoll_api::observe::{
    DeleteReport, DownloadReport, ExportObservation, ObservationMode, ObservationReportInfo,
};
use atoll_observe::Heading;
use atoll_operation::{Content, Context, Error, Fetch, FileSource, Handle, Source};
use jiff::Timestamp;

use super::reports::Material;
use super::service::Observers;
use super::session::{Session, unique};
use super::store::Reader;

/// Processes in the one look of a report without a session, and events that it tells.
const PROCESSES: usize = 15;
const EVENTS: usize = 500;

impl Observers {
    /// What a report of this session is made of, or of this moment when there is none.
    async fn material(
        &self,
        session: Option<Arc<Session>>,
        reason: String,
    ) -> Result<Material, Error> {
        let now = Timestamp::now();
        let mut heading = Heading {
            report_id: unique("report", now),
            session_id: None,
            mode: "live".to_owned(),
            interval_seconds: None,
            reason,
            created_at: format!("{now:.6}"),
            version: self.programs.foundation().version.to_owned(),
        };
        let Some(session) = session else {
            let sample = self.look(PROCESSES).await?;
            let events = self.journal.recent(EVENTS);
            return Ok(Material { heading, samples: Reader::Samples(vec![sample]), events });
        };
        let mode = if session.mode() == ObservationMode::Capture { "capture" } else { "guardrail" };
        mode.clone_into(&mut heading.mode);
        heading.session_id = Some(session.about.session_id.clone());
        heading.interval_seconds = Some(session.about.interval_seconds.to_string());
        let progress = session.progress();
        let until = progress.events_after.unwrap_or_else(|| self.journal.count());
        let events = self.journal.between(session.events_before, until);
        Ok(Material { heading, samples: progress.store.reader(), events })
    }
}

impl Handle<ExportObservation> for Observers {
    async fn handle(
        &self,
        _: &Context,
        input: ExportObservation,
    ) -> Result<ObservationReportInfo, Error> {
        let mut keys = self.keys.lock().await;
        if let Some(answer) = keys.exported(input.idempotency_key.as_deref()) {
            return Ok(answer);
        }
        let session = match input.session_id.filter(|id| !id.is_empty()) {
            Some(id) => Some(self.session(&id)?),
            None => self.active().or_else(|| self.sessions().back().cloned()),
        };
        let material = self.material(session, input.reason).await?;
        let report = self.reports.make(material).await?;
        keys.keep_exported(input.idempotency_key, &report);
        Ok(report)
    }
}

impl Fetch<DownloadReport> for Observers {
    async fn fetch(&self, _: &Context, input: DownloadReport) -> Result<Content, Error> {
        let (file, length) = self.reports.open(&input.report_id).await?;
        Ok(Content {
            media_type: "application/gzip".to_owned(),
            filename: Some(format!("{}.tar.gz", input.report_id)),
            inline: false,
            version: None,
            headers: Vec::new(),
            source: Source::File(FileSource { file: Arc::new(file), length, check: None }),
        })
    }
}

impl Handle<DeleteReport> for Observers {
    async fn handle(
        &self,
        _: &Context,
        input: DeleteReport,
    ) -> Result<ObservationReportInfo, Error> {
        let mut keys = self.keys.lock().await;
        let report = self.reports.delete(&input.report_id).await?;
        keys.forget_report(&report.report_id);
        Ok(report)
    }
}
