//! A report of what was seen: figures for programs, a page for people, in one `.tar.gz`.

mod chart;
mod html;
mod summary;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use summary::Summary;

use crate::journal::Event;
use crate::sampler::Sample;

/// Directory in the archive.
const FOLDER: &str = "observe-report";

/// What a report is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// The report's own name.
    pub report_id: String,
    /// The session whose samples it holds.
    pub session_id: Option<String>,
    /// How that session looked: `guardrail` or `capture`; `live` when there was none.
    pub mode: String,
    /// Seconds between two of its looks.
    pub interval_seconds: Option<String>,
    /// Why the report was made.
    pub reason: String,
    /// When.
    pub created_at: String,
    /// Version of the program that made it.
    pub version: String,
}

/// Writes a report, and tells its size. Nothing is left when that fails.
pub fn write(
    path: &Path,
    heading: &Heading,
    samples: &[Sample],
    events: &[Event],
) -> io::Result<u64> {
    let unfinished = path.with_extension("unfinished");
    let written = pack(&unfinished, heading, samples, events)
        .and_then(|()| std::fs::rename(&unfinished, path))
        .and_then(|()| std::fs::metadata(path));
    if written.is_err() {
        let _not_there = std::fs::remove_file(&unfinished);
    }
    written.map(|data| data.len())
}

fn pack(path: &Path, heading: &Heading, samples: &[Sample], events: &[Event]) -> io::Result<()> {
    let summary = Summary::of(samples, events);
    let mut lines = Vec::new();
    for sample in samples {
        serde_json::to_writer(&mut lines, sample)?;
        lines.push(b'\n');
    }
    let page = html::page(heading, &summary, samples, events);
    let pretty = |value: serde_json::Value| serde_json::to_vec_pretty(&value);
    let files = [
        ("index.html", page.into_bytes()),
        ("report.json", pretty(json!({ "report": heading, "summary": summary }))?),
        ("summary.json", pretty(json!(summary))?),
        ("events.json", pretty(json!(events))?),
        ("samples.jsonl", lines),
    ];
    let mut archive =
        tar::Builder::new(GzEncoder::new(File::create(path)?, Compression::default()));
    let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default();
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(now);
        archive.append_data(&mut header, format!("{FOLDER}/{name}"), content.as_slice())?;
    }
    archive.into_inner()?.finish()?.flush()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::group::GroupReading;
    use std::sync::Arc;

    use crate::journal::Journal;
    use crate::sampler::{Sampler, Scope, Watch};

    fn heading() -> Heading {
        Heading {
            report_id: "report-1".to_owned(),
            session_id: Some("session-1".to_owned()),
            mode: "capture".to_owned(),
            interval_seconds: Some("1".to_owned()),
            reason: "<script>alert(1)</script>".to_owned(),
            created_at: "2026-01-01T00:00:00Z".to_owned(),
            version: "1.2.3".to_owned(),
        }
    }

    #[test]
    fn a_report_holds_figures_and_a_page_that_needs_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.tar.gz");
        let mut sampler = Sampler::new(
            vec![directory.path().to_owned()],
            &Watch::new(&Arc::new(Journal::new(1))),
        );
        let scope = Scope { disks: true, processes: 3 };
        let samples: Vec<_> = (0..3).map(|_| sampler.look(scope, 0)).collect();
        let event = Event {
            ts: samples[1].at.clone(),
            kind: "oom_kill".to_owned(),
            message: "a <b> & c".to_owned(),
            data: serde_json::Map::new(),
        };
        let size = write(&path, &heading(), &samples, &[event]).unwrap();
        assert_eq!(size, std::fs::metadata(&path).unwrap().len());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);

        let mut found = std::collections::BTreeMap::new();
        let mut archive = tar::Archive::new(GzDecoder::new(File::open(&path).unwrap()));
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().display().to_string();
            let mut content = String::new();
            entry.read_to_string(&mut content).unwrap();
            found.insert(name, content);
        }
        let read: Vec<Sample> = found["observe-report/samples.jsonl"]
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(read, samples);
        let summary: Summary = serde_json::from_str(&found["observe-report/summary.json"]).unwrap();
        assert_eq!((summary.samples, summary.oom_kills), (3, 0));
        assert!(found["observe-report/events.json"].contains("oom_kill"));
        let page = &found["observe-report/index.html"];
        assert!(page.contains("<svg") && page.contains("a &lt;b&gt; &amp; c"));
        for forbidden in ["<script", "http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn a_report_of_nothing_and_one_of_a_single_look_are_pages_too() {
        let nothing = html::page(&heading(), &Summary::of(&[], &[]), &[], &[]);
        assert!(nothing.contains("No samples"), "{nothing}");
        let sample = Sample {
            at: "2026-01-01T00:00:00Z".to_owned(),
            at_ms: 1_767_225_600_000,
            group: GroupReading::default(),
            cpu_pct: None,
            memory_pct: None,
            disks: Vec::new(),
            processes: Vec::new(),
        };
        let samples = [sample];
        let page = html::page(&heading(), &Summary::of(&samples, &[]), &samples, &[]);
        assert!(page.contains("</html>") && !page.contains("NaN"), "{page}");
    }

    #[test]
    fn a_place_that_cannot_be_written_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nowhere/report.tar.gz");
        assert!(write(&path, &heading(), &[], &[]).is_err());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
