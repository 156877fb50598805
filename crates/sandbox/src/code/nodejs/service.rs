//! The Node.js sessions, the installations they run on, and how both are found.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atoll_node::{
    Installation, Installations, Node, NodeSettings, PackageRoots, Search, VersionWish,
};
use atoll_operation::{Error, Kind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use super::error::{failure, unavailable};
use super::session::{Pending, Session};
use crate::programs::Programs;
use crate::session::{Entry, Session as _, Table, TableSettings, chosen_id};

/// How often unused sessions are looked for; the shortest time one may be unused is a minute.
const SWEEP: Duration = Duration::from_secs(15);
/// Names the Node.js to use when a call does not.
const DEFAULT_VERSION: &str = "NODE_CODE_EXEC_VERSION";

/// The Node.js capability. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Nodes {
    pub(super) programs: Programs,
    pub(super) table: Arc<Table<Session>>,
    pub(super) installations: Arc<Installations>,
    /// Places for programs that run once.
    runs: Arc<Semaphore>,
    node: Arc<Mutex<Option<Node>>>,
    default_version: Option<VersionWish>,
    /// Held while a session is made, so that two calls never make one id twice.
    making: Arc<tokio::sync::Mutex<()>>,
}

/// A session that was asked for.
pub(super) struct Asked {
    pub(super) entry: Arc<Entry<Session>>,
    /// Keeps it from being ended.
    pub(super) pending: Pending,
    pub(super) is_new: bool,
}

impl Nodes {
    /// Starts without sessions, and looks for nothing yet.
    pub fn new(programs: &Programs) -> Arc<Self> {
        let default = std::env::var(DEFAULT_VERSION).ok();
        Self::with_default(programs, default.as_deref().and_then(VersionWish::parse))
    }

    pub(crate) fn with_default(
        programs: &Programs,
        default_version: Option<VersionWish>,
    ) -> Arc<Self> {
        let foundation = programs.foundation();
        let limits = &foundation.limits;
        let count = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let table = Arc::new(Table::new(TableSettings {
            area: "nodejs",
            variable: "ATOLL_LIMIT_NODEJS_SESSIONS",
            max: count(limits.nodejs_sessions),
            // Each session has a bound of its own.
            idle: Duration::MAX,
        }));
        let installations = Arc::new(Installations::new(Search {
            spawner: programs.confined_spawner().clone(),
            environment: programs.environment(None),
            projects: vec![foundation.workspace.clone(), foundation.home.clone()],
            directory: foundation.runtime_dir.clone(),
        }));
        let nodes = Arc::new(Self {
            programs: programs.clone(),
            table,
            installations,
            runs: Arc::new(Semaphore::new(count(limits.code_runs).min(Semaphore::MAX_PERMITS))),
            node: Arc::default(),
            default_version,
            making: Arc::default(),
        });
        let (sweeping, stop) = (Arc::clone(&nodes.table), foundation.stop.clone());
        programs.tasks().spawn(async move {
            while stop.run_until_cancelled(tokio::time::sleep(SWEEP)).await.is_some() {
                close_unused(&sweeping).await;
            }
        });
        nodes
    }

    /// Sessions that exist.
    pub fn count(&self) -> usize {
        self.table.entries().len()
    }

    /// Closes every session, and removes what Node.js needed.
    pub async fn close_all(&self) {
        self.table.close_all("was closed").await;
        let node = self.node.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(node);
    }

    /// What runs code.
    pub(super) fn node(&self) -> Result<Node, Error> {
        let mut node = self.node.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(node) = &*node {
            return Ok(node.clone());
        }
        let foundation = self.programs.foundation();
        let made = Node::new(NodeSettings {
            spawner: self.programs.confined_spawner().clone(),
            tasks: self.programs.tasks().clone(),
            directory: foundation.runtime_dir.clone(),
            environment: self.programs.surroundings(),
            output_bytes: usize::try_from(foundation.limits.code_output_bytes)
                .unwrap_or(usize::MAX),
        });
        Ok(node.insert(made.map_err(failure)?).clone())
    }

    /// The Node.js asked for, or the default one.
    pub(super) async fn installation(
        &self,
        version: Option<&String>,
    ) -> Result<Arc<Installation>, Error> {
        if let Some(wish) = self.wish(version).await? {
            return match self.installations.find(&wish).await {
                Some(found) => Ok(found),
                None => Err(self.unknown(version).await),
            };
        }
        let configured = match &self.default_version {
            Some(wish) => self.installations.find(wish).await,
            None => None,
        };
        match configured {
            Some(found) => Ok(found),
            None => self.installations.default().await.ok_or_else(unavailable),
        }
    }

    /// The newest Node.js that can run TypeScript.
    pub(crate) async fn with_typescript(&self) -> Option<Arc<Installation>> {
        let all = self.installations.all().await.into_iter();
        all.filter(|each| each.typescript).max_by_key(|each| each.version)
    }

