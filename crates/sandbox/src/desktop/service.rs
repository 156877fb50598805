//! What the desktop's operations share.

use std::sync::Arc;
use std::time::Duration;

use atoll_desktop::{Desktop, Options, Session, Size};
use atoll_operation::{Context, Error, Kind};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::bring::Usher;
use super::error::failure;
use crate::browser::Browsers;
use crate::file::Files;
use crate::programs::Programs;

/// How long the browser may keep an operation waiting.
const BROWSER: Duration = Duration::from_mins(1);
/// Told when the browser was started again.
const MOVED: &str = "the browser ran without a window; it was started again on the desktop and its pages were loaded anew (ATOLL_BROWSER_ON_DESKTOP=true has it there from the start)";

/// How the operator wants the desktop.
#[derive(Debug, Clone, Default)]
pub struct DesktopSettings {
    /// Offer none; the browser has no window then.
    pub disabled: bool,
    /// Have the browser on it from its start, instead of once the desktop is needed.
    pub browser_always: bool,
}

/// The desktop capability.
#[derive(Debug)]
pub struct Desktops {
    pub(super) desktop: Arc<Desktop>,
    pub(super) programs: Programs,
    pub(super) files: Arc<Files>,
    usher: Arc<Usher>,
    settings: DesktopSettings,
}

impl Desktops {
    /// Starts nothing yet.
    pub fn new(
        programs: &Programs,
        files: &Arc<Files>,
        browsers: &Arc<Browsers>,
        desktop: Arc<Desktop>,
        settings: DesktopSettings,
    ) -> Arc<Self> {
        Arc::new(Self {
            desktop,
            programs: programs.clone(),
            files: Arc::clone(files),
            usher: Usher::new(browsers),
            settings,
        })
    }

    /// The desktop itself, for those that show something on it.
    pub(crate) fn mechanism(programs: &Programs, window: (u32, u32)) -> Arc<Desktop> {
        let foundation = programs.foundation();
        let side = |side: u32| u16::try_from(side.clamp(64, 16_384)).unwrap_or(1024);
        let options = Options {
            size: Size { width: side(window.0), height: side(window.1) },
            directory: foundation.runtime_dir.clone(),
            home: foundation.home.clone(),
            environment: programs.environment(None),
        };
        Desktop::new(programs.spawner().clone(), programs.tasks().clone(), options)
    }

    /// Ends it.
    pub async fn close(&self) {
        self.desktop.stop().await;
    }

    /// Whether the operator wants none.
    pub(crate) fn is_disabled(&self) -> bool {
        self.settings.disabled
    }

    /// Its X server's process, when it runs.
    pub(crate) fn pid(&self) -> Option<i32> {
        self.desktop.running().map(|session| session.pid())
    }

    /// Starts it with the browser on it, if it does not run.
    pub(crate) async fn start(&self) -> Result<(), Error> {
        self.session_at_once().await.map(|_| ())
    }

    pub(crate) fn is_available(&self) -> bool {
        !self.settings.disabled && self.desktop.is_installed()
    }

    /// The desktop as it runs, with the browser on it: a screen without anything on it is of no use to anybody. `cx` is
    /// told when the browser was started again for that.
    pub(super) async fn session(&self, cx: &Context) -> Result<Arc<Session>, Error> {
        let session = self.bare().await?;
        if self.usher.is_wanted(&session) {
            match timeout(BROWSER, self.show_browser(&session)).await {
                Ok(Ok(true)) => cx.hint(MOVED),
                Ok(_) => {}
                Err(_) => {
                    tracing::warn!("the browser takes its time; the desktop is used without it");
                }
            }
        }
        Ok(session)
    }

    /// The same without waiting for the browser, for viewers who will see it come.
    pub(super) async fn session_at_once(&self) -> Result<Arc<Session>, Error> {
        let session = self.bare().await?;
        if self.usher.is_wanted(&session) {
            drop(self.show_browser(&session));
        }
        Ok(session)
    }

    /// Goes on when nobody waits for it: half of it would be a browser without its pages.
    fn show_browser(&self, session: &Arc<Session>) -> JoinHandle<bool> {
        let (usher, session) = (Arc::clone(&self.usher), Arc::clone(session));
        let stop = self.programs.foundation().stop.clone();
        self.programs.tasks().spawn(async move {
            stop.run_until_cancelled(usher.show(&session)).await.unwrap_or(false)
        })
    }

    /// The desktop as it runs, whatever is on it.
    pub(super) async fn bare(&self) -> Result<Arc<Session>, Error> {
        if self.settings.disabled {
            return Err(Error::new(
                Kind::Unavailable,
                "desktop.disabled",
                "the desktop is switched off in this sandbox (DISABLE_VNC)",
            ));
        }
        if let Some(session) = self.desktop.running() {
            return Ok(session);
        }
        let session = self.desktop.session().await.map_err(failure)?;
        self.usher.new_desktop();
        Ok(session)
    }
}
