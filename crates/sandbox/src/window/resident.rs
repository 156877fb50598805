//! A program that serves pages on a unix socket: started when somebody asks for it, at most once at a time, and told about
//! to whoever wants to know how it stands.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

use atoll_operation::{Error, Kind};
use atoll_process::{Command, Piped};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{Mutex, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::programs::{Programs, spawn_failure};

/// How long a program may take until it answers.
const START_PATIENCE: Duration = Duration::from_mins(2);
/// Pause between two attempts to reach it.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(25);
/// How long one attempt may take.
const ATTEMPT_PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of its complaints that an error repeats.
const LAST_WORDS: u64 = 2000;

/// What to start.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    /// What people call it.
    pub(super) name: &'static str,
    /// Code of the error when it does not come up.
    pub(super) failed: &'static str,
    /// The program.
    pub(super) command: Command,
    /// The socket it listens on.
    pub(super) socket: PathBuf,
    /// A path that it answers once it is ready.
    pub(super) ready_path: &'static str,
}

/// How a program stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The operator wants none.
    Disabled,
    /// It is not installed.
    Missing,
    /// It was not asked for, or was stopped.
    Off,
    /// It was started and does not answer yet.
    Starting,
    /// It answers.
    Running,
    /// It did not come up, or ended by itself. The next visit starts it again.
    Failed,
}

/// What is known of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResidentState {
    /// How it stands.
    pub(crate) standing: Standing,
    /// Why, where there is more to say.
    pub(crate) reason: Option<String>,
    /// Its process, while it runs.
    pub(crate) pid: Option<i32>,
    /// Since when it stands so.
    pub(crate) since: SystemTime,
}

impl ResidentState {
    /// Stands like this from now on.
    pub(super) fn new(standing: Standing) -> Self {
        Self { standing, reason: None, pid: None, since: SystemTime::now() }
    }

    /// The same with a reason.
    pub(super) fn because(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }
}

/// The program, running or not.
#[derive(Debug, Clone)]
pub(super) struct Resident {
    programs: Programs,
    running: Arc<Mutex<Option<Arc<Piped>>>>,
    state: watch::Sender<ResidentState>,
    /// Ends the start that is under way.
    starting: Arc<std::sync::Mutex<CancellationToken>>,
}

impl Resident {
    pub(super) fn new(programs: &Programs) -> Self {
        Self {
            programs: programs.clone(),
            running: Arc::default(),
            state: watch::Sender::new(ResidentState::new(Standing::Off)),
            starting: Arc::default(),
        }
    }

    /// How it stands.
    pub(super) fn state(&self) -> ResidentState {
        self.state.borrow().clone()
    }

    /// Where it answers, once it does. A visitor who leaves does not stop the start.
    pub(super) async fn visit(&self, recipe: Recipe) -> Result<PathBuf, Error> {
        let name = recipe.name;
        let visit = tokio::spawn(self.clone().ensure(recipe));
        visit.await.unwrap_or_else(|error| {
            Err(Error::internal(format!("{name} could not be started"), error))
        })
    }

    /// Ends it, also while it is being started.
    pub(super) async fn close(&self) {
        self.starting.lock().unwrap_or_else(PoisonError::into_inner).cancel();
        let mut running = self.running.lock().await;
        // Told before it ends, so that nobody takes the end for its own doing.
        if self.state.borrow().standing != Standing::Off {
            self.tell(ResidentState::new(Standing::Off));
        }
        if let Some(program) = running.take() {
            program.child().kill_all().await;
        }
    }

    async fn ensure(self, recipe: Recipe) -> Result<PathBuf, Error> {
        // Held during the start, so that everybody waits for the same one.
        let mut running = self.running.lock().await;
        if running.as_ref().is_some_and(|program| program.ended().is_none()) {
            return Ok(recipe.socket);
        }
        let halt = self.programs.foundation().stop.child_token();
        self.starting.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&halt);
        self.tell(ResidentState::new(Standing::Starting));
        let start = async {
            let program = self.start(&recipe).await?;
            wait_until_ready(&recipe, &program).await.map(|()| program)
        };
        let started = tokio::select! {
            started = start => started,
            () = halt.cancelled() => {
                self.tell(ResidentState::new(Standing::Off));
                let message = format!("{} was stopped before it answered", recipe.name);
                return Err(Error::new(Kind::Unavailable, recipe.failed, message));
            }
        };
        let program = Arc::new(started.inspect_err(|error| {
            self.tell(ResidentState::new(Standing::Failed).because(error.message()));
        })?);
        let state = ResidentState::new(Standing::Running);
        self.tell(ResidentState { pid: Some(program.child().pid()), ..state });
        self.watch_over(&recipe, &program);
        *running = Some(program);
        Ok(recipe.socket)
    }

    async fn start(&self, recipe: &Recipe) -> Result<Piped, Error> {
        tracing::info!(program = recipe.name, "starting");
        // What a program that was killed left behind would refuse the next one.
        if let Err(error) = std::fs::remove_file(&recipe.socket)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(Error::internal("an old socket could not be removed", error));
        }
        Piped::start(
            self.programs.confined_spawner(),
            &recipe.command,
            &self.programs.piped_settings(),
        )
        .await
        .map_err(|error| spawn_failure(error, recipe.failed))
    }

    /// Tells when the program ends by itself.
    fn watch_over(&self, recipe: &Recipe, program: &Arc<Piped>) {
        let (name, program) = (recipe.name, Arc::clone(program));
        let (state, stop) = (self.state.clone(), self.programs.foundation().stop.clone());
        self.programs.tasks().spawn(async move {
            let exit = tokio::select! {
                exit = program.wait() => exit,
                () = stop.cancelled() => return,
            };
            let pid = Some(program.child().pid());
            state.send_if_modified(|state| {
                // Whoever stopped it, or started another, has told so.
                let current = state.standing == Standing::Running && state.pid == pid;
                if current {
                    tracing::warn!(program = name, %exit, "ended by itself");
                    let reason = format!("{name} {exit}{}", last_words(&program));
                    *state = ResidentState::new(Standing::Failed).because(reason);
                }
                current
            });
        });
    }

    fn tell(&self, state: ResidentState) {
        self.state.send_replace(state);
    }
}

async fn wait_until_ready(recipe: &Recipe, program: &Piped) -> Result<(), Error> {
    let ready = async {
        while !answers(&recipe.socket, recipe.ready_path).await {
            sleep(ATTEMPT_PAUSE).await;
        }
    };
    let what = tokio::select! {
        ready = timeout(START_PATIENCE, ready) => match ready {
            Ok(()) => return Ok(()),
            Err(_) => format!("did not answer within {} seconds", START_PATIENCE.as_secs()),
        },
        exit = program.wait() => exit.to_string(),
    };
    let message = format!("{} {what}{}", recipe.name, last_words(program));
    Err(Error::new(Kind::Unavailable, recipe.failed, message))
}

/// What it complained of last.
fn last_words(program: &Piped) -> String {
    let log = program.stderr();
    let from = log.progress().end.saturating_sub(LAST_WORDS);
    let words = log.read_text(from, usize::try_from(LAST_WORDS).unwrap_or_default()).text;
    match words.trim() {
        "" => String::new(),
        words => format!("; it said: {words}"),
    }
}

async fn answers(socket: &Path, path: &str) -> bool {
    let attempt = async {
        let mut stream = UnixStream::connect(socket).await?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await?;
        Ok::<_, io::Error>(head.ends_with(b" 200"))
    };
    matches!(timeout(ATTEMPT_PATIENCE, attempt).await, Ok(Ok(true)))
}
