//! One hook as a program: started, waited for, killed when its time is up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use atoll_api::hook::{HookRun, SandboxHook};
use atoll_process::{Command, Exit, LogSettings, Piped, PipedSettings, Spawner, SpillBudget};

use crate::environment::Environment;
use crate::foundation::Foundation;

/// Bytes of output kept of one hook.
const KEPT: u64 = 1 << 20;
/// Bytes of it that are shown.
const SHOWN: u64 = 8 << 10;

/// Starts hooks.
#[derive(Debug)]
pub(super) struct Runner {
    spawner: Spawner,
    environment: Mutex<Arc<Environment>>,
    directory: PathBuf,
    budget: Arc<SpillBudget>,
}

impl Runner {
    pub(super) fn new(foundation: &Foundation, spawner: &Spawner) -> Self {
        Self {
            spawner: spawner.clone(),
            environment: Mutex::new(Arc::clone(&foundation.environment)),
            directory: foundation.runtime_dir.clone(),
            budget: SpillBudget::new(64 * KEPT),
        }
    }

    pub(super) fn set_environment(&self, environment: Arc<Environment>) {
        *self.environment.lock().unwrap_or_else(PoisonError::into_inner) = environment;
    }

    /// The private directory of this server.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// What programs see.
    pub(super) fn environment(&self) -> BTreeMap<String, String> {
        let environment = self.environment.lock().unwrap_or_else(PoisonError::into_inner);
        environment.with(&BTreeMap::new()).into_iter().collect()
    }

    /// Starts a bash with these arguments.
    pub(super) async fn start(
        &self,
        arguments: Vec<String>,
        directory: &Path,
    ) -> Result<Piped, String> {
        let command = Command {
            program: bash(),
            arguments,
            environment: self.environment(),
            directory: directory.to_owned(),
        };
        let log = LogSettings {
            directory: self.directory.clone(),
            kept_bytes: KEPT,
            budget: Arc::clone(&self.budget),
        };
        let settings = PipedSettings { log, input_queue_bytes: 1 };
        let piped = Piped::start(&self.spawner, &command, &settings).await;
        let piped = piped.map_err(|error| error.to_string())?;
        // Nobody is there to answer questions.
        let _closed = piped.stdin().close();
        Ok(piped)
    }

    /// Runs a hook. Gives how it went, and the program if it ended by itself: something it started may still run.
    pub(super) async fn run(
        &self,
        hook: &SandboxHook,
        directory: &Path,
        limit: Duration,
    ) -> (HookRun, Option<Piped>) {
        let (name, event) = (&hook.name, hook.event);
        tracing::info!(hook = name, ?event, "running a hook");
        let begun = Instant::now();
        // Errors in their place among what is printed.
        let script = format!("exec 2>&1\n{}", hook.command);
        let arguments = vec!["-c".to_owned(), script];
        let piped = match self.start(arguments, directory).await {
            Ok(piped) => piped,
            Err(error) => {
                tracing::error!(hook = name, ?event, error, "a hook could not be started");
                let run = HookRun {
                    exit_code: None,
                    timed_out: false,
                    seconds: begun.elapsed().as_secs_f64(),
                    output: error,
                };
                return (run, None);
            }
        };
        let ended = tokio::time::timeout(limit, piped.wait()).await.ok();
        if ended.is_none() {
            piped.child().kill_all().await;
        }
        let run = HookRun {
            exit_code: Some(ended.unwrap_or(Exit::Signal(9)).shell_code()),
            timed_out: ended.is_none(),
            seconds: begun.elapsed().as_secs_f64(),
            output: last_words(&piped),
        };
        let (seconds, output) = (run.seconds, run.output.as_str());
        match ended {
            Some(Exit::Code(0)) => {
                tracing::info!(hook = name, ?event, seconds, output, "a hook has ended");
            }
            Some(exit) => {
                tracing::error!(hook = name, ?event, seconds, output, "a hook failed: it {exit}");
            }
            None => tracing::error!(
                hook = name,
                ?event,
                output,
                "a hook was killed with everything it started: it took longer than {} s",
                limit.as_secs_f64()
            ),
        }
        (run, ended.map(|_| piped))
    }
}

/// The end of what a program printed.
pub(super) fn last_words(program: &Piped) -> String {
    let log = program.stdout();
    let from = log.progress().end.saturating_sub(SHOWN);
    let text = log.read_text(from, usize::try_from(SHOWN).unwrap_or_default()).text;
    text.trim_end().to_owned()
}

fn bash() -> PathBuf {
    let usual = ["/bin/bash", "/usr/bin/bash"].map(PathBuf::from);
    usual.into_iter().find(|path| path.is_file()).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}
