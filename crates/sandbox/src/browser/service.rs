//! What the browser's operations share.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use atoll_api::browser::PageState;
use atoll_api::file::{ReadFile, ResolvePath, WriteFile};
use atoll_browser::{Browser, Limits, Options, Policies, Stage, Tab};
use atoll_operation::{Context, Error, Handle, Kind};

use super::error::failure;
use super::profile::Profile;
use crate::file::Files;
use crate::programs::Programs;

/// Tokens of snapshots that are remembered as the last of their kind.
const LATEST: usize = 4096;

/// How the operator wants the browser.
#[derive(Debug, Clone)]
pub struct BrowserSettings {
    /// Offer none.
    pub disabled: bool,
    /// Start it with the server.
    pub warm: bool,
    /// The program; one is looked for otherwise.
    pub executable: Option<PathBuf>,
    /// The X display to show it on; it has no window otherwise.
    pub display: Option<String>,
    /// Width and height of the window.
    pub window: (u32, u32),
    /// Whether pages are locked in; where that is possible when `None`.
    pub sandbox: Option<bool>,
    /// Language of its pages.
    pub locale: Option<String>,
    /// What it tells servers it is.
    pub user_agent: Option<String>,
    /// More of its command line.
    pub extra_arguments: Vec<String>,
    /// What its first tab shows.
    pub homepage: Option<String>,
    /// Whether pages may open file dialogs; the browser decides when `None`.
    pub allow_file_selection_dialogs: Option<bool>,
}

impl Default for BrowserSettings {
    fn default() -> Self {
        Self {
            disabled: false,
            warm: false,
            executable: None,
            display: None,
            window: (1280, 1024),
            sandbox: None,
            locale: None,
            user_agent: None,
            extra_arguments: Vec::new(),
            homepage: None,
            allow_file_selection_dialogs: None,
        }
    }
}

/// The browser capability.
#[derive(Debug)]
pub struct Browsers {
    pub(super) settings: BrowserSettings,
    pub(super) programs: Programs,
    pub(super) files: Arc<Files>,
    /// What it shows itself on.
    stage: Option<Arc<dyn Stage>>,
    engine: OnceLock<Engine>,
    /// The last snapshot of each kind, by tab.
    latest: Mutex<HashMap<(String, &'static str), String>>,
    /// Where recordings under way shall go, by tab.
    pub(super) recordings: Mutex<VecDeque<(String, Option<String>)>>,
}

#[derive(Debug)]
struct Engine {
    browser: Arc<Browser>,
    _profile: Profile,
}

/// A page that an operation is about.
pub(super) struct Page<'a> {
    pub(super) tab: Arc<Tab>,
    cx: &'a Context,
}

impl Browsers {
    /// Starts nothing yet, unless it shall be warm.
    pub fn new(
        programs: &Programs,
        files: &Arc<Files>,
        stage: Option<Arc<dyn Stage>>,
        settings: BrowserSettings,
    ) -> Arc<Self> {
        let browsers = Arc::new(Self {
            settings,
            programs: programs.clone(),
            files: Arc::clone(files),
            stage,
            engine: OnceLock::new(),
            latest: Mutex::default(),
            recordings: Mutex::default(),
        });
        if browsers.settings.warm && !browsers.settings.disabled {
            let browsers = Arc::clone(&browsers);
            programs.tasks().spawn(async move {
                if let Err(error) = browsers.context(None).await {
                    tracing::warn!(%error, "the browser could not be started ahead");
                }
            });
        }
        browsers
    }

    /// Tabs of all contexts.
    pub fn count(&self) -> usize {
        let contexts = self.engine.get().map(|engine| engine.browser.contexts());
        contexts.into_iter().flatten().map(|context| context.tabs().len()).sum()
    }

    /// Whether the operator wants none.
    pub(crate) fn is_disabled(&self) -> bool {
        self.settings.disabled
    }

    /// Whether there is a program to start.
    pub(crate) fn is_installed(&self) -> bool {
        let environment = self.programs.environment(None);
        atoll_browser::is_installed(self.settings.executable.as_deref(), &environment)
    }

    /// Its main process, when it runs.
    pub(crate) fn pid(&self) -> Option<i32> {
        self.engine.get().and_then(|engine| engine.browser.pid())
    }

    /// The port of its DevTools, when it runs.
    pub(crate) fn debug_port(&self) -> Option<u16> {
        self.engine.get().and_then(|engine| engine.browser.debug_port())
    }

    /// Starts it, if it does not run.
    pub(crate) async fn start(&self) -> Result<(), Error> {
        self.context(None).await.map(|_| ())
    }

    /// Ends it.
    pub async fn close(&self) {
        if let Some(engine) = self.engine.get() {
            engine.browser.stop().await;
        }
    }

    /// The browser, whether it runs or not.
    pub(crate) fn browser(&self) -> Result<&Arc<Browser>, Error> {
        if self.settings.disabled {
            return Err(Error::new(
                Kind::Unavailable,
                "browser.disabled",
                "the browser is switched off in this sandbox (DISABLE_BROWSER)",
            ));
        }
        Ok(&self.engine.get_or_init(|| self.engine()).browser)
    }

