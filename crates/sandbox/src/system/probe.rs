//! Runs one small program to ask it something: its version, its packages. These are not commands of a session: they
//! have no input, a bounded output and a deadline, and nothing of them outlives the answer.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

use crate::environment::Environment;

/// How long a probe may take.
const DEADLINE: Duration = Duration::from_secs(10);
/// How much a probe may print; package lists of large installations stay far below.
const OUTPUT_BYTES: u64 = 8 << 20;

/// Why a probe gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProbeError {
    /// The program could not be started.
    #[error("{program} could not be started: {reason}", program = program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// It ran, but failed or printed nothing usable.
    #[error("{program} gave no usable answer ({outcome}): {said}", program = program.display())]
    Failed {
        /// The program.
        program: PathBuf,
        /// How it ended.
        outcome: String,
        /// The end of its error output.
        said: String,
    },
    /// It was still running at the deadline.
    #[error("{program} did not answer within {seconds} s", program = program.display())]
    TimedOut {
        /// The program.
        program: PathBuf,
        /// The deadline.
        seconds: u64,
    },
}

/// Runs `program` and returns what it printed.
pub(crate) async fn run(
    program: &Path,
    arguments: &[&str],
    environment: &Environment,
) -> Result<String, ProbeError> {
    run_within(program, arguments, environment, DEADLINE).await
}

async fn run_within(
    program: &Path,
    arguments: &[&str],
    environment: &Environment,
    deadline: Duration,
) -> Result<String, ProbeError> {
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment.iter())
        // Never a directory of the user's: its files could stand in for the interpreter's own modules.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Its own group, so that a wrapper script dies together with what it started.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| ProbeError::Start {
            program: program.to_owned(),
            reason: error.to_string(),
        })?;
    let mut group = Group(child);

    let answer = tokio::time::timeout(deadline, group.read()).await;
    let (status, output, said) = match answer {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => {
            return Err(failed(program, "reading its output failed", &error.to_string()));
        }
        Err(_) => {
            return Err(ProbeError::TimedOut {
                program: program.to_owned(),
                seconds: deadline.as_secs(),
            });
        }
    };
    if !status.success() {
        return Err(failed(program, &status.to_string(), &said));
    }
    Ok(output)
}

/// An error for an answer that came, but is of no use.
pub(crate) fn failed(program: &Path, outcome: &str, said: &str) -> ProbeError {
    ProbeError::Failed {
        program: program.to_owned(),
        outcome: outcome.to_owned(),
        said: said.lines().last().unwrap_or("nothing said").to_owned(),
    }
}

/// A child and whatever it started; all of it is killed when this is dropped.
struct Group(Child);

impl Group {
    async fn read(&mut self) -> std::io::Result<(ExitStatus, String, String)> {
        let stdout = self.0.stdout.take();
        let stderr = self.0.stderr.take();
        let (output, said) = tokio::try_join!(collect(stdout), collect(stderr))?;
        Ok((self.0.wait().await?, output, said))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Until it is reaped the pid is the child's and so is the group; afterwards `id` is `None`.
        if let Some(pid) = self.0.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            kill_process_group(pid, Signal::KILL).ok();
        }
    }
}

async fn collect(pipe: Option<impl tokio::io::AsyncRead + Unpin>) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(OUTPUT_BYTES).read_to_end(&mut bytes).await?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        let home = Path::new("/nonexistent");
        Environment::build(std::iter::empty(), home, home, "someone", &[])
    }

    #[tokio::test]
    async fn a_probe_sees_the_built_environment_and_no_other() {
        let output = run(Path::new("/usr/bin/env"), &[], &environment()).await.unwrap();
        let mut names: Vec<_> = output
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, _)| name.to_owned())
            .collect();
        names.sort();
        let expected: Vec<_> = environment().iter().map(|(n, _)| n.to_owned()).collect();
        assert_eq!(names, expected);
    }

    #[tokio::test]
    async fn a_failing_probe_tells_how_it_ended_and_what_it_said() {
        let script = "echo first >&2; echo reason >&2; exit 3";
        let error = run(Path::new("/bin/sh"), &["-c", script], &environment()).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("exit status: 3"), "{text}");
        assert!(text.ends_with("reason"), "{text}");
    }

    #[tokio::test]
    async fn a_missing_program_is_named() {
        let error = run(Path::new("/nonexistent/tool"), &[], &environment()).await.unwrap_err();
        assert!(error.to_string().contains("/nonexistent/tool"), "{error}");
    }

    #[tokio::test]
    async fn a_probe_over_its_deadline_is_killed_with_its_children() {
        let directory = tempfile::tempdir().unwrap();
        let pid_file = directory.path().join("pid");
        // The sleeper inherits the pipes: only killing the whole group ends the read.
        let script = format!("sleep 1000 & echo $! > {}; wait", pid_file.display());
        let short = Duration::from_millis(300);
        let mut pid = None;
        while pid.is_none() {
            let error = run_within(Path::new("/bin/sh"), &["-c", &script], &environment(), short)
                .await
                .unwrap_err();
            assert!(matches!(error, ProbeError::TimedOut { .. }), "{error}");
            let text = std::fs::read_to_string(&pid_file).unwrap_or_default();
            pid = text.trim().parse::<u32>().ok();
        }
        let stat = PathBuf::from(format!("/proc/{}/stat", pid.unwrap()));
        let started = std::time::Instant::now();
        loop {
            let gone = match std::fs::read_to_string(&stat) {
                Ok(stat) => stat.contains(") Z "),
                Err(_) => true,
            };
            if gone {
                break;
            }
            assert!(started.elapsed() < Duration::from_secs(20), "still alive");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
