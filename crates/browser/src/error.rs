//! Why something could not be done with the browser.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use atoll_cdp::CdpError;
use atoll_process::SpawnError;
use thiserror::Error;

use crate::element::ElementError;
use crate::network::NetworkError;
use crate::state::StateError;

/// Why something could not be done with the browser.
#[derive(Debug, Error)]
pub enum Error {
    /// There is no Chromium here.
    #[error("no Chromium is installed here; looked for {looked_for}")]
    NotInstalled {
        /// Where it was looked for.
        looked_for: String,
    },
    /// It could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// It started, but did not come up.
    #[error("{} did not come up: {reason}", .program.display())]
    NotReady {
        /// The program.
        program: PathBuf,
        /// What it said, or how it ended.
        reason: String,
    },
    /// Something on disk could not be prepared or written.
    #[error("{} could not be written: {source}", .path.display())]
    Write {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What it must and must not do could not be told it.
    #[error(
        "the browser's policies cannot be written to {} ({source}); let the server's user write there, or do without them",
        .path.display()
    )]
    Policies {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It died, or was ended, while this was under way.
    #[error("the browser is gone ({why}); the next operation starts a new one")]
    BrowserGone {
        /// Why.
        why: String,
    },
    /// A context's name is nothing a context can be called.
    #[error(
        "{name:?} cannot name a browser context: use up to 128 letters, digits, '-', '_', '.', ':'"
    )]
    ContextName {
        /// The name.
        name: String,
    },
    /// As many contexts as there may be.
    #[error("there are {max} browser contexts already, and no more are allowed; close one")]
    TooManyContexts {
        /// How many there may be.
        max: usize,
    },
    /// As many tabs as there may be.
    #[error("there are {max} tabs already, and no more are allowed; close one")]
    TooManyTabs {
        /// How many there may be.
        max: usize,
    },
    /// No tab has this number.
    #[error("there is no tab {index}; there are {count}, numbered from 0")]
    NoSuchTab {
        /// The number.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The tab was closed meanwhile.
    #[error("the tab was closed")]
    TabClosed,
    /// The page's process died, for want of memory, say.
    #[error("the page has crashed ({why}); reload it, or navigate elsewhere")]
    TabCrashed {
        /// What the browser said.
        why: String,
    },
    /// A frame went away meanwhile.
    #[error("the frame is no longer part of the page")]
    FrameGone,
    /// The document went away meanwhile.
    #[error(
        "the page moved on to another document while this was under way; wait for it to load and try again"
    )]
    Navigated,
    /// Not a URL.
    #[error("{url:?} is no URL that can be opened: {reason}")]
    InvalidUrl {
        /// What was given.
        url: String,
        /// Why.
        reason: String,
    },
    /// A URL that would do harm.
    #[error("{url} is not opened: {reason}")]
    RefusedUrl {
        /// What was given.
        url: String,
        /// Why.
        reason: String,
    },
    /// The page could not be loaded.
    #[error("{url} could not be loaded: {reason}")]
    NavigationFailed {
        /// Where to.
        url: String,
        /// What the browser says, such as `net::ERR_CONNECTION_REFUSED`.
        reason: String,
    },
    /// There is nowhere to go back or forward to.
    #[error("there is no page to go {direction} to")]
    NoHistory {
        /// `back` or `forward`.
        direction: &'static str,
    },
    /// What was waited for did not happen.
    #[error("{what} did not happen within {} ms{hint}", .after.as_millis())]
    Timeout {
        /// What was waited for.
        what: String,
        /// How long.
        after: Duration,
        /// What to do, with a separator before it; may be empty.
        hint: String,
    },
    /// Code of the page, or code given for it, threw.
    #[error("{name}: {message}")]
    Script {
        /// Its kind, such as `TypeError`.
        name: String,
        /// What it says.
        message: String,
        /// Where it came from.
        stack: String,
    },
    /// Code that is no JavaScript.
    #[error("this is no JavaScript: {message}")]
    Syntax {
        /// What the browser says.
        message: String,
    },
    /// Code that did not end in time; it was stopped.
    #[error("the code did not end within {} ms and was stopped; the page lives on", .after.as_millis())]
    ScriptTimeout {
        /// How long it had.
        after: Duration,
    },
    /// Code that returned more than may be.
    #[error("the result is larger than {max} characters or values; return less of it")]
    ResultTooLarge {
        /// How much there may be.
        max: usize,
    },
    /// Not a pattern for URLs.
    #[error("{pattern:?} is no pattern for URLs: {reason}")]
    InvalidPattern {
        /// What was given.
        pattern: String,
        /// Why.
        reason: String,
    },
    /// A download that did not end well.
    #[error("the download of {url} was cancelled or failed")]
    DownloadFailed {
        /// What was downloaded.
        url: String,
    },
    /// What cannot be pictured.
    #[error("no picture can be taken: {reason}")]
    Picture {
        /// Why.
        reason: String,
    },
    /// Recording is not in the state for this.
    #[error("{reason}")]
    Recording {
        /// Why.
        reason: String,
    },
    /// Something with an element of the page.
    #[error(transparent)]
    Element(#[from] ElementError),
    /// Something with its requests.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// Something with its cookies or storage.
    #[error(transparent)]
    State(#[from] StateError),
    /// The browser did not do what it was told.
    #[error(transparent)]
    Protocol(CdpError),
}

impl From<CdpError> for Error {
    fn from(error: CdpError) -> Self {
        match error {
            CdpError::Closed { why } => Self::BrowserGone { why },
            CdpError::Connect { ref reason, .. } => Self::BrowserGone { why: reason.clone() },
            CdpError::SessionGone { .. } => Self::TabClosed,
            other => Self::Protocol(other),
        }
    }
}
