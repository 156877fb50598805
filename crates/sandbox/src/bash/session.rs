//! One bash session: where its commands run, and the commands whose output it keeps.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atoll_api::bash::{BashSession, BashSessionStatus};
use atoll_api::system::Limits;
use atoll_operation::{Error, Kind};

use super::command::BashCommand;
use crate::session::Entry;

#[derive(Debug)]
pub(crate) struct Session {
    snapshot: Option<PathBuf>,
    state: Mutex<State>,
    /// Commands that are being started: the session is in use before it has one.
    starting: AtomicUsize,
}

/// A command being started, until this is dropped.
pub(super) struct Starting<'a>(&'a Session);

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.0.starting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct State {
    directory: PathBuf,
    commands: VecDeque<Arc<BashCommand>>,
    count: u64,
    closed: bool,
}

impl Session {
    pub(super) fn new(directory: PathBuf, snapshot: Option<PathBuf>) -> Self {
        let state = State { directory, commands: VecDeque::new(), count: 0, closed: false };
        Self { snapshot, state: Mutex::new(state), starting: AtomicUsize::new(0) }
    }

    /// Says that a command is being started, so that the session is not ended meanwhile.
    pub(super) fn starting(&self) -> Starting<'_> {
        self.starting.fetch_add(1, Ordering::Relaxed);
        Starting(self)
    }

    pub(super) fn snapshot(&self) -> Option<&Path> {
        self.snapshot.as_deref()
    }

    pub(super) fn directory(&self) -> PathBuf {
        self.state().directory.clone()
    }

    pub(super) fn set_directory(&self, directory: PathBuf) {
        self.state().directory = directory;
    }

    /// Refuses when as many commands have processes as may.
    pub(super) fn check_room(&self, limits: &Limits) -> Result<(), Error> {
        let max = usize::try_from(limits.bash_running_per_session).unwrap_or(usize::MAX);
        let alive = self.state().commands.iter().filter(|command| command.alive()).count();
        if alive < max {
            return Ok(());
        }
        Err(Error::new(
            Kind::ResourceExhausted,
            "bash.commands_exhausted",
            format!(
                "{alive} commands of this session still have processes, which is the limit; kill them, or use another session"
            ),
        ))
    }

    /// Keeps a command. The oldest of those that are over, with everything they started, are forgotten: the others
    /// may still print, and forgetting one would end it.
    pub(super) fn keep(&self, command: &Arc<BashCommand>, limits: &Limits) -> Result<(), Error> {
        let kept = usize::try_from(limits.commands_kept_per_session).unwrap_or(usize::MAX);
        let mut state = self.state();
        if state.closed {
            return Err(Error::new(
                Kind::NotFound,
                "bash.session_not_found",
                "the session was closed while the command started",
            ));
        }
        state.count += 1;
        while state.commands.len() >= kept
            && let Some(position) = state.commands.iter().position(|command| !command.alive())
        {
            state.commands.remove(position);
        }
        state.commands.push_back(Arc::clone(command));
        Ok(())
    }

    /// A command by id; the latest without one.
    pub(super) fn command(&self, id: Option<&String>) -> Result<Option<Arc<BashCommand>>, Error> {
        let state = self.state();
        let Some(id) = id.filter(|id| !id.is_empty()) else {
            return Ok(state.commands.back().cloned());
        };
        let found = state.commands.iter().find(|command| command.id() == id).cloned();
        found.map(Some).ok_or_else(|| {
            Error::new(Kind::NotFound, "bash.command_not_found", format!("Command {id} not found"))
                .with_hint("the session keeps the output of its latest commands only")
        })
    }

    /// Commands with living processes, the latest first.
    pub(super) fn alive(&self) -> Vec<Arc<BashCommand>> {
        self.state().commands.iter().rev().filter(|command| command.alive()).cloned().collect()
    }

    /// Ends everything started in it and drops what was printed.
    pub(super) async fn forget(&self) {
        let commands = {
            let mut state = self.state();
            state.closed = true;
            std::mem::take(&mut state.commands)
        };
        futures::future::join_all(commands.iter().map(async |command| command.kill().await)).await;
    }

    pub(super) fn describe(&self, entry: &Entry<Self>) -> BashSession {
        let state = self.state();
        let current = state.commands.iter().rev().find(|command| command.running());
        BashSession {
            session_id: entry.id.clone(),
            status: if state.closed { BashSessionStatus::Closed } else { BashSessionStatus::Ready },
            working_dir: state.directory.display().to_string(),
            created_at: entry.created.to_string(),
            last_used_at: entry.last_used().to_string(),
            current_command: current.map(|command| command.text().to_owned()),
            command_count: state.count,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl crate::session::Session for Session {
    fn busy(&self) -> bool {
        self.starting.load(Ordering::Relaxed) > 0
            || self.state().commands.iter().any(|command| command.alive())
    }

    async fn close(&self) {
        self.forget().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session as _;

    #[test]
    fn a_session_is_in_use_while_its_first_command_starts() {
        let session = Session::new(PathBuf::from("/"), None);
        assert!(!session.busy());
        let starting = session.starting();
        assert!(session.busy());
        drop(starting);
        assert!(!session.busy());
    }
}
