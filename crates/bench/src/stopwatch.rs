//! A peer that is a library: a program in its own language that does what a line says and answers how long it took.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::Failure;
use crate::server::in_clean_environment;

/// Such a program. It says `ready` first, and answers each line with nanoseconds, or with what went wrong.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Stopwatch {
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Result<Self, Failure> {
        if !program.exists() {
            return Err("not installed".into());
        }
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        in_clean_environment(&mut command, &std::env::temp_dir());
        let mut child = command.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("it has no pipes".into());
        };
        let mut stopwatch = Self { child, input, output: BufReader::new(output) };
        match stopwatch.line()?.as_str() {
            "ready" => Ok(stopwatch),
            other => Err(format!("it said {other:?} instead of being ready").into()),
        }
    }

    /// How long this took it.
    pub(crate) fn time(&mut self, what: &str) -> Result<Duration, Failure> {
        writeln!(self.input, "{what}")?;
        let line = self.line()?;
        let nanoseconds = line.parse().map_err(|_| format!("{what}: it answered {line:?}"))?;
        Ok(Duration::from_nanos(nanoseconds))
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
