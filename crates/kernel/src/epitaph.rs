//! How a kernel ended and what it said last, in words.

use atoll_process::{Exit, Log};

/// Bytes and lines of a kernel's log that explain its end.
const LOG_TAIL: u64 = 8000;
const LOG_LINES: usize = 15;

/// The first words of a Python that crashes.
const CRASH: &str = "Fatal Python error";

/// The last lines of a log from an offset on, or those that tell of a crash.
pub(crate) fn tail(log: &Log, from: u64) -> String {
    let end = log.progress().end;
    let from = from.max(end.saturating_sub(LOG_TAIL));
    let text = log.read_text(from, usize::try_from(LOG_TAIL).unwrap_or(usize::MAX)).text;
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let crash = lines.iter().rposition(|line| line.starts_with(CRASH));
    let start = crash.unwrap_or(lines.len().saturating_sub(LOG_LINES));
    lines.into_iter().skip(start).take(LOG_LINES).collect::<Vec<_>>().join("\n")
}

/// What it said, to go behind what happened to it.
pub(crate) fn said(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("; it said: {log}") }
}

/// How a kernel ended, readable after its name.
pub(crate) fn describe(exit: Exit) -> String {
    let name = |signal| match signal {
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL, as when memory runs out",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => "a signal",
    };
    match exit {
        Exit::Code(code) => format!("ended with exit code {code}"),
        Exit::Signal(signal) => format!("was killed by signal {signal} ({})", name(signal)),
        Exit::OutOfMemory { .. } | Exit::Lost => exit.to_string(),
    }
}