    fn engine(&self) -> Engine {
        let foundation = self.programs.foundation();
        let profile = Profile::choose(&foundation.home, &foundation.runtime_dir);
        let bounds = &foundation.limits;
        let size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let settings = &self.settings;
        let options = Options {
            executable: settings.executable.clone(),
            display: settings.display.clone(),
            stage: self.stage.clone().filter(|_| settings.display.is_none()),
            window: settings.window,
            user_data: profile.directory.clone(),
            downloads: foundation.home.join("Downloads"),
            directory: foundation.runtime_dir.clone(),
            environment: self.programs.environment(None),
            sandbox: settings.sandbox,
            locale: settings.locale.clone(),
            user_agent: settings.user_agent.clone(),
            extra_arguments: super::outlet::arguments(&self.programs, &settings.extra_arguments),
            homepage: settings.homepage.clone(),
            policies: Policies {
                allow_file_selection_dialogs: settings.allow_file_selection_dialogs,
                ..Policies::default()
            },
            policy_directory: None,
            limits: Limits {
                contexts: size(bounds.browser_contexts),
                tabs: size(bounds.browser_tabs),
                console_entries: size(bounds.browser_console_records),
                network_entries: size(bounds.browser_requests),
                result_size: size(bounds.browser_result_size),
                recording_bytes: bounds.browser_recording_bytes,
            },
        };
        let spawner = self.programs.spawner().clone();
        let browser = Browser::new(spawner, self.programs.tasks().clone(), options);
        Engine { browser, _profile: profile }
    }

    /// A context by name; starts the browser if need be.
    pub(super) async fn context(
        &self,
        name: Option<&str>,
    ) -> Result<Arc<atoll_browser::Context>, Error> {
        self.browser()?.context(name).await.map_err(failure)
    }

    /// The active page of a context.
    pub(super) async fn page<'a>(
        &self,
        cx: &'a Context,
        context: Option<&str>,
    ) -> Result<Page<'a>, Error> {
        let context = self.context(context).await?;
        let tab = context.active_tab().await.map_err(failure)?;
        Ok(Page { tab, cx })
    }

    /// The token meant by `since`: `last` is the last snapshot of this kind.
    pub(super) fn since(
        &self,
        page: &Page<'_>,
        kind: &'static str,
        since: Option<String>,
    ) -> Option<String> {
        let since = since.filter(|since| !since.is_empty())?;
        if since != "last" {
            return Some(since);
        }
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.get(&(page.tab.id().to_owned(), kind)).cloned()
    }

    /// Remembers a snapshot as the last of its kind.
    pub(super) fn remember(&self, page: &Page<'_>, kind: &'static str, token: &str) {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.len() >= LATEST {
            latest.clear();
        }
        latest.insert((page.tab.id().to_owned(), kind), token.to_owned());
    }

    /// Writes a text to a file of the sandbox; its path.
    pub(super) async fn write(
        &self,
        cx: &Context,
        file: String,
        content: String,
    ) -> Result<String, Error> {
        let order = WriteFile { file, content, ..WriteFile::default() };
        Ok(Handle::<WriteFile>::handle(&*self.files, cx, order).await?.file)
    }

    /// The text of a file of the sandbox.
    pub(super) async fn read(&self, cx: &Context, file: String) -> Result<String, Error> {
        let order = ReadFile { file, ..ReadFile::default() };
        Ok(Handle::<ReadFile>::handle(&*self.files, cx, order).await?.content)
    }

    /// The absolute path of a file of the sandbox that is there.
    pub(super) async fn existing(&self, cx: &Context, path: String) -> Result<PathBuf, Error> {
        let resolved =
            Handle::<ResolvePath>::handle(&*self.files, cx, ResolvePath { path }).await?;
        Ok(resolved.resolved_path.into())
    }
}

impl Page<'_> {
    /// The outcome of an operation on the page, with what the page wants to tell beside it.
    pub(super) fn outcome<T>(&self, result: atoll_browser::Result<T>) -> Result<T, Error> {
        self.noted(result, None)
    }

    /// The same with a note of our own.
    pub(super) fn noted<T>(
        &self,
        result: atoll_browser::Result<T>,
        note: Option<String>,
    ) -> Result<T, Error> {
        let mut hints = self.tab.take_hints();
        hints.extend(note);
        let hint = hints.join("; ");
        match result {
            Ok(value) => {
                if !hint.is_empty() {
                    self.cx.hint(hint);
                }
                Ok(value)
            }
            Err(error) if hint.is_empty() => Err(failure(error)),
            Err(error) => Err(failure(error).with_hint(hint)),
        }
    }

    /// What the page is after an operation.
    pub(super) async fn state<T>(
        &self,
        result: atoll_browser::Result<T>,
    ) -> Result<PageState, Error> {
        let title = match &result {
            Ok(_) => self.tab.title().await.unwrap_or_default(),
            Err(_) => String::new(),
        };
        self.outcome(result)?;
        Ok(PageState { url: self.tab.url(), title })
    }
}

/// How long an operation may take.
pub(super) fn patience(seconds: Option<f64>, otherwise: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.unwrap_or(otherwise)).unwrap_or_default()
}
