//! The shell sessions and how they are found, made, listed and closed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use atoll_api::shell::{
    CloseAllShells, CloseShell, CreateShell, GetShellStats, GetTerminalUrl, ListShells,
    ShellCreated, ShellSessionInfo, ShellSessions, ShellStats, UpdateShell,
};
use atoll_operation::{Context, Error, Handle, Kind};
use atoll_process::{Terminal, TerminalError, TerminalSettings, WindowSize};
use jiff::Timestamp;
use uuid::Uuid;

use super::session::Session;
use crate::programs::{DirectoryFault, Programs, check_directory, spawn_failure};
use crate::session::{Entry, Table, TableSettings, chosen_id};

/// Seconds without output after which a waiting exec answers.
const NO_CHANGE_SECONDS: u64 = 120;
/// A session used within this time counts as active.
const ACTIVE: Duration = Duration::from_mins(5);
/// A terminal nobody has sized: wide, for programs that cut their lines to fit.
const SIZE: WindowSize = WindowSize { columns: 160, rows: 48 };

/// The shell capability.
#[derive(Debug, Clone)]
pub struct Shells {
    pub(super) programs: Programs,
    pub(super) table: Arc<Table<Session>>,
    /// Held while a session is made, so that two calls with one id make one.
    making: Arc<tokio::sync::Mutex<()>>,
}

impl Shells {
    /// Starts without sessions.
    pub fn new(programs: &Programs) -> Arc<Self> {
        let limits = &programs.foundation().limits;
        let table = Arc::new(Table::new(TableSettings {
            area: "shell",
            variable: "MAX_SHELL_SESSIONS",
            max: usize::try_from(limits.shell_sessions).unwrap_or(usize::MAX),
            idle: Duration::from_secs(limits.shell_idle_seconds),
        }));
        let (sweeping, stop) = (Arc::clone(&table), programs.foundation().stop.clone());
        programs.tasks().spawn(async move { sweeping.sweep(stop).await });
        Arc::new(Self { programs: programs.clone(), table, making: Arc::default() })
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
        self.table.get(id).ok_or_else(|| self.table.not_found(id, "Session not found".to_owned()))
    }

    /// Makes a session, or finds the one that has this id already.
    pub(super) async fn make(&self, input: &CreateShell) -> Result<Arc<Entry<Session>>, Error> {
        let id = chosen_id("id", input.id.as_ref())?;
        let directory = match input.exec_dir.as_deref().map(check_directory) {
            None => self.programs.foundation().workspace.clone(),
            Some(Ok(directory)) => directory,
            Some(Err(DirectoryFault::Relative(error))) => return Err(error),
            Some(Err(DirectoryFault::Unusable(message))) => {
                return Err(Error::new(Kind::InvalidArgument, "shell.directory", message));
            }
        };
        let _one_at_a_time = self.making.lock().await;
        if let Some(entry) = id.as_ref().and_then(|id| self.table.get(id)) {
            return Ok(entry);
        }
        self.table.check_room()?;
        let terminal = self.open(directory, input.preserve_symlinks == Some(true)).await?;
        let session = Session::new(terminal, input.no_change_timeout.unwrap_or(NO_CHANGE_SECONDS));
        let made_up = id.is_none();
        let id = id.unwrap_or_else(|| Uuid::new_v4().to_string());
        let (entry, evicted) = self.table.insert(id, made_up, Arc::new(session))?;
        if let Some(evicted) = evicted {
            self.programs.tasks().spawn(async move { evicted.session.terminal().close().await });
        }
        Ok(entry)
    }

    async fn open(&self, directory: PathBuf, keep_links: bool) -> Result<Terminal, Error> {
        let foundation = self.programs.foundation();
        let settings = TerminalSettings {
            shell: self.programs.bash()?,
            environment: self.programs.environment(None),
            directory,
            keep_links,
            runtime_dir: foundation.runtime_dir.clone(),
            log: self.programs.log_settings(),
            input_queue_bytes: self.programs.input_queue_bytes(),
            queue: usize::try_from(foundation.limits.shell_queue).unwrap_or(usize::MAX),
            size: SIZE,
        };
        Terminal::open(self.programs.confined_spawner(), settings).await.map_err(terminal_failure)
    }
}

