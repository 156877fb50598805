//! The bash sessions and how they are found, made and closed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use atoll_api::bash::{BashSession, CloseBashSession, CreateBashSession, ListBashSessions};
use atoll_operation::{Context, Error, Handle, Kind};
use uuid::Uuid;

use super::session::Session;
use crate::programs::{DirectoryFault, Programs, check_directory};
use crate::session::{Entry, Table, TableSettings, chosen_id};

/// The bash capability.
#[derive(Debug, Clone)]
pub struct Bashes {
    pub(super) programs: Programs,
    pub(super) table: Arc<Table<Session>>,
}

impl Bashes {
    /// Starts without sessions.
    pub fn new(programs: &Programs) -> Arc<Self> {
        let limits = &programs.foundation().limits;
        let table = Arc::new(Table::new(TableSettings {
            area: "bash",
            variable: "MAX_BASH_SESSIONS",
            max: usize::try_from(limits.bash_sessions).unwrap_or(usize::MAX),
            idle: Duration::from_secs(limits.bash_idle_seconds),
        }));
        let (sweeping, stop) = (Arc::clone(&table), programs.foundation().stop.clone());
        programs.tasks().spawn(async move { sweeping.sweep(stop).await });
        Arc::new(Self { programs: programs.clone(), table })
    }

    /// Sessions that exist.
    pub fn count(&self) -> usize {
        self.table.entries().len()
    }

    /// Closes every session.
    pub async fn close_all(&self) {
        self.table.close_all("was closed").await;
    }

    pub(super) fn find(&self, id: &str) -> Result<Arc<Entry<Session>>, Error> {
        self.table
            .get(id)
            .ok_or_else(|| self.table.not_found(id, format!("Session {id} not found")))
    }

    /// The session with this id, made if there is none; without an id a fresh one.
    pub(super) fn find_or_make(
        &self,
        id: Option<&String>,
        directory: Option<PathBuf>,
        snapshot: Option<PathBuf>,
    ) -> Result<Arc<Entry<Session>>, Error> {
        let id = chosen_id("session_id", id)?;
        if let Some(entry) = id.as_ref().and_then(|id| self.table.get(id)) {
            return Ok(entry);
        }
        let made_up = id.is_none();
        let id = id.unwrap_or_else(|| Uuid::new_v4().to_string());
        let directory = directory.unwrap_or_else(|| self.programs.foundation().workspace.clone());
        let (entry, evicted) =
            self.table.insert(id, made_up, Arc::new(Session::new(directory, snapshot)))?;
        if let Some(evicted) = evicted {
            self.programs.tasks().spawn(async move { evicted.session.forget().await });
        }
        Ok(entry)
    }

    /// The directory asked for, which must be there.
    pub(super) fn directory(exec_dir: Option<&String>) -> Result<Option<PathBuf>, Error> {
        let Some(directory) = exec_dir else {
            return Ok(None);
        };
        match check_directory(directory) {
            Ok(path) => Ok(Some(path)),
            Err(DirectoryFault::Relative(error)) => Err(error),
            Err(DirectoryFault::Unusable(message)) => {
                Err(Error::new(Kind::InvalidArgument, "bash.directory", message))
            }
        }
    }
}

impl Handle<CreateBashSession> for Bashes {
    async fn handle(&self, _cx: &Context, input: CreateBashSession) -> Result<BashSession, Error> {
        let directory = Self::directory(input.exec_dir.as_ref())?;
        let snapshot = input.snapshot_path.map(PathBuf::from);
        if let Some(path) = &snapshot
            && !(path.is_absolute() && path.is_file())
        {
            return Err(Error::new(
                Kind::InvalidArgument,
                "bash.snapshot",
                format!(
                    "snapshot_path must be the absolute path of a script, and {} is not",
                    path.display()
                ),
            ));
        }
        let entry = self.find_or_make(input.session_id.as_ref(), directory, snapshot)?;
        Ok(entry.session.describe(&entry))
    }
}

impl Handle<ListBashSessions> for Bashes {
    async fn handle(
        &self,
        _cx: &Context,
        _input: ListBashSessions,
    ) -> Result<Vec<BashSession>, Error> {
        Ok(self.table.entries().iter().map(|entry| entry.session.describe(entry)).collect())
    }
}

impl Handle<CloseBashSession> for Bashes {
    async fn handle(&self, _cx: &Context, input: CloseBashSession) -> Result<(), Error> {
        let entry = self.find(&input.session_id)?;
        self.table.remove(&entry.id, "was closed");
        entry.session.forget().await;
        Ok(())
    }
}
