//! The command that tells an upstream proxy's credentials: run as sessions run theirs, in bounded time, and what it
//! prints is shown to nobody.

use std::time::Duration;

use atoll_egress::RunCommand;
use atoll_process::{Command, LogSettings, Piped, PipedSettings, SpillBudget};
use futures::future::BoxFuture;

use crate::programs::Programs;

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of what it prints.
const PRINTED: usize = 8 << 10;

/// Runs commands.
#[derive(Debug)]
pub(super) struct Commands {
    programs: Programs,
}

impl Commands {
    /// With programs that know of no proxy: what it asks for must not need the answer.
    pub(super) fn new(programs: &Programs) -> Self {
        Self { programs: programs.clone() }
    }

    async fn carry_out(&self, line: String) -> Result<String, String> {
        let foundation = self.programs.foundation();
        let command = Command {
            program: self.programs.bash().map_err(|error| error.to_string())?,
            arguments: vec!["-c".to_owned(), line],
            environment: self.programs.environment(None),
            directory: foundation.workspace.clone(),
        };
        let log = LogSettings {
            directory: foundation.runtime_dir.clone(),
            kept_bytes: PRINTED as u64,
            // Never on a disk: it is a secret.
            budget: SpillBudget::new(0),
        };
        let settings = PipedSettings { log, input_queue_bytes: 1 };
        let piped = Piped::start(self.programs.confined_spawner(), &command, &settings)
            .await
            .map_err(|error| format!("it could not be started: {error}"))?;
        // It has nothing to read.
        let _ended = piped.stdin().close();
        let waited = tokio::time::timeout(PATIENCE, piped.wait()).await;
        piped.child().kill_all().await;
        let exit =
            waited.map_err(|_| format!("it did not end within {} seconds", PATIENCE.as_secs()))?;
        match exit.shell_code() {
            0 => {}
            code => return Err(format!("it ended with code {code}")),
        }
        let printed = piped.stdout().read(0, PRINTED);
        if piped.stdout().progress().end > printed.bytes.len() as u64 {
            return Err("it printed more than a name and a password".to_owned());
        }
        String::from_utf8(printed.bytes).map_err(|_| "it printed no text".to_owned())
    }
}

impl RunCommand for Commands {
    fn run(&self, command: String) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(self.carry_out(command))
    }
}
