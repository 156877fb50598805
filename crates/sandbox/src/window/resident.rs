//! A program that serves pages on a unix socket: started when somebody asks for it, at most once at a time.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use atoll_operation::{Error, Kind, Upstream};
use atoll_process::{Command, Piped};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

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
pub(super) struct Recipe {
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

/// The program, running or not.
#[derive(Debug, Clone)]
pub(super) struct Resident {
    programs: Programs,
    running: Arc<Mutex<Option<Piped>>>,
}

impl Resident {
    pub(super) fn new(programs: &Programs) -> Self {
        Self { programs: programs.clone(), running: Arc::default() }
    }

    /// Where it answers, once it does. A visitor who leaves does not stop the start.
    pub(super) async fn visit(&self, recipe: Recipe) -> Result<Upstream, Error> {
        let name = recipe.name;
        let visit = tokio::spawn(self.clone().ensure(recipe));
        visit.await.unwrap_or_else(|error| {
            Err(Error::internal(format!("{name} could not be started"), error))
        })
    }

    /// Ends it.
    pub(super) async fn close(&self) {
        drop(self.running.lock().await.take());
    }

    async fn ensure(self, recipe: Recipe) -> Result<Upstream, Error> {
        // Held during the start, so that everybody waits for the same one.
        let mut running = self.running.lock().await;
        if running.as_ref().is_some_and(|program| program.ended().is_none()) {
            return Ok(Upstream::Unix(recipe.socket));
        }
        let stop = self.programs.foundation().stop.clone();
        let start = async {
            let program = self.start(&recipe).await?;
            wait_until_ready(&recipe, &program).await.map(|()| program)
        };
        *running = tokio::select! {
            started = start => Some(started?),
            () = stop.cancelled() => {
                let message = format!("{} is not started while the server stops", recipe.name);
                return Err(Error::new(Kind::Unavailable, recipe.failed, message));
            }
        };
        Ok(Upstream::Unix(recipe.socket))
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
    let log = program.stderr();
    let from = log.progress().end.saturating_sub(LAST_WORDS);
    let words = log.read_text(from, usize::try_from(LAST_WORDS).unwrap_or_default()).text;
    let message = format!("{} {what}; it said: {}", recipe.name, words.trim());
    Err(Error::new(Kind::Unavailable, recipe.failed, message))
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