    /// Waits until another program without a session may run.
    pub(crate) async fn place_for_a_run(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.runs).acquire_owned().await.ok()
    }

    /// The version asked for, if one is.
    pub(super) async fn wish(
        &self,
        version: Option<&String>,
    ) -> Result<Option<VersionWish>, Error> {
        match version.filter(|version| !version.is_empty()) {
            None => Ok(None),
            Some(text) => match VersionWish::parse(text) {
                Some(wish) => Ok(Some(wish)),
                None => Err(self.unknown(version).await),
            },
        }
    }

    async fn unknown(&self, version: Option<&String>) -> Error {
        let all = self.installations.all().await;
        if all.is_empty() {
            return unavailable();
        }
        let names: Vec<_> =
            all.iter().map(|each| format!("{} ({})", each.version.name(), each.version)).collect();
        let version = version.map(String::as_str).unwrap_or_default();
        let message =
            format!("there is no Node.js {version:?} in this sandbox, but {}", names.join(", "));
        Error::new(Kind::InvalidArgument, "nodejs.unknown_version", message)
    }

    /// The directories of packages that every execution can use: the workspace's first.
    pub(super) fn package_roots(&self, program: &Path) -> Vec<PathBuf> {
        let roots = PackageRoots::of(program, &self.programs.environment(None));
        let workspace = self.programs.foundation().workspace.join("node_modules");
        std::iter::once(workspace).chain(roots.all().cloned()).collect()
    }

    /// The session with this id, made if there is none; without an id a fresh one.
    pub(super) async fn find_or_make(
        &self,
        id: Option<&String>,
        version: Option<&String>,
        directory: Option<&Path>,
        max_idle: Duration,
    ) -> Result<Asked, Error> {
        let id = chosen_id("session_id", id)?;
        let wish = self.wish(version).await?;
        let _making = self.making.lock().await;
        if let Some(entry) = id.as_ref().and_then(|id| self.table.get(id)) {
            let runs = entry.session.installation().version;
            if wish.is_none_or(|wish| wish.fits(runs)) {
                let pending = entry.session.pending();
                return Ok(Asked { entry, pending, is_new: false });
            }
            let asked = version.map(String::as_str).unwrap_or_default();
            let message = format!("session {} runs {}, not {asked}", entry.id, runs.name());
            return Err(Error::new(Kind::Conflict, "nodejs.other_version", message)
                .with_hint("omit version to use this session, or use another session_id"));
        }
        self.table.check_room()?;
        let installation = self.installation(version).await?;
        let directory = directory.unwrap_or(&self.programs.foundation().workspace);
        let session = Arc::new(Session::new(installation, directory.to_owned(), max_idle));
        let pending = session.pending();
        let made_up = id.is_none();
        let id = id.unwrap_or_else(|| Uuid::new_v4().to_string());
        let (entry, evicted) = self.table.insert(id, made_up, session)?;
        if let Some(evicted) = evicted {
            self.programs.tasks().spawn(async move { evicted.session.close().await });
        }
        Ok(Asked { entry, pending, is_new: true })
    }

    /// The directory asked for, which must be there.
    pub(crate) fn directory(cwd: Option<&String>) -> Result<Option<PathBuf>, Error> {
        let Some(text) = cwd.filter(|cwd| !cwd.is_empty()) else {
            return Ok(None);
        };
        let path = PathBuf::from(text);
        if !path.is_absolute() {
            let message = format!("must be an absolute path, not {text:?}");
            return Err(Error::field("cwd", "absolute", message));
        }
        let unusable = |why: String| Error::new(Kind::InvalidArgument, "nodejs.directory", why);
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => Ok(Some(path)),
            Ok(_) => Err(unusable(format!("{text} is not a directory"))),
            Err(error) => Err(unusable(format!("the directory {text} cannot be used: {error}"))),
        }
    }
}

/// Closes the sessions that were unused for as long as each of them may be.
async fn close_unused(table: &Table<Session>) {
    for entry in table.entries() {
        if entry.unused() >= entry.session.max_idle()
            && !entry.session.busy()
            && let Some(entry) = table.remove(&entry.id, "was closed after a long time unused")
        {
            tracing::info!(session = entry.id, "unused Node.js session closed");
            entry.session.close().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use atoll_node::Version;

    use super::*;

    #[tokio::test]
    async fn a_session_is_closed_when_it_was_unused_for_as_long_as_it_may_be() {
        let settings = TableSettings { area: "nodejs", variable: "X", max: 9, idle: Duration::MAX };
        let table = Table::new(settings);
        let version = Version { major: 22, minor: 0, patch: 0 };
        let installation =
            Arc::new(Installation { program: "/bin/node".into(), version, typescript: false });
        let add = |id: &str, max_idle| {
            let session = Session::new(Arc::clone(&installation), "/".into(), max_idle);
            let session = Arc::new(session);
            table.insert(id.to_owned(), false, Arc::clone(&session)).unwrap();
            session
        };
        add("patient", Duration::from_hours(1));
        let impatient = add("impatient", Duration::ZERO);
        let busy = add("busy", Duration::ZERO);
        let pending = busy.pending();
        close_unused(&table).await;
        assert!(impatient.is_closed() && !busy.is_closed());
        let ids: Vec<_> = table.entries().iter().map(|entry| entry.id.clone()).collect();
        assert_eq!(ids, ["patient", "busy"]);
        drop(pending);
        close_unused(&table).await;
        assert!(busy.is_closed());
        let error = table.not_found("busy", String::new());
        assert!(error.hint().unwrap().contains("unused"), "{error:?}");
    }
}
