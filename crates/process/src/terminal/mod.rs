//! A live interactive bash in a terminal that runs jobs one after another and can be typed into meanwhile.
//!
//! One task, the [driver](driver::Driver), owns the shell and everything that is known about it; handles talk to it by
//! messages and read the session's [`Log`]. The shell may die at any time — `exit`, `exec`, `kill -9 $$` — and is
//! started again, in the directory it was in, under the same handle.

mod clean;
mod driver;
mod job;
mod marker;
mod screen;
mod script;
mod shell;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};

use crate::child::Child;
use crate::command::SpawnError;
use crate::input::{Input, InputError};
use crate::log::{Log, LogSettings};
use crate::spawner::Spawner;

use clean::clean_output;
pub use job::{Job, JobState, Outcome};
use screen::render_screen;
pub use script::is_variable_name;

/// Messages to a driver that may wait; it answers in microseconds.
const MESSAGES: usize = 64;

/// A terminal's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSize {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// How a session is set up.
#[derive(Debug, Clone)]
pub struct TerminalSettings {
    /// The shell; must be bash.
    pub shell: PathBuf,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// Where it starts.
    pub directory: PathBuf,
    /// Keep symbolic links in the starting directory's path.
    pub keep_links: bool,
    /// Private directory in which the session makes one of its own.
    pub runtime_dir: PathBuf,
    /// What the session's stream keeps.
    pub log: LogSettings,
    /// Bytes of input that may wait.
    pub input_queue_bytes: usize,
    /// Jobs that may wait.
    pub queue: usize,
    /// Size at first.
    pub size: WindowSize,
}

/// A job to run.
#[derive(Debug, Clone, Default)]
pub struct Submission {
    /// Bash source.
    pub command: String,
    /// Directory to change to first, and whether to keep symbolic links in its path.
    pub directory: Option<(String, bool)>,
    /// Variables for this job only; the names must be [variable names](is_variable_name).
    pub environment: BTreeMap<String, String>,
}

/// Why a session did not take something.
#[derive(Debug, Error)]
pub enum TerminalError {
    /// Too many jobs wait.
    #[error("{waiting} commands wait in this session already")]
    QueueFull {
        /// How many.
        waiting: usize,
    },
    /// The session is closed, or its shell cannot be kept running.
    #[error("{0}")]
    Ended(String),
    /// The program does not read its input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The shell could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The session's own directory could not be made.
    #[error("no private directory for the session: {0}")]
    Directory(#[source] std::io::Error),
    /// The terminal refused a size.
    #[error("the terminal cannot have this size: {0}")]
    Size(#[source] std::io::Error),
}

/// What a session is doing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Activity {
    /// The job that runs or was the last to.
    pub(crate) current: Option<Arc<Job>>,
    /// Jobs that wait.
    pub(crate) waiting: usize,
    /// Whether a line typed by hand is running.
    pub(crate) typed: bool,
    /// Where the shell is.
    pub(crate) directory: PathBuf,
    /// The shell that runs, and those before it that have not been cleared away.
    pub(crate) shells: Vec<Child>,
    /// Why the session takes nothing any more.
    pub(crate) ended: Option<String>,
}

pub(crate) enum Message {
    Submit(Submission, oneshot::Sender<Result<Arc<Job>, TerminalError>>),
    /// Kill a job, or whatever runs; answered when that is done.
    Kill {
        job: Option<u64>,
        outcome: Outcome,
        done: oneshot::Sender<()>,
    },
    Resize(WindowSize, oneshot::Sender<Result<(), TerminalError>>),
    Close(oneshot::Sender<()>),
}

/// A session. Clones share it; it ends when it is closed or the last one is dropped.
#[derive(Debug, Clone)]
pub struct Terminal(Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    messages: mpsc::Sender<Message>,
    input: Arc<Mutex<Input>>,
    log: Log,
    activity: watch::Receiver<Activity>,
    size: Arc<Mutex<WindowSize>>,
    viewers: Arc<AtomicUsize>,
    private: PathBuf,
}

impl Terminal {
    /// Starts a session.
    pub async fn open(
        spawner: &Spawner,
        settings: TerminalSettings,
    ) -> Result<Self, TerminalError> {
        let (messages, inbox) = mpsc::channel(MESSAGES);
        let log = Log::new(settings.log.clone());
        let size = Arc::new(Mutex::new(settings.size));
        let viewers = Arc::new(AtomicUsize::new(0));
        let (driver, input, activity, private) = driver::Driver::start(
            spawner.clone(),
            settings,
            log.clone(),
            Arc::clone(&size),
            Arc::clone(&viewers),
        )
        .await?;
        spawner.tasks().spawn(driver.run(inbox));
        Ok(Self(Arc::new(Shared { messages, input, log, activity, size, viewers, private })))
    }

    /// The session's stream: prompts, commands as if typed, and all output, without our marks.
    pub fn log(&self) -> &Log {
        &self.0.log
    }

