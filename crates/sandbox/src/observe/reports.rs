//! The reports there are: archives in one directory, each with a small file beside it that tells about it.
//!
//! A report is only ever found in the list of that directory. What a caller asks for is compared with the names there and
//! never becomes part of a path.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_api::observe::ObservationReportInfo;
use atoll_observe::{Event, Heading, write_report};
use atoll_operation::{Error, Kind};

use super::store::Reader;

/// Bytes of what tells about a report.
const ABOUT_BYTES: u64 = 64 << 10;
/// Files that are looked at in the directory.
const MOST_FILES: usize = 10_000;

/// A directory of reports.
#[derive(Debug)]
pub(super) struct Reports {
    directory: PathBuf,
    most: u64,
    /// Reports are made and deleted one after the other.
    changing: tokio::sync::Mutex<()>,
}

/// What a report is made of.
pub(super) struct Material {
    pub(super) heading: Heading,
    pub(super) samples: Reader,
    pub(super) events: Vec<Event>,
}

impl Reports {
    pub(super) fn new(directory: PathBuf, most: u64) -> Self {
        Self { directory, most, changing: tokio::sync::Mutex::default() }
    }

    /// Every report, the latest first.
    pub(super) async fn list(self: &Arc<Self>) -> Result<Vec<ObservationReportInfo>, Error> {
        let reports = Arc::clone(self);
        let look = tokio::task::spawn_blocking(move || reports.found());
        look.await.map_err(|error| Error::internal("reports could not be listed", error))
    }

    pub(super) async fn find(self: &Arc<Self>, id: &str) -> Result<ObservationReportInfo, Error> {
        let known = self.list().await?;
        known.into_iter().find(|report| report.report_id == id).ok_or_else(|| {
            let message = format!("there is no report {id:?}; list them to see which there are");
            Error::new(Kind::NotFound, "observe.report_not_found", message)
        })
    }

    /// Makes a report.
    pub(super) async fn make(
        self: &Arc<Self>,
        material: Material,
    ) -> Result<ObservationReportInfo, Error> {
        let _one_at_a_time = self.changing.lock().await;
        if self.list().await?.len() as u64 >= self.most {
            let most = self.most;
            let message =
                format!("there are {most} reports already (limits.observe_reports); delete some");
            return Err(Error::new(Kind::ResourceExhausted, "observe.too_many_reports", message));
        }
        let reports = Arc::clone(self);
        let made = tokio::task::spawn_blocking(move || reports.write(material));
        let made = made.await.map_err(|error| Error::internal("the report failed", error))?;
        made.map_err(|error| self.unwritable(&error))
    }

    /// Deletes a report.
    pub(super) async fn delete(self: &Arc<Self>, id: &str) -> Result<ObservationReportInfo, Error> {
        let _one_at_a_time = self.changing.lock().await;
        let report = self.find(id).await?;
        let (archive, about) = self.paths(&report.report_id);
        let removed = std::fs::remove_file(archive).and_then(|()| std::fs::remove_file(about));
        removed.map_err(|error| self.unwritable(&error))?;
        Ok(report)
    }

    /// Opens a report.
    pub(super) async fn open(self: &Arc<Self>, id: &str) -> Result<(File, u64), Error> {
        let report = self.find(id).await?;
        let open = || {
            let file = File::open(self.paths(&report.report_id).0)?;
            let length = file.metadata()?.len();
            Ok::<_, io::Error>((file, length))
        };
        open().map_err(|error| self.unwritable(&error))
    }

    fn write(&self, material: Material) -> io::Result<ObservationReportInfo> {
        std::fs::create_dir_all(&self.directory)?;
        let (path, about) = self.paths(&material.heading.report_id);
        let samples = material.samples.read()?;
        let size_bytes = write_report(&path, &material.heading, &samples, &material.events)?;
        let report = ObservationReportInfo {
            report_id: material.heading.report_id,
            session_id: material.heading.session_id,
            reason: material.heading.reason,
            created_at: material.heading.created_at,
            path: path.display().to_string(),
            size_bytes,
        };
        // Only what has this file is a report, so it comes last.
        let told = serde_json::to_vec(&report)?;
        if let Err(error) = std::fs::write(about, told) {
            let _not_there = std::fs::remove_file(path);
            return Err(error);
        }
        Ok(report)
    }

