//! The task that owns a session's shell: it feeds jobs in, reads marks out, and starts the shell again when it dies.
//!
//! A job is put in only while the shell prompts, by typing a short line that sources the job's script; what the
//! terminal echoes meanwhile is kept out of the log, and the command is written there instead as if it had been typed.
//! A person may type at any time; a line of theirs counts as running until the next prompt.

mod jobs;
mod killing;
mod revival;
mod stream;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

use std::time::Duration;
use tokio::sync::{mpsc, watch};

use tokio::time::Instant;

use self::killing::Killing;
use super::job::Job;
use super::marker::MarkFilter;
use super::shell::Shell;
use super::{Activity, Message, Submission, TerminalError, TerminalSettings, WindowSize, script};
use crate::child::Child;
use crate::input::Input;
use crate::log::Log;
use crate::spawner::Spawner;
use crate::spawner::tree::ProcessKey;

const BUFFER: usize = 64 << 10;
/// How long a prompt may take to come after a job; the next job is handed over then all the same.
const PROMPT_PAUSE: Duration = Duration::from_millis(200);

/// What the shell is at.
enum Mode {
    /// Not prompted yet.
    Starting,
    /// Prompting.
    Idle,
    /// A job's line was typed; `undecided` holds output since some line was entered.
    Typed { job: Arc<Job>, undecided: Option<Vec<u8>>, attempts: u32 },
    /// A job runs.
    Running(Arc<Job>),
    /// A job has ended; the prompt comes, unless the job made it impossible to hear of it.
    Ending { until: Instant },
    /// A line typed by hand runs.
    ByHand,
}

pub(in crate::terminal) struct Driver {
    spawner: Spawner,
    settings: TerminalSettings,
    log: Log,
    size: Arc<Mutex<WindowSize>>,
    viewers: Arc<AtomicUsize>,
    private: PathBuf,
    startup: PathBuf,
    token: String,
    shell: Shell,
    input: Arc<Mutex<Input>>,
    retired: VecDeque<Child>,
    filter: MarkFilter,
    mode: Mode,
    queue: VecDeque<(Arc<Job>, Submission)>,
    jobs: u64,
    /// Token of the job that is typed or runs.
    job_token: String,
    /// Files of the job that ended last.
    old_files: Option<(PathBuf, PathBuf)>,
    /// Processes of the session that were there before the job that runs.
    before_job: Vec<ProcessKey>,
    killing: Option<Killing>,
    fruitless: u32,
    /// Processes of this shell's that were killed because memory ran out, until the job that ended last.
    victims: i32,
    activity: watch::Sender<Activity>,
}

type Started = (Driver, Arc<Mutex<Input>>, watch::Receiver<Activity>, PathBuf);

impl Driver {
    pub(in crate::terminal) async fn start(
        spawner: Spawner,
        settings: TerminalSettings,
        log: Log,
        size: Arc<Mutex<WindowSize>>,
        viewers: Arc<AtomicUsize>,
    ) -> Result<Started, TerminalError> {
        let private = settings.runtime_dir.join(token().get(..12).unwrap_or_default());
        let token = token();
        let startup = private.join("rc");
        std::fs::create_dir(&private).map_err(TerminalError::Directory)?;
        let shell = async {
            std::fs::write(&startup, script::startup(&token)).map_err(TerminalError::Directory)?;
            let directory = &settings.directory;
            Ok(Shell::start(&spawner, &settings, directory, &startup, settings.size).await?)
        }
        .await;
        let shell = match shell {
            Ok(shell) => shell,
            Err(error) => {
                remove(&private);
                return Err(error);
            }
        };
        let input =
            Input::new(Arc::clone(&shell.master), settings.input_queue_bytes, spawner.tasks());
        let input = Arc::new(Mutex::new(input));
        let (activity, watched) = watch::channel(Activity {
            directory: settings.directory.clone(),
            shells: vec![shell.child.clone()],
            ..Activity::default()
        });
        let driver = Self {
            spawner,
            settings,
            log,
            size,
            viewers,
            private: private.clone(),
            startup,
            token,
            shell,
            input: Arc::clone(&input),
            retired: VecDeque::new(),
            filter: MarkFilter::default(),
            mode: Mode::Starting,
            queue: VecDeque::new(),
            jobs: 0,
            job_token: String::new(),
            old_files: None,
            before_job: Vec::new(),
            killing: None,
            fruitless: 0,
            victims: 0,
            activity,
        };
        Ok((driver, input, watched, private))
    }

    /// Serves until the session is closed, abandoned or past saving.
    pub(in crate::terminal) async fn run(mut self, mut inbox: mpsc::Receiver<Message>) {
        let mut buffer = vec![0; BUFFER];
        loop {
            let child = self.shell.child.clone();
            let master = Arc::clone(&self.shell.master);
            let next_kill = self.killing.as_ref().map(|killing| killing.next);
            let prompt_overdue = match self.mode {
                Mode::Ending { until } => Some(until),
                _ => None,
            };
            tokio::select! {
                count = master.read(&mut buffer) => match count {
                    Ok(count) if count > 0 => self.receive(buffer.get(..count).unwrap_or_default()).await,
                    // The terminal is closed on all sides; the exit follows.
                    _ => child.exited().await,
                },
                message = inbox.recv() => match message {
                    Some(Message::Close(done)) => {
                        self.end("the session was closed").await;
                        let _nobody_waits = done.send(());
                        return;
                    }
                    Some(message) => self.serve(message).await,
                    None => {
                        self.end("the session was closed").await;
                        return;
                    }
                },
                () = child.exited() => {}
                () = wait_until(next_kill) => self.kill_again().await,
                () = wait_until(prompt_overdue) => {
                    self.mode = Mode::Idle;
                    self.next_job();
                }
            }
            if let Some(exit) = child.exit()
                && let Err(reason) = self.revive(exit, &mut buffer).await
            {
                self.end(&reason).await;
                return;
            }
        }
    }

    async fn serve(&mut self, message: Message) {
        match message {
            Message::Submit(submission, reply) => {
                let _caller_gone = reply.send(self.submit(submission));
                self.next_job();
            }
            Message::Kill { job, outcome, done } => self.kill(job, outcome, done).await,
            Message::Resize(size, reply) => {
                let result = self.shell.resize(size).map_err(TerminalError::Size);
                if result.is_ok() {
                    *self.size.lock().unwrap_or_else(PoisonError::into_inner) = size;
                }
                let _caller_gone = reply.send(result);
            }
            Message::Close(_) => {}
        }
    }

    fn note_directory(&self) {
        if let Some(directory) = self.shell.directory() {
            self.activity.send_modify(|activity| activity.directory = directory);
        }
    }

    fn publish_typed(&self, typed: bool) {
        self.activity.send_modify(|activity| activity.typed = typed);
    }

    /// Tells watchers how many jobs wait; a job that is typed but has not begun waits too.
    fn publish(&self) {
        let typed = usize::from(matches!(self.mode, Mode::Typed { .. }));
        let waiting = self.queue.len() + typed;
        self.activity.send_modify(|activity| activity.waiting = waiting);
    }
}

async fn wait_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// 122 unguessable bits in hexadecimal.
fn token() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

fn remove(private: &Path) {
    let _already_gone = std::fs::remove_dir_all(private);
}
