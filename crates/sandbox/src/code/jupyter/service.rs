//! The Jupyter sessions, the kernels they run, and how both are found.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atoll_kernel::{
    Catalogue, Hold, Host, HostSettings, KernelSpec, OutputLimits, PYTHON,
    kernel_for_python_version,
};
use atoll_operation::{Error, Kind};
use uuid::Uuid;

use super::error::{DIRECTORY, other_kernel, unavailable, unknown_kernel};
use super::session::Session;
use crate::programs::Programs;
use crate::session::{Entry, Session as _, Table, TableSettings, chosen_id};

/// How kernels are offered.
#[derive(Debug, Clone, Default)]
pub struct JupyterSettings {
    /// Whether a kernel of the default kind stands ready, at the price of its memory.
    pub warm: bool,
    /// The Python whose kernel is the default: `3.12`, `python3.12`; the one called `python3` when there is none.
    pub python_version: Option<String>,
}

/// The Jupyter capability. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Jupyters {
    pub(super) programs: Programs,
    pub(super) table: Arc<Table<Session>>,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) host: Arc<Host>,
    preferred: Option<String>,
    /// Held while a session is found or made, so that none is made twice or ended between being found and being used.
    making: Arc<Mutex<()>>,
}

/// A session that was asked for.
pub(super) struct Asked {
    pub(super) entry: Arc<Entry<Session>>,
    /// Keeps it from being ended.
    pub(super) hold: Hold,
    pub(super) is_new: bool,
}

impl Jupyters {
    /// Starts without sessions, and looks for nothing yet unless a kernel shall stand ready.
    pub fn new(programs: &Programs, settings: JupyterSettings) -> Arc<Self> {
        let foundation = programs.foundation();
        let limits = &foundation.limits;
        let count = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let table = Arc::new(Table::new(TableSettings {
            area: "jupyter",
            variable: "ATOLL_LIMIT_JUPYTER_SESSIONS",
            max: count(limits.jupyter_sessions),
            idle: Duration::from_secs(limits.jupyter_idle_seconds),
        }));
        let environment = programs.environment(None);
        let host = Host::new(HostSettings {
            spawner: programs.confined_spawner().clone(),
            environment: programs.surroundings(),
            runtime_dir: foundation.runtime_dir.clone(),
            limits: OutputLimits {
                text_bytes: count(limits.code_output_bytes),
                rich_bytes: count(limits.response_output_bytes),
            },
            tasks: programs.tasks().clone(),
            stop: foundation.stop.clone(),
        });
        let JupyterSettings { warm, python_version } = settings;
        let jupyters = Arc::new(Self {
            programs: programs.clone(),
            table,
            catalogue: Arc::new(Catalogue::new(programs.confined_spawner().clone(), environment)),
            host,
            preferred: python_version.as_deref().and_then(kernel_for_python_version),
            making: Arc::default(),
        });
        let (sweeping, stop) = (Arc::clone(&jupyters.table), foundation.stop.clone());
        programs.tasks().spawn(async move { sweeping.sweep(stop).await });
        if warm {
            jupyters.warm_up();
        }
        jupyters
    }

    /// Sessions that exist.
    pub fn count(&self) -> usize {
        self.table.entries().len()
    }

    /// Closes every session, and the kernel that stands ready.
    pub async fn close_all(&self) {
        tokio::join!(self.table.close_all("was closed"), self.host.close());
    }

    /// Whether a kernel stands ready.
    pub fn is_warm(&self) -> bool {
        self.host.is_ready()
    }

    fn warm_up(self: &Arc<Self>) {
        let (jupyters, stop) = (Arc::clone(self), self.programs.foundation().stop.clone());
        self.programs.tasks().spawn(async move {
            match stop.run_until_cancelled(jupyters.default_kernel()).await {
                Some(Ok(spec)) => {
                    let workspace = jupyters.programs.foundation().workspace.clone();
                    jupyters.host.keep_ready(Arc::new(spec), workspace);
                }
                Some(Err(error)) => tracing::warn!(%error, "no kernel stands ready"),
                None => {}
            }
        });
    }

