//! `logs`: what a service of the sandbox has printed, and what it prints from now on; the server's own log where it is kept
//! in a file here.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use futures::StreamExt;
use serde_json::json;

use crate::failure::Failure;
use crate::output::print;
use crate::program::Session;
use crate::registry;

/// Between two looks at a file that may grow.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// Bytes of a file looked at for its last lines.
const LOOK_BACK: u64 = 4 << 20;

#[derive(Debug, Args)]
struct LogsArgs {
    /// The service; without one, the log of the server itself, where LOG_DIR says that it keeps one here.
    service: Option<String>,

    /// Go on with what comes.
    #[arg(long, short)]
    follow: bool,

    /// How many lines, counted from the end.
    #[arg(long, short = 'n', default_value_t = 200)]
    lines: u64,
}

pub(crate) fn command() -> Command {
    let command =
        Command::new("logs").about("Show what a service has printed, or the server's own log");
    LogsArgs::augment_args(command)
}

/// Shows a log.
pub(crate) async fn run(session: &Session, matches: &ArgMatches) -> Result<u8, Failure> {
    let arguments = LogsArgs::from_arg_matches(matches).map_err(Failure::usage)?;
    let Some(name) = &arguments.service else {
        return of_the_server(&arguments).await;
    };
    let declaration = registry::find("service_logs").ok_or_else(|| {
        Failure::failed(
            "this program knows no services: the one that runs the sandbox may know some",
        )
    })?;
    let input = json!({"name": name, "lines": arguments.lines});
    if !arguments.follow {
        let log = session.client.call_declared(&declaration.spec, &input).await;
        let log = log.map_err(|error| session.explain(error))?;
        print(log["output"].as_str().unwrap_or_default().as_bytes())?;
        return Ok(0);
    }
    let events = session.client.stream_declared(&declaration.spec, &input).await;
    let mut events = events.map_err(|error| session.explain(error))?;
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| session.explain(error))?;
        print(event.data["data"].as_str().unwrap_or_default().as_bytes())?;
    }
    Ok(0)
}

/// The log the server writes into a file, which only whoever sits beside it can read.
async fn of_the_server(arguments: &LogsArgs) -> Result<u8, Failure> {
    let directory = std::env::var_os("LOG_DIR").filter(|value| !value.is_empty());
    let path = directory.map(|directory| PathBuf::from(directory).join("atoll.log"));
    let path = path.ok_or_else(|| {
        Failure::usage(
            "name a service (`atoll services list`), or set LOG_DIR to where the server keeps its log: without that it \
             writes to its standard error only",
        )
    })?;
    let unreadable =
        |error: io::Error| Failure::failed(format!("{} cannot be read: {error}", path.display()));
    let mut file = File::open(&path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOOK_BACK))).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    print(last_lines(&bytes, arguments.lines))?;
    if !arguments.follow {
        return Ok(0);
    }
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        bytes.clear();
        file.read_to_end(&mut bytes).map_err(unreadable)?;
        print(&bytes)?;
    }
}

fn last_lines(bytes: &[u8], lines: u64) -> &[u8] {
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let mut breaks = body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    match lines.checked_sub(1) {
        None => &[],
        Some(before) => {
            let start = breaks.nth(before).map_or(0, |(position, _)| position + 1);
            bytes.get(start..).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_the_end() {
        assert_eq!(last_lines(b"a\nb\nc\n", 2), b"b\nc\n");
        assert_eq!(last_lines(b"a\nb", 1), b"b");
        assert_eq!(last_lines(b"a\nb\n", 9), b"a\nb\n");
        assert_eq!(last_lines(b"a\n", 0), b"");
    }
}
