//! A browser context: cookies, storage and tabs of one agent, apart from those of others.

use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use atoll_cdp::{CdpError, Session};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::error::Error;
use crate::instance::Instance;
use crate::network::Network;
use crate::options::Options;
use crate::page::{Downloads, Until, check_url};
use crate::tab::{Life, Tab};

/// How long opening and closing a tab may take.
const TAB: Duration = Duration::from_secs(30);

/// A browser context.
#[derive(Debug)]
pub struct Context {
    name: String,
    /// `None` for the default one.
    id: Option<String>,
    instance: Weak<Instance>,
    root: Session,
    options: Arc<Options>,
    tasks: TaskTracker,
    tabs: Mutex<Tabs>,
    changes: watch::Sender<u64>,
    /// One tab is made at a time, so that it is known which is which.
    making: tokio::sync::Mutex<()>,
    network: Arc<Network>,
    pub(crate) downloads: Downloads,
}

#[derive(Debug, Default)]
struct Tabs {
    list: Vec<Arc<Tab>>,
    /// Target of the tab that operations are about.
    active: Option<Arc<str>>,
    /// The tab that opens another one right now, and what for.
    opening: Option<(Weak<Tab>, String)>,
    /// Pages for our own use.
    hidden: Vec<Arc<Tab>>,
    /// Whether the next page is to be one of these.
    next_is_hidden: bool,
}

/// A page for our own use: no tab anybody sees. It is closed when dropped.
#[derive(Debug)]
pub struct HiddenTab {
    tab: Arc<Tab>,
    root: Session,
}

impl Deref for HiddenTab {
    type Target = Arc<Tab>;

    fn deref(&self) -> &Arc<Tab> {
        &self.tab
    }
}

impl Drop for HiddenTab {
    fn drop(&mut self) {
        // Nobody waits for it.
        drop(self.root.start("Target.closeTarget", json!({ "targetId": self.tab.id() })));
    }
}

impl Context {
    pub(crate) fn new(instance: &Arc<Instance>, name: &str, id: Option<String>) -> Arc<Self> {
        let options = instance.options().clone();
        Arc::new(Self {
            name: name.to_owned(),
            id,
            instance: Arc::downgrade(instance),
            root: instance.root(),
            tasks: instance.tasks().clone(),
            tabs: Mutex::default(),
            changes: watch::channel(0).0,
            making: tokio::sync::Mutex::default(),
            network: Arc::new(Network::new(&options)),
            downloads: Downloads::default(),
            options,
        })
    }

    /// What it is called here.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the browser calls it; `None` for the default one, which goes unnamed in commands.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The way to the browser itself.
    pub fn root(&self) -> &Session {
        &self.root
    }

    /// How the browser is.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// For work that goes on beside its operations.
    pub fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Its requests.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Sends the browser a command about this context.
    pub async fn command(&self, method: &str, mut params: Value) -> Result<Value, Error> {
        if let Some(id) = &self.id {
            params["browserContextId"] = Value::from(id.as_str());
        }
        self.root.command(method, params).await.map_err(|error| self.explain(error))
    }

    /// Its tabs, in the order they were opened. A tab's index is its place in this list.
    pub fn tabs(&self) -> Vec<Arc<Tab>> {
        self.lock().list.clone()
    }

    /// A tab by its index.
    pub fn tab(&self, index: usize) -> Result<Arc<Tab>, Error> {
        let tabs = self.lock();
        tabs.list.get(index).cloned().ok_or(Error::NoSuchTab { index, count: tabs.list.len() })
    }

    /// The index of a tab.
    pub fn index_of(&self, tab: &Tab) -> Option<usize> {
        self.lock().list.iter().position(|known| known.id() == tab.id())
    }

    /// The tab that operations are about; a new one if there is none.
    pub async fn active_tab(self: &Arc<Self>) -> Result<Arc<Tab>, Error> {
        let active = {
            let tabs = self.lock();
            tabs.list.iter().find(|tab| Some(tab.id()) == tabs.active.as_deref()).cloned()
        };
        match active {
            Some(tab) => {
                tab.ready().await?;
                Ok(tab)
            }
            None => Ok(self.new_tab(None).await?.1),
        }
    }

    /// Whether operations are about this tab.
    pub fn is_active(&self, tab: &Tab) -> bool {
        self.lock().active.as_deref() == Some(tab.id())
    }