    /// Name of the kernel used when a call names none.
    pub(super) async fn default_kernel(&self) -> Result<KernelSpec, Error> {
        if let Some(preferred) = &self.preferred
            && let Some(spec) = self.catalogue.find(preferred).await
        {
            return Ok(spec);
        }
        if let Some(spec) = self.catalogue.find(PYTHON).await {
            return Ok(spec);
        }
        let kernels = self.catalogue.list().await;
        kernels.into_iter().find(KernelSpec::is_python).ok_or_else(unavailable)
    }

    /// The kernel asked for, or the default one.
    async fn kernel(&self, name: Option<&str>) -> Result<KernelSpec, Error> {
        let Some(name) = name else {
            return self.default_kernel().await;
        };
        match self.catalogue.find(name).await {
            Some(spec) => Ok(spec),
            None => Err(unknown_kernel(name, &self.catalogue.list().await)),
        }
    }

    /// The session with this id, made if there is none; without an id a fresh one.
    pub(super) async fn find_or_make(
        &self,
        id: Option<&String>,
        kernel: Option<&String>,
        directory: Option<&Path>,
    ) -> Result<Asked, Error> {
        let id = chosen_id("session_id", id)?;
        let kernel = kernel.map(String::as_str).filter(|name| !name.is_empty());
        let existing = {
            let _making = self.making();
            self.existing(id.as_deref())
        };
        if let Some(asked) = existing {
            return self.check_kernel(asked, kernel).await;
        }
        self.table.check_room()?;
        // Looked for without holding anybody up: it may take a while.
        let spec = Arc::new(self.kernel(kernel).await?);
        let directory = directory.unwrap_or(&self.programs.foundation().workspace).to_owned();
        let asked = {
            let _making = self.making();
            match self.existing(id.as_deref()) {
                Some(asked) => asked,
                None => self.make(id, Session::new(&self.host, spec, directory))?,
            }
        };
        if asked.is_new { Ok(asked) } else { self.check_kernel(asked, kernel).await }
    }

    fn existing(&self, id: Option<&str>) -> Option<Asked> {
        let entry = self.table.get(id?)?;
        let hold = entry.session.0.hold();
        Some(Asked { entry, hold, is_new: false })
    }

    fn make(&self, id: Option<String>, session: Session) -> Result<Asked, Error> {
        let hold = session.0.hold();
        let made_up = id.is_none();
        let id = id.unwrap_or_else(|| Uuid::new_v4().to_string());
        let (entry, evicted) = self.table.insert(id, made_up, Arc::new(session))?;
        if let Some(evicted) = evicted {
            self.programs.tasks().spawn(async move { evicted.session.close().await });
        }
        Ok(Asked { entry, hold, is_new: true })
    }

    /// Refuses a session that runs another kernel than the one asked for.
    async fn check_kernel(&self, asked: Asked, kernel: Option<&str>) -> Result<Asked, Error> {
        let runs = asked.entry.session.0.spec();
        if let Some(name) = kernel.filter(|name| !name.eq_ignore_ascii_case(&runs.name))
            && !self.kernel(Some(name)).await?.is_same_kernel(runs)
        {
            return Err(other_kernel(&asked.entry.id, &runs.name, name));
        }
        Ok(asked)
    }

    fn making(&self) -> MutexGuard<'_, ()> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a session out that is of no use to anybody.
    pub(super) fn discard(&self, entry: &Arc<Entry<Session>>, reason: &'static str) {
        if let Some(entry) = self.table.remove(&entry.id, reason) {
            self.programs.tasks().spawn(async move { entry.session.close().await });
        }
    }

    /// The directory asked for, which must be there.
    pub(super) fn directory(cwd: Option<&String>) -> Result<Option<PathBuf>, Error> {
        let Some(text) = cwd.filter(|cwd| !cwd.is_empty()) else {
            return Ok(None);
        };
        let path = PathBuf::from(text);
        if !path.is_absolute() {
            let message = format!("must be an absolute path, not {text:?}");
            return Err(Error::field("cwd", "absolute", message));
        }
        let unusable = |why: String| Error::new(Kind::InvalidArgument, DIRECTORY, why);
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => Ok(Some(path)),
            Ok(_) => Err(unusable(format!("{text} is not a directory"))),
            Err(error) => Err(unusable(format!("the directory {text} cannot be used: {error}"))),
        }
    }
}
