//! The browser as the rest of the server sees it: started on first need, and again when it has died.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use atoll_process::Spawner;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::chromium::{Chromium, Endpoint, PolicyChange};
use crate::context::Context;
use crate::error::Error;
use crate::instance::{DEFAULT, Instance};
use crate::options::Options;

/// How long it may take to close by itself, which keeps its profile whole, before it is killed.
const CLOSE: Duration = Duration::from_secs(5);

/// A browser that is there when it is needed.
#[derive(Debug)]
pub struct Browser {
    spawner: Spawner,
    tasks: TaskTracker,
    options: Mutex<Arc<Options>>,
    current: RwLock<Option<Arc<Instance>>>,
    /// Starting and ending happen one after the other.
    changing: tokio::sync::Mutex<()>,
    /// A program that answers already, while we connect to it.
    answering: watch::Sender<Option<Arc<Chromium>>>,
    /// Whoever watches over the program stops when the browser is dropped, which ends the program.
    dropped: DropGuard,
}

/// How to start anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartMode {
    /// Connect anew; the program and its tabs stay.
    Soft,
    /// End the program and start it again.
    Hard,
}

/// What to change when starting anew.
#[derive(Debug, Clone)]
pub struct Restart {
    /// How.
    pub mode: RestartMode,
    /// What shall change about the policies. They are read by the running program, too.
    pub policies: PolicyChange,
    /// Another language of its pages; takes effect when the program starts.
    pub locale: Option<String>,
}

/// What the program says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Name and version, such as `Chrome/156.0.8078.79`.
    pub product: String,
    /// What it tells servers.
    pub user_agent: String,
    /// Version of the DevTools protocol.
    pub protocol: String,
}

impl Browser {
    /// Nothing is started yet.
    pub fn new(spawner: Spawner, tasks: TaskTracker, options: Options) -> Arc<Self> {
        Arc::new(Self {
            spawner,
            tasks,
            options: Mutex::new(Arc::new(options)),
            current: RwLock::default(),
            changing: tokio::sync::Mutex::default(),
            answering: watch::Sender::default(),
            dropped: CancellationToken::new().drop_guard(),
        })
    }

    /// A context by name, in a browser that runs: one is started if there is none. No name means the one everybody
    /// shares. Ask for it anew for each operation: the browser may have been started anew meanwhile.
    pub async fn context(&self, name: Option<&str>) -> Result<Arc<Context>, Error> {
        let name = name.filter(|name| !name.is_empty()).unwrap_or(DEFAULT);
        self.instance().await?.context(name).await
    }

    /// The contexts of the running browser, the default one first; none when it does not run.
    pub fn contexts(&self) -> Vec<Arc<Context>> {
        self.running().map(|instance| instance.contexts()).unwrap_or_default()
    }

    /// Closes a context with its tabs, cookies and storage. Whether there was one; the default one stays.
    pub async fn close_context(&self, name: &str) -> Result<bool, Error> {
        match self.running() {
            Some(instance) => instance.close_context(name).await,
            None => Ok(false),
        }
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.running().is_some()
    }

    /// Its main process, when it runs.
    pub fn pid(&self) -> Option<i32> {
        self.running().map(|instance| instance.chromium.pid())
    }

    /// What whoever runs it should know, when it runs.
    pub fn warning(&self) -> Option<String> {
        self.running().and_then(|instance| instance.chromium.warning.clone())
    }

