//! The audit log: who did what, when, from where, with which outcome. One JSON object a line, nothing of what was sent.
//!
//! The file is set aside when it has reached its size, so that both together never take more than twice as much. A line
//! that cannot be written is lost, and the ordinary log says so: a full disk must not stop the server.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::principal::Principal;

/// Bytes at which the file is set aside.
const FILE_BYTES: u64 = 64 << 20;

/// One request, as it is recorded.
#[derive(Debug, Clone, Copy)]
pub struct AuditRecord<'a> {
    /// Who it was; nobody when they were not let in.
    pub principal: Option<&'a Principal>,
    /// Address of the connection; nobody's on a unix socket.
    pub ip: Option<&'a str>,
    /// The address a proxy in front says it came from; only as good as that proxy.
    pub forwarded_for: Option<&'a str>,
    /// Method of the request.
    pub method: &'a str,
    /// The route it met, never the path itself.
    pub route: &'a str,
    /// The operation it met.
    pub operation: &'a str,
    /// Status of the answer.
    pub status: u16,
    /// How long it took.
    pub took: Duration,
    /// The id it is logged under.
    pub request_id: &'a str,
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    how: Option<&'static str>,
    id: Option<&'a str>,
    ip: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forwarded_for: Option<&'a str>,
    method: &'a str,
    route: &'a str,
    operation: &'a str,
    status: u16,
    duration_ms: f64,
    request_id: &'a str,
}

/// The log.
pub struct AuditLog(Mutex<Inner>);

struct Inner {
    path: PathBuf,
    file: File,
    size: u64,
    largest: u64,
    failing: bool,
    /// The last line broke off: the next one must begin on its own.
    torn: bool,
}

impl AuditLog {
    /// Opens the file, which is readable by its owner only when it is made here.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_bounded(path, FILE_BYTES)
    }

    fn open_bounded(path: &Path, largest: u64) -> io::Result<Self> {
        let file = append(path)?;
        let size = file.metadata()?.len();
        let inner =
            Inner { path: path.to_owned(), file, size, largest, failing: false, torn: false };
        Ok(Self(Mutex::new(inner)))
    }

    /// Writes one line.
    pub fn record(&self, record: &AuditRecord<'_>) {
        let line = Line {
            time: Timestamp::now().to_string(),
            how: record.principal.map(|principal| principal.how.as_str()),
            id: record.principal.map(|principal| principal.id.as_str()),
            ip: record.ip,
            forwarded_for: record.forwarded_for,
            method: record.method,
            route: record.route,
            operation: record.operation,
            status: record.status,
            duration_ms: record.took.as_secs_f64() * 1000.0,
            request_id: record.request_id,
        };
        // Text and numbers always serialise.
        let mut text = serde_json::to_vec(&line).unwrap_or_default();
        text.push(b'\n');
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match inner.write(&text) {
            Ok(()) => inner.failing = false,
            Err(error) if !inner.failing => {
                inner.failing = true;
                tracing::error!(%error, path = %inner.path.display(), "the audit log cannot be written; lines are lost");
            }
            Err(_) => {}
        }
    }
}

impl Inner {
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.size >= self.largest {
            let mut aside = self.path.clone().into_os_string();
            aside.push(".1");
            std::fs::rename(&self.path, aside)?;
            self.file = append(&self.path)?;
            self.size = 0;
            self.torn = false;
        }
        if self.torn {
            self.put(b"\n")?;
        }
        self.torn = false;
        self.put(line)
    }

    /// Writes all of it, or notes that a part may stand there.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(bytes);
        if written.is_err() {
            let length = self.file.metadata().map(|data| data.len());
            self.torn = length.as_ref().map_or(true, |length| *length > self.size);
            self.size = length.unwrap_or(self.size);
        } else {
            self.size += bytes.len() as u64;
        }
        written
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditLog")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::How;
    use crate::scopes::Scopes;
    use serde_json::Value;
    use std::os::unix::fs::PermissionsExt;

    fn record(principal: Option<&Principal>) -> AuditRecord<'_> {
        AuditRecord {
            principal,
            ip: Some("127.0.0.1"),
            forwarded_for: None,
            method: "POST",
            route: "/v1/bash/exec",
            operation: "bash_exec",
            status: 200,
            took: Duration::from_millis(2),
            request_id: "r",
        }
    }

    #[test]
    fn each_request_is_one_json_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let log = AuditLog::open(&path).unwrap();
        let hostile = Principal { how: How::Token, id: "a\"\n{}".to_owned(), scopes: Scopes::ALL };
        log.record(&record(Some(&hostile)));
        log.record(&record(None));
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!((&lines[0]["how"], &lines[0]["id"]), (&"token".into(), &"a\"\n{}".into()));
        assert_eq!(lines[0]["operation"], "bash_exec");
        assert!(lines[1]["id"].is_null());
        assert!(lines[0]["time"].as_str().unwrap().ends_with('Z'), "{text}");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_full_disk_costs_lines_and_nothing_else() {
        let Ok(log) = AuditLog::open(Path::new("/dev/full")) else {
            eprintln!("there is no /dev/full here");
            return;
        };
        for _ in 0..3 {
            log.record(&record(None));
        }
        let inner = log.0.lock().unwrap();
        assert!(inner.failing && !inner.torn);
    }

    #[test]
    fn a_line_after_one_that_broke_off_begins_on_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let log = AuditLog::open(&path).unwrap();
        log.record(&record(None));
        {
            let mut inner = log.0.lock().unwrap();
            inner.put(b"{\"time\":").unwrap();
            inner.torn = true;
        }
        log.record(&record(None));
        log.record(&record(None));
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = text.lines().map(serde_json::from_str::<Value>).collect();
        let good: Vec<_> = lines.iter().map(Result::is_ok).collect();
        assert_eq!(good, [true, false, true, true], "{text}");
    }

    #[test]
    fn it_never_takes_more_than_twice_its_size() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let log = AuditLog::open_bounded(&path, 1000).unwrap();
        for _ in 0..100 {
            log.record(&record(None));
        }
        let size = |name: &str| std::fs::metadata(directory.path().join(name)).unwrap().len();
        assert!(size("audit.jsonl") < 1300 && size("audit.jsonl.1") < 1300);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