    fn found(&self) -> Vec<ObservationReportInfo> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let names =
            entries.take(MOST_FILES).filter_map(|entry| entry.file_name().into_string().ok());
        let ids = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned));
        let mut reports: Vec<_> = ids.filter_map(|id| self.about(&id)).collect();
        reports.sort_by(|a, b| (&b.created_at, &b.report_id).cmp(&(&a.created_at, &a.report_id)));
        reports
    }

    fn about(&self, id: &str) -> Option<ObservationReportInfo> {
        let (archive, about) = self.paths(id);
        let mut text = String::new();
        File::open(about).ok()?.take(ABOUT_BYTES).read_to_string(&mut text).ok()?;
        let mut report: ObservationReportInfo = serde_json::from_str(&text).ok()?;
        // Somebody may have moved the directory, or written such a file himself: the place it was found at counts.
        report.size_bytes =
            std::fs::symlink_metadata(&archive).ok().filter(std::fs::Metadata::is_file)?.len();
        report.path = archive.display().to_string();
        (report.report_id == id).then_some(report)
    }

    fn paths(&self, id: &str) -> (PathBuf, PathBuf) {
        let path = |end: &str| Path::new(&self.directory).join(format!("{id}.{end}"));
        (path("tar.gz"), path("json"))
    }

    fn unwritable(&self, error: &io::Error) -> Error {
        let directory = self.directory.display();
        let message = format!("the directory of reports {directory} cannot be used: {error}");
        Error::new(Kind::Unavailable, "observe.unwritable", message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn material(id: &str, created_at: &str) -> Material {
        Material {
            heading: Heading {
                report_id: id.to_owned(),
                session_id: None,
                mode: "live".to_owned(),
                interval_seconds: None,
                reason: "test".to_owned(),
                created_at: created_at.to_owned(),
                version: "0".to_owned(),
            },
            samples: Reader::Samples(Vec::new()),
            events: Vec::new(),
        }
    }

    #[tokio::test]
    async fn reports_are_bounded_listed_and_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let reports = Arc::new(Reports::new(directory.path().join("reports"), 2));
        assert_eq!(reports.list().await.unwrap(), []);
        let old = reports.make(material("old", "2026-01-01T00:00:00Z")).await.unwrap();
        let new = reports.make(material("new", "2026-01-02T00:00:00Z")).await.unwrap();
        assert_eq!(reports.list().await.unwrap(), [new.clone(), old.clone()]);
        let refused = reports.make(material("third", "2026-01-03T00:00:00Z")).await.unwrap_err();
        assert_eq!(refused.code(), "observe.too_many_reports");
        assert_eq!(reports.open("old").await.unwrap().1, old.size_bytes);
        assert_eq!(reports.delete("old").await.unwrap(), old);
        assert_eq!(reports.list().await.unwrap(), [new]);
        assert_eq!(std::fs::read_dir(directory.path().join("reports")).unwrap().count(), 2);
    }

    #[tokio::test]
    async fn no_name_leads_out_of_the_directory() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("secret.tar.gz"), "x").unwrap();
        let forged = r#"{"report_id":"../secret","session_id":null,"reason":"","created_at":"","path":"","size_bytes":1}"#;
        let reports = Arc::new(Reports::new(directory.path().join("reports"), 9));
        std::fs::create_dir(directory.path().join("reports")).unwrap();
        std::fs::write(directory.path().join("reports/forged.json"), forged).unwrap();
        std::fs::write(directory.path().join("reports/broken.json"), "{").unwrap();
        assert_eq!(reports.list().await.unwrap(), []);
        for id in ["../secret", "..", "", "/etc/passwd", "forged", "broken", "a\0b"] {
            let refused = reports.find(id).await.unwrap_err();
            assert_eq!(refused.code(), "observe.report_not_found", "{id:?}");
        }
    }
}