/// What a terminal refused, for the caller.
pub(super) fn terminal_failure(error: TerminalError) -> Error {
    let message = error.to_string();
    match error {
        TerminalError::QueueFull { .. } => Error::new(
            Kind::ResourceExhausted,
            "shell.queue_full",
            format!("{message}; wait for them, or use another session"),
        ),
        TerminalError::Ended(_) => {
            Error::new(Kind::FailedPrecondition, "shell.session_ended", message)
                .with_hint("close this session and create another")
        }
        TerminalError::Input(_) => Error::new(Kind::ResourceExhausted, "shell.input_full", message),
        TerminalError::Spawn(error) => spawn_failure(error, "shell.directory"),
        TerminalError::Directory(_) => {
            Error::new(Kind::Unavailable, "shell.runtime_dir", message).with_source(error)
        }
        TerminalError::Size(_) => Error::new(Kind::InvalidArgument, "shell.size", message),
    }
}

impl Handle<CreateShell> for Shells {
    async fn handle(&self, _cx: &Context, input: CreateShell) -> Result<ShellCreated, Error> {
        let entry = self.make(&input).await?;
        let kept = input.exec_dir.filter(|_| input.preserve_symlinks == Some(true));
        let working_dir =
            kept.unwrap_or_else(|| entry.session.terminal().directory().display().to_string());
        Ok(ShellCreated { session_id: entry.id.clone(), working_dir })
    }
}

impl Handle<UpdateShell> for Shells {
    async fn handle(&self, _cx: &Context, input: UpdateShell) -> Result<(), Error> {
        let entry = self.find(&input.id)?;
        if let Some(seconds) = input.no_change_timeout {
            entry.session.set_no_change_seconds(seconds);
        }
        Ok(())
    }
}

impl Handle<GetTerminalUrl> for Shells {
    async fn handle(&self, cx: &Context, _input: GetTerminalUrl) -> Result<String, Error> {
        let entry = self.make(&CreateShell::default()).await?;
        Ok(cx.link("/terminal", &[("session_id", &entry.id)]))
    }
}

impl Handle<GetShellStats> for Shells {
    #[expect(clippy::cast_precision_loss, reason = "a ratio of session counts")]
    async fn handle(&self, _cx: &Context, _input: GetShellStats) -> Result<ShellStats, Error> {
        let entries = self.table.entries();
        let active = entries
            .iter()
            .filter(|entry| entry.unused() < ACTIVE || entry.session.terminal().busy())
            .count();
        let settings = self.table.settings();
        let max = settings.max.max(1);
        Ok(ShellStats {
            total_sessions: entries.len() as u64,
            active_sessions: active as u64,
            idle_sessions: (entries.len() - active) as u64,
            max_sessions: settings.max as u64,
            session_timeout: settings.idle.as_secs(),
            usage_ratio: entries.len() as f64 / max as f64,
        })
    }
}

impl Handle<ListShells> for Shells {
    async fn handle(&self, _cx: &Context, _input: ListShells) -> Result<ShellSessions, Error> {
        let describe = |entry: &Arc<Entry<Session>>| {
            let terminal = entry.session.terminal();
            let running = entry.session.latest().filter(|job| !job.state().is_done());
            let age = Timestamp::now().duration_since(entry.created).as_secs();
            let info = ShellSessionInfo {
                working_dir: terminal.directory().display().to_string(),
                created_at: entry.created.to_string(),
                last_used_at: entry.last_used().to_string(),
                age_seconds: u64::try_from(age).unwrap_or(0),
                status: entry.session.summary(),
                current_command: running.map(|job| job.command().to_owned()),
            };
            (entry.id.clone(), info)
        };
        Ok(ShellSessions { sessions: self.table.entries().iter().map(describe).collect() })
    }
}

impl Handle<CloseAllShells> for Shells {
    async fn handle(&self, _cx: &Context, _input: CloseAllShells) -> Result<(), Error> {
        self.close_all().await;
        Ok(())
    }
}

impl Handle<CloseShell> for Shells {
    async fn handle(&self, _cx: &Context, input: CloseShell) -> Result<(), Error> {
        let entry = self.find(&input.session_id)?;
        self.table.remove(&entry.id, "was closed");
        entry.session.terminal().close().await;
        Ok(())
    }
}