    /// Opens a tab, loads a page in it, and makes it the one that operations are about. If the page cannot be loaded
    /// nothing has changed.
    pub async fn new_tab(self: &Arc<Self>, url: Option<&str>) -> Result<(usize, Arc<Tab>), Error> {
        if let Some(url) = url {
            check_url(url)?;
        }
        let max = self.options.limits.tabs;
        if self.lock().list.len() >= max {
            return Err(Error::TooManyTabs { max });
        }
        let tab = self.make(false).await?;
        if let Some(url) = url
            && let Err(error) = tab.navigate(url, Until::Load, TAB).await
        {
            self.close(&tab).await?;
            return Err(error);
        }
        let mut tabs = self.lock();
        tabs.active = Some(Arc::from(tab.id()));
        let index = tabs.list.iter().position(|known| known.id() == tab.id());
        Ok((index.unwrap_or_default(), tab.clone()))
    }

    /// Opens a page for our own use, which is not among the tabs.
    pub async fn hidden_tab(&self) -> Result<HiddenTab, Error> {
        let tab = self.make(true).await?;
        Ok(HiddenTab { tab, root: self.root.clone() })
    }

    async fn make(&self, hidden: bool) -> Result<Arc<Tab>, Error> {
        let _one_at_a_time = self.making.lock().await;
        self.lock().next_is_hidden = hidden;
        let params = json!({ "url": "about:blank", "background": hidden });
        let answer = self.command("Target.createTarget", params).await;
        let id = answer.map(|answer| answer["targetId"].as_str().unwrap_or_default().to_owned());
        let made = match id {
            Ok(id) => {
                let tab = self.until("the opening of a tab", |tabs| {
                    let list = if hidden { &tabs.hidden } else { &tabs.list };
                    list.iter().find(|tab| tab.id() == id).cloned()
                });
                tab.await
            }
            Err(error) => Err(error),
        };
        self.lock().next_is_hidden = false;
        let tab = made?;
        tab.ready().await?;
        Ok(tab)
    }

    /// Closes a tab. When it was the one that operations are about, the one before it takes its place.
    pub async fn close_tab(self: &Arc<Self>, index: usize) -> Result<(), Error> {
        let tab = self.tab(index)?;
        if self.id.is_none() && self.lock().list.len() == 1 {
            // A browser whose last window closes may end.
            self.new_tab(None).await?;
        }
        self.close(&tab).await
    }

    async fn close(&self, tab: &Tab) -> Result<(), Error> {
        let params = json!({ "targetId": tab.id() });
        let closed = self.root.command("Target.closeTarget", params).await;
        closed.map_err(|error| self.explain(error))?;
        let gone = |tabs: &Tabs| tabs.list.iter().all(|known| known.id() != tab.id()).then_some(());
        self.until("the closing of a tab", gone).await
    }

    /// Brings a tab to the front and makes it the one that operations are about.
    pub async fn activate(&self, index: usize) -> Result<Arc<Tab>, Error> {
        let tab = self.tab(index)?;
        let params = json!({ "targetId": tab.id() });
        let brought = self.root.command("Target.activateTarget", params).await;
        brought.map_err(|error| self.explain(error))?;
        self.lock().active = Some(Arc::from(tab.id()));
        Ok(tab)
    }

    /// Waits for something about the list of tabs.
    async fn until<T>(&self, what: &str, look: impl Fn(&Tabs) -> Option<T>) -> Result<T, Error> {
        let mut changes = self.changes.subscribe();
        let found = async {
            loop {
                if let Some(found) = look(&self.lock()) {
                    return Ok(found);
                }
                self.check()?;
                if changes.changed().await.is_err() {
                    return Err(Error::TabClosed);
                }
            }
        };
        tokio::time::timeout(TAB, found).await.unwrap_or_else(|_| {
            Err(Error::Timeout { what: what.to_owned(), after: TAB, hint: String::new() })
        })
    }

    pub(crate) fn weak_instance(&self) -> &Weak<Instance> {
        &self.instance
    }

    /// Whether the browser may have other clients.
    pub(crate) fn is_shared(&self) -> bool {
        self.instance().is_some_and(|instance| instance.chromium.shared.load(Ordering::Relaxed))
    }

