//! Bringing the browser onto the desktop.
//!
//! A browser that only pages are asked of runs without a window, which is cheaper. The first need of the desktop starts it
//! again with one: cookies and storage come along, session cookies included, and what was open is opened again. What a
//! page held in memory (a text typed but not sent) does not; those who mix pages and pixels have it start on the desktop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use atoll_browser::{Browser, Context, PolicyChange, Restart, RestartMode, Result, Until};
use atoll_desktop::Session;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use crate::browser::Browsers;

/// How long one page may take to be there again, and all of them.
const PAGE: Duration = Duration::from_secs(15);
const PAGES: Duration = Duration::from_mins(1);
/// How long its window may take.
const WINDOW: Duration = Duration::from_secs(30);
/// Pause between two looks for it.
const LOOK: Duration = Duration::from_millis(20);
/// How often it is started for one operation.
const ATTEMPTS: usize = 3;

/// Brings the browser onto the desktop.
#[derive(Debug)]
pub(super) struct Usher {
    browsers: Arc<Browsers>,
    one_at_a_time: Mutex<()>,
    /// The browser could not be brought onto this desktop; not every operation tries again.
    gave_up: AtomicBool,
}

impl Usher {
    pub(super) fn new(browsers: &Arc<Browsers>) -> Arc<Self> {
        Arc::new(Self {
            browsers: Arc::clone(browsers),
            one_at_a_time: Mutex::default(),
            gave_up: AtomicBool::default(),
        })
    }

    /// Another desktop is another chance.
    pub(super) fn new_desktop(&self) {
        self.gave_up.store(false, Ordering::Relaxed);
    }

    /// Whether the browser should be on this desktop and is not.
    pub(super) fn is_wanted(&self, session: &Session) -> bool {
        !self.gave_up.load(Ordering::Relaxed)
            && self.browsers.browser().is_ok_and(|browser| {
                // One that was told another display shows itself there.
                browser.options().stage.is_some() && !is_shown(browser, session)
            })
    }

    /// Has the browser show itself, and waits for its window. Whether it had to be started again for that.
    pub(super) async fn show(&self, session: &Session) -> bool {
        let _one_at_a_time = self.one_at_a_time.lock().await;
        let Ok(browser) = self.browsers.browser() else { return false };
        let mut moved = false;
        for _ in 0..ATTEMPTS {
            if !is_shown(browser, session) {
                match bring(browser).await {
                    Ok(again) => moved |= again,
                    Err(error) => {
                        tracing::warn!(%error, "the desktop is shown without a browser");
                        break;
                    }
                }
            }
            // One that was about to end with an earlier desktop is started once more.
            let deadline = Instant::now() + WINDOW;
            while is_shown(browser, session) {
                match session.windows().await {
                    Ok(windows) if windows.is_empty() && Instant::now() < deadline => {
                        sleep(LOOK).await;
                    }
                    _ => return moved,
                }
            }
        }
        self.gave_up.store(true, Ordering::Relaxed);
        moved
    }
}

fn is_shown(browser: &Browser, session: &Session) -> bool {
    browser.is_running() && browser.options().display.as_deref() == Some(session.display())
}

/// Starts it where it can be seen. Whether it had to be started again for that.
async fn bring(browser: &Browser) -> Result<bool> {
    if !browser.is_running() {
        browser.context(None).await?;
        return Ok(false);
    }
    let mut held = Vec::new();
    for context in browser.contexts() {
        held.push(Held::of(&context).await);
    }
    let policies = PolicyChange::default();
    browser.restart(&Restart { mode: RestartMode::Hard, policies, locale: None }).await?;
    let open_again = async {
        for held in held {
            if let Err(error) = held.open_again(browser).await {
                tracing::warn!(%error, "what was open in a context is not open on the desktop");
            }
        }
    };
    if timeout(PAGES, open_again).await.is_err() {
        tracing::warn!("not every page that was open is open on the desktop");
    }
    Ok(true)
}

/// What a context held.
struct Held {
    name: String,
    /// Cookies and local storage.
    state: Option<Value>,
    addresses: Vec<String>,
    /// Which of them operations were about.
    active: Option<usize>,
}

impl Held {
    async fn of(context: &Arc<Context>) -> Self {
        let tabs = context.tabs();
        let state = context.save_state().await;
        if let Err(error) = &state {
            tracing::warn!(%error, "cookies of a context do not come along to the desktop");
        }
        Self {
            name: context.name().to_owned(),
            state: state.ok().map(|(state, _)| state),
            active: tabs.iter().position(|tab| context.is_active(tab)),
            addresses: tabs.iter().map(|tab| tab.url()).collect(),
        }
    }

    async fn open_again(self, browser: &Browser) -> Result<()> {
        let context = browser.context(Some(&self.name)).await?;
        if let Some(state) = self.state {
            context.load_state(state).await?;
        }
        for (index, address) in self.addresses.iter().enumerate() {
            // The first tab is there already, or made when it is asked for.
            let tab = match index {
                0 => context.active_tab().await?,
                _ => context.new_tab(None).await?.1,
            };
            let blank = address.is_empty() || address == "about:blank";
            if !blank && let Err(error) = tab.navigate(address, Until::Load, PAGE).await {
                tracing::info!(%error, "a page is not there again yet");
            }
        }
        if let Some(active) = self.active {
            context.activate(active).await?;
        }
        Ok(())
    }
}
