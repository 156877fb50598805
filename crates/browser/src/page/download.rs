//! Downloads of a context.
//!
//! The browser writes each under a name of its own into a hidden directory; when one is complete it moves to where
//! downloads go, under the name it should have, and never over another file.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Error;

/// Downloads that are remembered.
const REMEMBERED: usize = 200;
/// Names tried for one.
const NAMES: usize = 10_000;

/// A download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// The browser's name for it.
    pub id: String,
    /// Where from.
    pub url: String,
    /// What the file should be called.
    pub suggested_filename: String,
    /// Where it lies, once it is complete.
    pub path: Option<PathBuf>,
    /// How far it is.
    pub state: DownloadState,
    /// Bytes so far.
    pub received_bytes: u64,
    /// Bytes in all, if known.
    pub total_bytes: Option<u64>,
}

/// How far a download is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownloadState {
    /// Under way.
    InProgress,
    /// All there.
    Completed,
    /// Cancelled or failed.
    Cancelled,
}

/// The downloads of a context, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Downloads(Mutex<VecDeque<Entry>>);

#[derive(Debug)]
struct Entry {
    download: Download,
    /// Whether somebody who waited for a download got this one.
    claimed: bool,
}

impl Downloads {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self, params: &Value) {
        let text = |field: &str| params[field].as_str().unwrap_or_default().to_owned();
        let download = Download {
            id: text("guid"),
            url: text("url"),
            suggested_filename: text("suggestedFilename"),
            path: None,
            state: DownloadState::InProgress,
            received_bytes: 0,
            total_bytes: None,
        };
        let mut entries = self.lock();
        if entries.len() >= REMEMBERED {
            entries.pop_front();
        }
        entries.push_back(Entry { download, claimed: false });
    }

    /// Whether it was about one of these. What is complete is moved below `directory`.
    pub(crate) fn progress(&self, params: &Value, directory: &Path) -> bool {
        let id = params["guid"].as_str().unwrap_or_default();
        let mut entries = self.lock();
        let Some(entry) = entries.iter_mut().find(|entry| entry.download.id == id) else {
            return false;
        };
        let download = &mut entry.download;
        let count = |field: &str| {
            let number = params[field].as_f64().filter(|number| *number > 0.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count of bytes"
            )]
            number.map(|number| number as u64)
        };
        download.received_bytes = count("receivedBytes").unwrap_or_default();
        download.total_bytes = count("totalBytes");
        match (params["state"].as_str(), download.state) {
            (Some("completed"), DownloadState::InProgress) => {
                match moved(directory, id, &download.suggested_filename) {
                    Ok(path) => {
                        download.path = Some(path);
                        download.state = DownloadState::Completed;
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a download could not be moved to its place");
                        download.state = DownloadState::Cancelled;
                    }
                }
            }
            (Some("canceled"), _) => download.state = DownloadState::Cancelled,
            _ => {}
        }
        true
    }

    /// The oldest that nobody got yet, taken if it has ended.
    fn claim(&self) -> Option<Download> {
        let mut entries = self.lock();
        let entry = entries.iter_mut().find(|entry| !entry.claimed)?;
        if entry.download.state == DownloadState::InProgress {
            return None;
        }
        entry.claimed = true;
        Some(entry.download.clone())
    }
}

/// Where the browser writes downloads until they are complete.
pub(crate) fn incoming(directory: &Path) -> PathBuf {
    directory.join(".incoming")
}

/// Gives a complete download its name, or one like it that is free.
fn moved(directory: &Path, id: &str, name: &str) -> io::Result<PathBuf> {
    let from = incoming(directory).join(id);
    let name = Path::new(name).file_name().unwrap_or(OsStr::new("download"));
    let name = Path::new(name);
    let stem = name.file_stem().unwrap_or_default().to_string_lossy();
    let extension = name.extension().map(|end| format!(".{}", end.to_string_lossy()));
    for number in 0..NAMES {
        let candidate = match number {
            0 => directory.join(name),
            _ => directory
                .join(format!("{stem} ({number}){}", extension.as_deref().unwrap_or_default())),
        };
        match renameat_with(CWD, &from, CWD, &candidate, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(candidate),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

impl Context {
    /// What is to be done with downloads.
    pub(crate) fn download_behavior(&self) -> Value {
        let mut params = json!({
            "behavior": "allowAndName",
            "downloadPath": incoming(&self.options().downloads),
            "eventsEnabled": true,
        });
        if let Some(id) = self.id() {
            params["browserContextId"] = Value::from(id);
        }
        params
    }

    /// Has what is downloaded from now on come here: another client of the browser may have taken it to itself.
    pub(crate) fn take_downloads(&self) {
        if !self.is_shared() {
            return;
        }
        // Nobody waits for the answer: commands are carried out in order.
        drop(self.root().start("Browser.setDownloadBehavior", self.download_behavior()));
    }

    /// Its downloads, the oldest first.
    pub fn downloads(&self) -> Vec<Download> {
        self.downloads.lock().iter().map(|entry| entry.download.clone()).collect()
    }

    /// Waits for the end of a download: the oldest that was not waited for before, whether it began already or not.
    pub async fn next_download(self: &Arc<Self>, within: Duration) -> Result<Download, Error> {
        let mut changes = self.changes();
        let ended = async {
            loop {
                if let Some(download) = self.downloads.claim() {
                    return match download.state {
                        DownloadState::Completed => Ok(download),
                        _ => Err(Error::DownloadFailed { url: download.url }),
                    };
                }
                self.check()?;
                if changes.changed().await.is_err() {
                    return Err(Error::TabClosed);
                }
            }
        };
        tokio::time::timeout(within, ended).await.unwrap_or_else(|_| {
            let under_way = self.downloads().into_iter().rev();
            let hint = under_way
                .filter(|download| download.state == DownloadState::InProgress)
                .map(|download| {
                    format!(
                        "; {} is under way with {} bytes",
                        download.url, download.received_bytes
                    )
                })
                .next();
            let what = "a download".to_owned();
            Err(Error::Timeout { what, after: within, hint: hint.unwrap_or_default() })
        })
    }
}