    /// Queues a job.
    pub async fn submit(&self, submission: Submission) -> Result<Arc<Job>, TerminalError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Submit(submission, reply)).await?;
        answer.await.unwrap_or_else(|_| Err(self.ended()))
    }

    /// Kills a job with everything it started, and waits until that is done; the session lives on.
    pub async fn kill(&self, job: &Job, outcome: Outcome) {
        self.kill_message(Some(job.number()), outcome).await;
    }

    /// Kills whatever runs, typed by hand or not.
    pub async fn kill_current(&self, outcome: Outcome) {
        self.kill_message(None, outcome).await;
    }

    async fn kill_message(&self, job: Option<u64>, outcome: Outcome) {
        let (done, killed) = oneshot::channel();
        if self.send(Message::Kill { job, outcome, done }).await.is_ok() {
            let _session_ended = killed.await;
        }
    }

    /// Types.
    pub fn write(&self, bytes: &[u8]) -> Result<(), TerminalError> {
        if let Some(reason) = &self.0.activity.borrow().ended {
            return Err(TerminalError::Ended(reason.clone()));
        }
        Ok(self.0.input.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)?)
    }

    /// Changes the terminal's size.
    pub async fn resize(&self, size: WindowSize) -> Result<(), TerminalError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Resize(size, reply)).await?;
        answer.await.unwrap_or_else(|_| Err(self.ended()))
    }

    /// Ends the session with everything started in it, and waits until nothing is left.
    pub async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.send(Message::Close(done)).await.is_ok() {
            let _already_closed = closed.await;
        }
    }

    /// The job that runs, or was the last to.
    pub fn latest_job(&self) -> Option<Arc<Job>> {
        self.0.activity.borrow().current.clone()
    }

    /// Whether anything runs or waits to.
    pub fn busy(&self) -> bool {
        let activity = self.0.activity.borrow();
        activity.typed
            || activity.waiting > 0
            || activity.current.as_ref().is_some_and(|job| !job.state().is_done())
    }

    /// Waits until nothing runs or waits to, or the session has ended.
    pub async fn idle(&self) {
        let mut activity = self.0.activity.clone();
        let _driver_gone = activity
            .wait_for(|activity| {
                activity.ended.is_some()
                    || !activity.typed
                        && activity.waiting == 0
                        && activity.current.as_ref().is_none_or(|job| job.state().is_done())
            })
            .await
            .map(|_| ());
    }

    /// Whether anything started in it lives, in the background or not.
    pub fn has_processes(&self) -> bool {
        self.0.activity.borrow().shells.iter().any(|child| !child.descendants().is_empty())
    }

    /// Waits until no job is just being handed to the shell: what is typed then reaches a program, or an empty prompt.
    pub async fn settled(&self) {
        let mut activity = self.0.activity.clone();
        let _driver_gone = activity
            .wait_for(|activity| {
                let running = activity.current.as_ref().is_some_and(|job| !job.state().is_done());
                running || activity.waiting == 0 || activity.ended.is_some()
            })
            .await
            .map(|_| ());
    }

    /// Where the shell is.
    pub fn directory(&self) -> PathBuf {
        self.0.activity.borrow().directory.clone()
    }

    /// Why the session takes nothing any more, if so.
    pub fn end_reason(&self) -> Option<String> {
        self.0.activity.borrow().ended.clone()
    }

    /// The terminal's size.
    pub fn size(&self) -> WindowSize {
        *self.0.size.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that a terminal is attached, which answers programs' questions itself, until the guard is dropped.
    pub fn attach(&self) -> Viewer {
        self.0.viewers.fetch_add(1, Ordering::Relaxed);
        Viewer(Arc::clone(&self.0.viewers))
    }

    /// The text of a part of the session's stream, without traces of how the job was started.
    pub fn clean(&self, bytes: &[u8]) -> String {
        without_traces(clean_output(bytes), &self.0.private)
    }

    /// The text of the screen, while a full-screen program holds it.
    pub fn screen(&self) -> Option<String> {
        let end = self.0.log.progress().end;
        let recent = self.0.log.read(end.saturating_sub(screen::REPLAY as u64), screen::REPLAY);
        render_screen(&recent.bytes, self.size())
    }

    async fn send(&self, message: Message) -> Result<(), TerminalError> {
        self.0.messages.send(message).await.map_err(|_| self.ended())
    }

    fn ended(&self) -> TerminalError {
        TerminalError::Ended(
            self.end_reason().unwrap_or_else(|| "the session is closed".to_owned()),
        )
    }
}

/// An attached terminal.
#[derive(Debug)]
pub struct Viewer(Arc<AtomicUsize>);

impl Drop for Viewer {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// With `set -x` the shell also traces our own script; those lines name the session's private directory.
fn without_traces(text: String, private: &Path) -> String {
    let private = private.to_string_lossy();
    let is_trace = |line: &str| line.starts_with('+') && line.contains(&*private);
    if !text.lines().next().is_some_and(is_trace) {
        return text;
    }
    text.split_inclusive('\n').skip_while(|line| is_trace(line)).collect()
}
