//! The server's side: starting the helper through `sudo` and understanding what comes back, or does not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atoll_operation::{Context, Error};
use atoll_process::{Command, Exit, Piped, PipedSettings};

use super::wire::{Answer, Outcome, Request};
use super::{Privileged, SUBCOMMAND};
use crate::file::fault::Attempt;
use crate::file::service::{Files, blocking};
use crate::file::store::{Parents, Place, Target};
use crate::programs::Programs;

/// How long one request may take; the disk may be slow, but not for ever.
const DEADLINE: Duration = Duration::from_mins(10);
const CURE: &str = "allow this user to run the server's program without a password (NOPASSWD in /etc/sudoers), run the server as root, or leave sudo out";

impl Files {
    /// Has the helper carry out an operation.
    pub(super) async fn ask_root<O: Privileged>(
        &self,
        cx: &Context,
        mut input: O,
        path: PathBuf,
    ) -> Result<O::Output, Error> {
        input.check()?;
        let attempt = Attempt::new(O::NAME, &path);
        let Some(spelled) = path.to_str() else {
            return Err(attempt.invalid_path("paths that are not UTF-8 cannot be used with sudo"));
        };
        spelled.clone_into(input.file());
        let _turn = if O::CHANGES {
            let (turns, path) = (self.turns.clone(), path.clone());
            Some(blocking(move || Ok(turns.wait(&place(&path)))).await?)
        } else {
            None
        };
        let request = Request { limits: (*self.limits).clone(), task: input.task() };
        let mut line = serde_json::to_vec(&request)
            .map_err(|error| Error::internal("the request to sudo could not be written", error))?;
        line.push(b'\n');
        let helper = Helper::find(&self.programs).map_err(|reason| attempt.denied(&reason))?;
        let answer = helper.ask(&self.programs, &line).await;
        let answer = answer.map_err(|reason| attempt.denied(&reason))?;
        if let Some(hint) = answer.hint {
            cx.hint(hint);
        }
        match answer.outcome {
            Outcome::Failure(failure) => Err(failure.into()),
            Outcome::Result(result) => serde_json::from_value(result)
                .map_err(|error| Error::internal("sudo's answer could not be read", error)),
        }
    }
}

/// What to take turns at. Where this user cannot look, the path must do.
fn place(path: &Path) -> Place {
    Target::find(Attempt::new("write", path), path, Parents::Require)
        .map_or_else(|_| Place::unseen(path), |target| target.place().clone())
}

/// The program that carries out one request as root, and what starts it.
struct Helper {
    sudo: PathBuf,
    program: String,
}

impl Helper {
    fn find(programs: &Programs) -> Result<Self, String> {
        let path = programs.foundation().environment.get("PATH").unwrap_or_default();
        let sudo = path
            .split(':')
            .chain(["/usr/bin", "/bin", "/usr/local/bin"])
            .map(|directory| Path::new(directory).join("sudo"))
            .find(|candidate| candidate.is_file())
            .ok_or_else(|| {
                format!("sudo is not installed; install it (apt-get install sudo) and {CURE}")
            })?;
        // A program that was replaced by a newer one while it runs is still there under this name.
        let running = format!("/proc/{}/exe", std::process::id());
        let program = std::env::current_exe()
            .ok()
            .filter(|program| program.exists())
            .and_then(|program| program.into_os_string().into_string().ok());
        Ok(Self { sudo, program: program.unwrap_or(running) })
    }

    /// Hands over a request and waits for the answer, or why there is none.
    async fn ask(&self, programs: &Programs, request: &[u8]) -> Result<Answer, String> {
        let arguments = ["-n", "--", &self.program, SUBCOMMAND].map(str::to_owned).to_vec();
        let environment = [("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("LC_ALL", "C")];
        let command = Command {
            program: self.sudo.clone(),
            arguments,
            environment: environment
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
            directory: PathBuf::from("/"),
        };
        // A request is bounded by the body it came in.
        let settings =
            PipedSettings { log: programs.log_settings(), input_queue_bytes: request.len() };
        let piped = Piped::start(programs.spawner(), &command, &settings)
            .await
            .map_err(|error| format!("sudo could not be started: {error}"))?;
        // A helper that ends without reading says why on its error stream.
        let _ended_already = piped.stdin().write(request);
        let exit = tokio::time::timeout(DEADLINE, piped.wait())
            .await
            .map_err(|_| format!("sudo gave no answer within {} seconds", DEADLINE.as_secs()))?;
        let answer = piped.stdout().read(0, usize::MAX);
        if answer.offset == 0
            && let Ok(answer) = serde_json::from_slice(&answer.bytes)
        {
            return Ok(answer);
        }
        Err(refusal(exit, &piped.stderr().read_text(0, 4096).text))
    }
}

/// Why there is no answer.
fn refusal(exit: Exit, said: &str) -> String {
    let said = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    format!("sudo did not do it (it ended with {}): {said}; {CURE}", exit.shell_code())
}