    /// How it is, or will be when it starts.
    pub fn options(&self) -> Arc<Options> {
        self.options.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The port of its DevTools, when it runs.
    pub fn debug_port(&self) -> Option<u16> {
        self.running().map(|instance| instance.chromium.endpoint.port)
    }

    /// Where others can talk to it. Starts it if need be; others need not wait until we are connected to it ourselves.
    pub async fn debug_endpoint(self: &Arc<Self>) -> Result<Endpoint, Error> {
        let chromium = match self.running() {
            Some(instance) => instance.chromium.clone(),
            None => self.answering().await?,
        };
        chromium.shared.store(true, Ordering::Relaxed);
        Ok(chromium.endpoint.clone())
    }

    /// A program that answers; one is started if there is none.
    async fn answering(self: &Arc<Self>) -> Result<Arc<Chromium>, Error> {
        let mut answering = self.answering.subscribe();
        let browser = self.clone();
        let starting = self.tasks.spawn(async move { browser.instance().await });
        tokio::select! {
            started = starting => match started {
                Ok(instance) => instance.map(|instance| instance.chromium.clone()),
                Err(_) => Err(Error::BrowserGone { why: "its start failed".to_owned() }),
            },
            Ok(chromium) = answering.wait_for(Option::is_some) => {
                let gone = || Error::BrowserGone { why: "it ended at once".to_owned() };
                chromium.clone().ok_or_else(gone)
            }
        }
    }

    /// What it says it is. Starts it if need be.
    pub async fn version(&self) -> Result<Version, Error> {
        let root = self.instance().await?.root();
        let answer = root.command("Browser.getVersion", json!({})).await?;
        let text = |field: &str| answer[field].as_str().unwrap_or_default().to_owned();
        Ok(Version {
            product: text("product"),
            user_agent: text("userAgent"),
            protocol: text("protocolVersion"),
        })
    }

    /// Starts it anew.
    pub async fn restart(&self, restart: &Restart) -> Result<(), Error> {
        let _one_at_a_time = self.changing.lock().await;
        let mut changed = Options::clone(&self.options());
        restart.policies.apply(&mut changed.policies);
        if let Some(locale) = &restart.locale {
            changed.locale = Some(locale.clone());
        }
        if changed.policies != self.options().policies {
            // When this fails, nothing has changed.
            Chromium::write_policies(&changed)?;
        }
        let options = Arc::new(changed);
        *self.options.lock().unwrap_or_else(PoisonError::into_inner) = options.clone();
        let instance = match (restart.mode, self.running()) {
            (RestartMode::Soft, Some(old)) => {
                let chromium = old.chromium.clone();
                let names = old.names();
                old.end("automation was restarted");
                Instance::connect(chromium, options, self.tasks.clone(), &names).await?
            }
            (RestartMode::Hard, Some(old)) => {
                close(&old, "it was restarted").await;
                self.start(options).await?
            }
            (_, None) => self.start(options).await?,
        };
        self.set(instance);
        Ok(())
    }

    /// Ends it. The next need starts it again.
    pub async fn stop(&self) {
        let _one_at_a_time = self.changing.lock().await;
        if let Some(instance) = self.running() {
            close(&instance, "it was ended").await;
        }
        Chromium::withdraw_policies(&self.options());
    }

    async fn instance(&self) -> Result<Arc<Instance>, Error> {
        if let Some(instance) = self.running() {
            return Ok(instance);
        }
        let _one_at_a_time = self.changing.lock().await;
        if let Some(instance) = self.running() {
            return Ok(instance);
        }
        let instance = self.start(self.options()).await?;
        self.set(instance.clone());
        Ok(instance)
    }

    fn running(&self) -> Option<Arc<Instance>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.clone().filter(|instance| instance.why_gone().is_none())
    }

    async fn start(&self, options: Arc<Options>) -> Result<Arc<Instance>, Error> {
        let old = self.current.write().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(old) = old {
            // Two must never use one profile.
            old.chromium.kill().await;
        }
        let options = self.staged(options).await;
        let chromium = Arc::new(Chromium::launch(&self.spawner, &options).await?);
        let _answering = Answering::tell(&self.answering, &chromium);
        let connected = Instance::connect(chromium.clone(), options, self.tasks.clone(), &[]).await;
        if connected.is_err() {
            chromium.kill().await;
        }
        connected
    }

    /// The same options with the display that shows the browser from now on.
    async fn staged(&self, options: Arc<Options>) -> Arc<Options> {
        let Some(stage) = options.stage.clone() else { return options };
        let scene = stage.enter().await;
        let mut kept = self.options.lock().unwrap_or_else(PoisonError::into_inner);
        let mut staged = Options::clone(&kept);
        staged.display = scene.as_ref().map(|scene| scene.display.clone());
        if let Some(scene) = scene {
            staged.environment.extend(scene.environment);
            staged.window = scene.window;
        }
        *kept = Arc::new(staged);
        kept.clone()
    }

    fn set(&self, instance: Arc<Instance>) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Some(instance.clone());
        drop(current);
        let dropped = self.dropped.token().clone();
        self.tasks.spawn(async move {
            let chromium = instance.chromium.clone();
            tokio::select! {
                why = chromium.ended() => {
                    instance.end(&why);
                    // Its helpers must not outlive it.
                    chromium.kill().await;
                }
                _ = instance.gone() => {}
                () = dropped.cancelled() => instance.end("it is no longer needed"),
            }
        });
    }
}

/// Tells of a program that answers, until it is connected to or given up.
struct Answering<'a>(&'a watch::Sender<Option<Arc<Chromium>>>);

impl<'a> Answering<'a> {
    fn tell(place: &'a watch::Sender<Option<Arc<Chromium>>>, chromium: &Arc<Chromium>) -> Self {
        place.send_replace(Some(chromium.clone()));
        Self(place)
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.send_replace(None);
    }
}

/// Lets a browser end, and sees to it that it does.
async fn close(instance: &Instance, why: &str) {
    let asked = instance.root().start("Browser.close", json!({}));
    if asked.is_ok() {
        // One that does not end by itself is killed below.
        let _ends = tokio::time::timeout(CLOSE, instance.chromium.ended()).await;
    }
    drop(asked);
    instance.end(why);
    instance.chromium.kill().await;
}
