//! The desktop as the rest of the server sees it: started on first need, and again when it has died.

use std::sync::{Arc, PoisonError, RwLock};

use atoll_process::Spawner;
use tokio_util::task::TaskTracker;

use crate::error::Error;
use crate::options::{Options, Size};
use crate::record::Recorder;
use crate::session::Session;

/// A desktop that is there when it is needed.
#[derive(Debug)]
pub struct Desktop {
    spawner: Spawner,
    tasks: TaskTracker,
    options: Arc<Options>,
    current: RwLock<Option<Arc<Session>>>,
    /// Starting and ending happen one after the other.
    changing: tokio::sync::Mutex<()>,
    recorder: Recorder,
}

impl Desktop {
    /// Nothing is started yet.
    pub fn new(spawner: Spawner, tasks: TaskTracker, options: Options) -> Arc<Self> {
        let options = Arc::new(options);
        Arc::new(Self {
            recorder: Recorder::new(spawner.clone(), Arc::clone(&options)),
            spawner,
            tasks,
            options,
            current: RwLock::default(),
            changing: tokio::sync::Mutex::default(),
        })
    }

    /// Whether the programs it cannot do without are there.
    pub fn is_installed(&self) -> bool {
        self.options.find("Xvnc").is_some()
    }

    /// The run of it that is under way; one is started if there is none. Ask for it anew for each operation. A caller who
    /// leaves does not stop the start.
    pub async fn session(self: &Arc<Self>) -> Result<Arc<Session>, Error> {
        if let Some(session) = self.running() {
            return Ok(session);
        }
        let desktop = Arc::clone(self);
        let start = self.tasks.spawn(async move { desktop.start().await });
        start.await.unwrap_or_else(|error| Err(Error::Gone { reason: error.to_string() }))
    }

    async fn start(&self) -> Result<Arc<Session>, Error> {
        let _one_at_a_time = self.changing.lock().await;
        if let Some(session) = self.running() {
            return Ok(session);
        }
        let old = self.current.write().unwrap_or_else(PoisonError::into_inner).take();
        let mut size = self.options.size;
        if let Some(old) = old {
            size = old.last_size();
            old.close("it was started again").await;
        }
        let session = Session::start(&self.spawner, &self.tasks, &self.options, size).await?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&session));
        Ok(session)
    }

    /// The run of it that is under way, if one is.
    pub fn running(&self) -> Option<Arc<Session>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.clone().filter(|session| session.why_gone().is_none())
    }

    /// Whether it was started, be it that it has died since.
    pub fn was_started(&self) -> bool {
        self.current.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The size it has, or will have when it starts.
    pub fn size(&self) -> Size {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().map_or(self.options.size, |session| session.last_size())
    }

    /// Makes films of it.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Ends it with everything shown on it that cannot live without. The next need starts it again.
    pub async fn stop(&self) {
        let _one_at_a_time = self.changing.lock().await;
        self.recorder.end().await;
        if let Some(session) = self.running() {
            session.close("it was ended").await;
        }
    }
}