    fn instance(&self) -> Option<Arc<Instance>> {
        self.instance.upgrade()
    }

    /// Refuses when the browser is gone.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.instance() {
            None => Err(Error::BrowserGone { why: "it was ended".to_owned() }),
            Some(instance) => match instance.why_gone() {
                Some(why) => Err(Error::BrowserGone { why }),
                None => Ok(()),
            },
        }
    }

    /// Why the browser is gone, as well as it is known.
    pub(crate) fn why_gone(&self, otherwise: String) -> String {
        self.instance().and_then(|instance| instance.why_gone()).unwrap_or(otherwise)
    }

    pub(crate) fn explain(&self, error: CdpError) -> Error {
        match error {
            CdpError::Closed { why } => Error::BrowserGone { why: self.why_gone(why) },
            CdpError::Refused { ref message, .. }
                if message.contains("No target with given id") =>
            {
                Error::TabClosed
            }
            other => other.into(),
        }
    }

    pub(crate) fn fail_session(&self, session: &str, why: &str) {
        if let Some(instance) = self.instance() {
            instance.fail_session(session, why);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tabs> {
        self.tabs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes whoever waits for something about this context.
    pub(crate) fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// A page of this tab asks for a window.
    pub(crate) fn window_opening(&self, tab: &Arc<Tab>, url: &str) {
        self.lock().opening = Some((Arc::downgrade(tab), url.to_owned()));
    }

    /// Takes in a tab. Whoever works with the tab that opened it is told.
    pub(crate) fn add_tab(&self, tab: Arc<Tab>, opener: Option<&str>, url: &str) {
        let mut tabs = self.lock();
        let index = tabs.list.len();
        let known = opener.and_then(|id| tabs.list.iter().find(|tab| tab.id() == id).cloned());
        let opening = tabs.opening.take();
        if tabs.next_is_hidden && opener.is_none() && opening.is_none() {
            tabs.next_is_hidden = false;
            tabs.hidden.push(tab);
            drop(tabs);
            return self.changed();
        }
        let (asked_by, asked_for) =
            opening.map_or((None, None), |(tab, url)| (tab.upgrade(), Some(url)));
        if tabs.active.is_none() {
            tabs.active = Some(Arc::from(tab.id()));
        }
        tabs.list.push(tab);
        drop(tabs);
        if let Some(opener) = known.or(asked_by) {
            let url = asked_for.filter(|asked| !asked.is_empty()).unwrap_or_else(|| url.to_owned());
            opener.hint(format!(
                "a new tab opened at index {index} ({url}); the active tab is unchanged: activate tab {index} to work with it"
            ));
        }
        self.changed();
    }

    /// Says that a page opened more windows than there may be.
    pub(crate) fn refuse_tab(&self, opener: Option<&str>) {
        let mut tabs = self.lock();
        let asked_by = tabs.opening.take().and_then(|(tab, _)| tab.upgrade());
        let known = opener.and_then(|id| tabs.list.iter().find(|tab| tab.id() == id).cloned());
        drop(tabs);
        if let Some(tab) = known.or(asked_by) {
            let max = self.options.limits.tabs;
            tab.hint(format!("a new window was closed at once: there are {max} tabs already"));
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.lock().list.len() < self.options.limits.tabs
    }

    /// Lets go of a tab that is gone.
    pub(crate) fn remove_tab(&self, id: &str) {
        let mut tabs = self.lock();
        if let Some(at) = tabs.hidden.iter().position(|tab| tab.id() == id) {
            let tab = tabs.hidden.remove(at);
            drop(tabs);
            return tab.set_life(Life::Closed);
        }
        let Some(index) = tabs.list.iter().position(|tab| tab.id() == id) else { return };
        let tab = tabs.list.remove(index);
        if tabs.active.as_deref() == Some(id) {
            let before = tabs.list.get(index.saturating_sub(1));
            tabs.active = before.map(|tab| Arc::from(tab.id()));
        }
        drop(tabs);
        tab.set_life(Life::Closed);
        self.changed();
    }

    /// Everything is gone.
    pub(crate) fn end(&self) {
        let mut tabs = self.lock();
        let mut gone = std::mem::take(&mut tabs.list);
        gone.append(&mut tabs.hidden);
        drop(tabs);
        for tab in gone {
            tab.set_life(Life::Closed);
        }
        self.changed();
    }
}
