//! How the browser shall be.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;

/// How the browser shall be.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program; `None` looks for one.
    pub executable: Option<PathBuf>,
    /// The X display to show it on, such as `:99`; `None` runs it without a window.
    pub display: Option<String>,
    /// What shows it, asked each time it starts; where that is nothing, `display` counts.
    pub stage: Option<Arc<dyn Stage>>,
    /// Size of its window in pixels.
    pub window: (u32, u32),
    /// Its profile: what it keeps from one start to the next.
    pub user_data: PathBuf,
    /// Where downloads go.
    pub downloads: PathBuf,
    /// Private directory for what it prints.
    pub directory: PathBuf,
    /// Everything it sees; nothing is inherited.
    pub environment: BTreeMap<String, String>,
    /// Whether it shall lock its pages in; `None` does so where that is possible.
    pub sandbox: Option<bool>,
    /// Language of its pages, such as `de-DE`.
    pub locale: Option<String>,
    /// What it says it is.
    pub user_agent: Option<String>,
    /// More of its command line.
    pub extra_arguments: Vec<String>,
    /// What its first tab shows.
    pub homepage: Option<String>,
    /// What it must and must not do.
    pub policies: Policies,
    /// Directory in which Chromium looks for policies; `None` for the program's own.
    pub policy_directory: Option<PathBuf>,
    /// Bounds.
    pub limits: Limits,
}

/// What a browser shows itself on: a desktop that starts when it is needed.
pub trait Stage: fmt::Debug + Send + Sync {
    /// Prepares it; `None` when there is none, and the browser runs without a window.
    fn enter(&self) -> BoxFuture<'_, Option<Scene>>;

    /// How large it is at this moment.
    fn size(&self) -> (u32, u32);
}

/// A stage that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scene {
    /// The X display.
    pub display: String,
    /// What the program must be told besides.
    pub environment: BTreeMap<String, String>,
    /// Size of the display.
    pub window: (u32, u32),
}

/// What an administrator may tell a Chromium.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policies {
    /// URLs that are not opened.
    pub url_blocklist: Option<Vec<String>>,
    /// Exceptions from these.
    pub url_allowlist: Option<Vec<String>>,
    /// Whether dialogs to choose files may open; `None` leaves it to the browser.
    pub allow_file_selection_dialogs: Option<bool>,
}

/// How much of everything.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Contexts beside the default one.
    pub contexts: usize,
    /// Tabs in a context.
    pub tabs: usize,
    /// Messages of the console kept per tab.
    pub console_entries: usize,
    /// Requests kept per context.
    pub network_entries: usize,
    /// Characters, and values, in the result of code.
    pub result_size: usize,
    /// Bytes of one recording.
    pub recording_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            contexts: 64,
            tabs: 100,
            console_entries: 1000,
            network_entries: 2000,
            result_size: 16 << 20,
            recording_bytes: 2 << 30,
        }
    }
}
