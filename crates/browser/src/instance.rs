//! One run of the browser, from the connection to its end: which contexts and sessions there are. Which event goes
//! where is in `events.rs`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use atoll_cdp::{Connection, Event, Observer, Session};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::chromium::Chromium;
use crate::context::Context;
use crate::error::Error;
use crate::options::Options;
use crate::target::Target;

/// What the shared context is called.
pub(crate) const DEFAULT: &str = "default";

/// One run of the browser.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) chromium: Arc<Chromium>,
    options: Arc<Options>,
    tasks: TaskTracker,
    connection: Connection,
    sessions: Mutex<HashMap<Arc<str>, Slot>>,
    contexts: Mutex<Vec<Known>>,
    /// Why it is gone, once it is.
    gone: watch::Sender<Option<String>>,
    /// One context is made at a time.
    making: tokio::sync::Mutex<()>,
}

/// A context with the browser's name for it; the default one has a name too, though it is never used in commands.
#[derive(Debug, Clone)]
struct Known {
    id: String,
    context: Arc<Context>,
}

/// A session and what it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) target: Target,
    pub(crate) context: Arc<Context>,
}

/// Hands events to the instance, for as long as there is one.
#[derive(Debug, Default)]
struct Watcher(OnceLock<Weak<Instance>>);

impl Observer for Watcher {
    fn event(&self, event: &Arc<Event>) {
        if let Some(instance) = self.0.get().and_then(Weak::upgrade) {
            instance.event(event);
        }
    }

    fn closed(&self, why: &str) {
        if let Some(instance) = self.0.get().and_then(Weak::upgrade) {
            instance.end(why);
        }
    }
}

impl Instance {
    /// Connects to a running browser and finds the tabs it has. `names` are the contexts of an earlier connection to
    /// the same browser, with the browser's names for them.
    pub(crate) async fn connect(
        chromium: Arc<Chromium>,
        options: Arc<Options>,
        tasks: TaskTracker,
        names: &[(String, String)],
    ) -> Result<Arc<Self>, Error> {
        let watcher = Arc::new(Watcher::default());
        let endpoint = &chromium.endpoint;
        let connection = Connection::open(
            &endpoint.host,
            endpoint.port,
            &endpoint.path,
            watcher.clone(),
            &tasks,
        );
        let connection = connection.await?;
        let root = connection.root();
        let instance = Arc::new(Self {
            chromium,
            options,
            tasks,
            connection,
            sessions: Mutex::default(),
            contexts: Mutex::default(),
            gone: watch::channel(None).0,
            making: tokio::sync::Mutex::default(),
        });
        // Set once, here. The browser tells nothing before it is asked to.
        let _first = watcher.0.set(Arc::downgrade(&instance));
        let answer = root.command("Target.getBrowserContexts", json!({})).await?;
        let default = answer["defaultBrowserContextId"].as_str().unwrap_or_default();
        instance.add_context(DEFAULT, default, true);
        for (name, id) in names {
            instance.add_context(name, id, false);
        }
        let mut replies = Vec::new();
        for context in instance.contexts() {
            replies.push(root.start("Browser.setDownloadBehavior", context.download_behavior())?);
        }
        let attach = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        replies.push(root.start("Target.setAutoAttach", attach)?);
        for reply in replies {
            reply.answer().await?;
        }
        Ok(instance)
    }

    pub(crate) fn root(&self) -> Session {
        self.connection.root()
    }

    pub(crate) fn session(&self, id: &str) -> Session {
        self.connection.session(id)
    }

    pub(crate) fn options(&self) -> &Arc<Options> {
        &self.options
    }

    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// The contexts, the default one first.
    pub(crate) fn contexts(&self) -> Vec<Arc<Context>> {
        self.lock_contexts().iter().map(|known| known.context.clone()).collect()
    }

    /// The contexts that were made here, with the browser's names for them.
    pub(crate) fn names(&self) -> Vec<(String, String)> {
        let contexts = self.lock_contexts();
        let made = contexts.iter().filter(|known| known.context.id().is_some());
        made.map(|known| (known.context.name().to_owned(), known.id.clone())).collect()
    }

    /// A context by name, made if there is none.
    pub(crate) async fn context(self: &Arc<Self>, name: &str) -> Result<Arc<Context>, Error> {
        if let Some(context) = self.known(name) {
            return Ok(context);
        }
        let _one_at_a_time = self.making.lock().await;
        if let Some(context) = self.known(name) {
            return Ok(context);
        }
        check_name(name)?;
        let max = self.options.limits.contexts;
        if self.lock_contexts().len() > max {
            return Err(Error::TooManyContexts { max });
        }
        let root = self.root();
        let answer = root.command("Target.createBrowserContext", json!({})).await?;
        let id = answer["browserContextId"].as_str().unwrap_or_default();
        let context = self.add_context(name, id, false);
        root.command("Browser.setDownloadBehavior", context.download_behavior()).await?;
        Ok(context)
    }

    /// Closes a context with its tabs. Whether there was one.
    pub(crate) async fn close_context(&self, name: &str) -> Result<bool, Error> {
        let Some(context) = self.known(name) else { return Ok(false) };
        let Some(id) = context.id() else { return Ok(false) };
        self.lock_contexts().retain(|known| known.id != id);
        let params = json!({ "browserContextId": id });
        self.root().command("Target.disposeBrowserContext", params).await?;
        context.end();
        Ok(true)
    }

    fn known(&self, name: &str) -> Option<Arc<Context>> {
        let contexts = self.lock_contexts();
        let known = contexts.iter().find(|known| known.context.name() == name);
        known.map(|known| known.context.clone())
    }

    /// A context by the browser's name for it.
    pub(crate) fn context_by_id(&self, id: &str) -> Option<Arc<Context>> {
        let contexts = self.lock_contexts();
        contexts.iter().find(|known| known.id == id).map(|known| known.context.clone())
    }

    fn add_context(self: &Arc<Self>, name: &str, id: &str, default: bool) -> Arc<Context> {
        let named = (!default).then(|| id.to_owned());
        let context = Context::new(self, name, named);
        self.lock_contexts().push(Known { id: id.to_owned(), context: context.clone() });
        context
    }

    /// Fails what waits on a session.
    pub(crate) fn fail_session(&self, session: &str, why: &str) {
        self.connection.fail_session(session, why);
    }

    /// Why it is gone, if it is.
    pub(crate) fn why_gone(&self) -> Option<String> {
        self.gone.borrow().clone().or_else(|| self.connection.end())
    }

    /// Waits until it is gone, and says why.
    pub(crate) async fn gone(&self) -> String {
        let mut gone = self.gone.subscribe();
        match gone.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Takes note that it is gone. The first reason given is the one that counts.
    pub(crate) fn end(&self, why: &str) {
        self.gone.send_if_modified(|gone| {
            let first = gone.is_none();
            gone.get_or_insert_with(|| why.to_owned());
            first
        });
        self.connection.close();
        let contexts = std::mem::take(&mut *self.lock_contexts());
        for known in contexts {
            known.context.end();
        }
        self.lock_sessions().clear();
    }

    pub(crate) fn lock_sessions(&self) -> MutexGuard<'_, HashMap<Arc<str>, Slot>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_contexts(&self) -> MutexGuard<'_, Vec<Known>> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let fits = |character: char| character.is_alphanumeric() || "-_.:@/".contains(character);
    if name.chars().count() <= 128 && name.chars().all(fits) {
        Ok(())
    } else {
        Err(Error::ContextName { name: name.chars().take(200).collect() })
    }
}
