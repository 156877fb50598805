//! A session: code run in it one after another shares one kernel's state. The session outlives its kernel: when that
//! dies, or has to be killed, the next execution gets a fresh one and is told that the state is lost.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use atoll_process::Exit;
use thiserror::Error;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

use crate::execution::Execution;
use crate::host::{Host, change_directory};
use crate::kernel::{Kernel, Quiet};
use crate::launch::StartError;
use crate::spec::KernelSpec;

/// Code to run.
#[derive(Debug, Clone)]
pub struct Request {
    /// The code.
    pub code: String,
    /// How long it may run, and how long it may wait for its turn.
    pub timeout: Duration,
    /// Directory to change to first; it must exist.
    pub directory: Option<PathBuf>,
    /// Whether its events are followed as they happen.
    pub followed: bool,
}

/// Why code was not run.
#[derive(Debug, Error)]
pub enum ExecuteError {
    /// Others in the same session took too long.
    #[error("the session was busy with other code for {} s", .0.as_secs())]
    Busy(Duration),
    /// The session was closed.
    #[error("the session was closed")]
    Closed,
    /// The session's kernel could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The directory could not be changed to.
    #[error("the kernel cannot change to the directory: {0}")]
    Directory(String),
}

/// Something the caller of an execution should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The session's kernel had been lost in this way; this one is fresh.
    FreshKernel(Loss),
    /// The kernel did not react to being interrupted and was killed.
    KernelKilled,
    /// This many bytes were left out of the outputs.
    Cut(u64),
    /// About this many bytes were printed after the executions they belong to were over, and dropped.
    LateOutput(u64),
    /// The kernel cannot change its directory, and stayed where it was.
    DirectoryIgnored,
    /// The code asked for input, and there is none.
    NoInput,
}

/// How a kernel was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// It ended.
    Ended(Exit),
    /// It was killed because it did not react to being interrupted.
    Killed,
}

/// A session.
#[derive(Debug)]
pub struct Session {
    source: Source,
    slot: Arc<Mutex<Slot>>,
    /// Calls that wait or run.
    uses: Arc<AtomicUsize>,
}

/// Where a session's kernel is. Who holds the lock may use it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) kernel: Option<Kernel>,
    pub(crate) lost: Option<Loss>,
    /// Where the next kernel is started.
    directory: PathBuf,
}

/// What brings a session's kernel back to life.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) host: Arc<Host>,
    pub(crate) spec: Arc<KernelSpec>,
    /// Cancelled when the session is closed.
    pub(crate) closed: CancellationToken,
}

impl Slot {
    /// Sees to it that there is a living kernel; whether it is a fresh one.
    pub(crate) async fn revive(&mut self, source: &Source) -> Result<bool, ExecuteError> {
        if let Some(exit) = self.kernel.as_ref().and_then(Kernel::ended) {
            self.lost = Some(Loss::Ended(exit));
            self.kernel = None;
        }
        if self.kernel.is_some() {
            return Ok(false);
        }
        let kernel = tokio::select! {
            biased;
            () = source.closed.cancelled() => return Err(ExecuteError::Closed),
            () = source.host.settings().stop.cancelled() => return Err(ExecuteError::Closed),
            kernel = source.host.kernel(&source.spec, &self.directory) => kernel?,
        };
        self.kernel = Some(kernel);
        Ok(true)
    }
}

/// Says that a session is in use, until it is dropped.
#[derive(Debug)]
pub struct Hold(Arc<AtomicUsize>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Session {
    /// A session whose kernel starts in this directory when it is first needed.
    pub fn new(host: &Arc<Host>, spec: Arc<KernelSpec>, directory: PathBuf) -> Self {
        let source = Source { host: Arc::clone(host), spec, closed: CancellationToken::new() };
        let slot = Slot { kernel: None, lost: None, directory };
        Self { source, slot: Arc::new(Mutex::new(slot)), uses: Arc::default() }
    }

    /// The kernel it runs.
    pub fn spec(&self) -> &Arc<KernelSpec> {
        &self.source.spec
    }

    /// Whether it is in use: code runs or waits in it, or somebody holds it.
    pub fn busy(&self) -> bool {
        self.uses.load(Ordering::Relaxed) > 0
    }

    /// Says that it is in use.
    pub fn hold(&self) -> Hold {
        self.uses.fetch_add(1, Ordering::Relaxed);
        Hold(Arc::clone(&self.uses))
    }

    /// Starts its kernel, if it has none.
    pub async fn start(&self) -> Result<(), ExecuteError> {
        let _hold = self.hold();
        let mut slot = self.turn(None).await?;
        slot.revive(&self.source).await?;
        Ok(())
    }

    /// Runs code when its turn has come. Calls are served in the order in which they came; one that is dropped while it
    /// waits leaves the queue, and dropping the returned execution interrupts the code.
    pub async fn execute(&self, request: Request) -> Result<Execution, ExecuteError> {
        let hold = self.hold();
        let mut slot = self.turn(Some(request.timeout)).await?;
        let mut notes = Vec::new();
        if let Some(directory) = &request.directory {
            slot.directory.clone_from(directory);
        }
        let fresh = slot.revive(&self.source).await?;
        if let Some(loss) = slot.lost.take() {
            notes.push(Note::FreshKernel(loss));
        }
        if !fresh && let Some(directory) = &request.directory {
            self.change_directory(&mut slot, directory.clone(), request.timeout, &mut notes)
                .await?;
        }
        Ok(Execution::start(slot, request, notes, hold, self.source.clone()))
    }

    /// Ends it: running code is stopped, its kernel ends with everything it started.
    pub async fn close(&self) {
        self.source.closed.cancel();
        let mut slot = Arc::clone(&self.slot).lock_owned().await;
        if let Some(kernel) = slot.kernel.take() {
            kernel.stop().await;
        }
    }

    /// Waits until nobody else uses the kernel.
    async fn turn(&self, limit: Option<Duration>) -> Result<OwnedMutexGuard<Slot>, ExecuteError> {
        let limit = limit.unwrap_or(Duration::MAX);
        tokio::select! {
            biased;
            () = self.source.closed.cancelled() => Err(ExecuteError::Closed),
            slot = tokio::time::timeout(limit, Arc::clone(&self.slot).lock_owned()) => {
                slot.map_err(|_| ExecuteError::Busy(limit))
            }
        }
    }

    async fn change_directory(
        &self,
        slot: &mut Slot,
        directory: PathBuf,
        limit: Duration,
        notes: &mut Vec<Note>,
    ) -> Result<(), ExecuteError> {
        let Some(kernel) = &mut slot.kernel else { return Ok(()) };
        if !kernel.is_python() {
            notes.push(Note::DirectoryIgnored);
            return Ok(());
        }
        let code = change_directory(&directory);
        let changed = tokio::select! {
            biased;
            () = self.source.closed.cancelled() => return Err(ExecuteError::Closed),
            changed = kernel.run_quietly(&code, limit) => changed,
        };
        match changed {
            Quiet::Done => Ok(()),
            Quiet::Failed(reason) => Err(ExecuteError::Directory(reason)),
            Quiet::Died(exit) => {
                slot.kernel = None;
                slot.lost = Some(Loss::Ended(exit));
                Err(ExecuteError::Directory("the kernel ended".to_owned()))
            }
            Quiet::Stuck => {
                slot.kernel = None;
                slot.lost = Some(Loss::Killed);
                Err(ExecuteError::Directory("the kernel did not react".to_owned()))
            }
        }
    }
}
