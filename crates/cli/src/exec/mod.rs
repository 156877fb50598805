//! `exec`: a command in the sandbox as if it ran here. Between pipes its streams stay apart and every byte is as it was;
//! at a terminal it has a terminal of its own.

mod keys;
mod piped;
mod quote;
mod terminal;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};

use clap::{ArgMatches, Args, Command, FromArgMatches as _};

use crate::failure::Failure;
use crate::program::Session;

const HELP: &str = "\
Several words are a program and its arguments, taken as they are; a single word is a line for bash. Without a command, at \
a terminal, it is a shell.

At a terminal, Enter ~ . leaves the command running and returns here; Enter ~ ~ types one ~.

Exit codes: the command's own; 128 and the number of the signal that ended it; 124 when its time was up.

Examples:
  atoll exec -- make test
  atoll exec 'ls *.log | wc -l'
  tar cz src | atoll exec --cwd /tmp -- tar xz
  atoll exec --session work        the terminal of a shell session that agents use too";

#[derive(Debug, Args)]
struct ExecArgs {
    /// Directory to run in, absolute.
    #[arg(long, value_name = "DIRECTORY")]
    cwd: Option<String>,

    /// Set a variable for the command; a name alone takes the value it has here; repeatable.
    #[arg(long, short, value_name = "NAME[=VALUE]")]
    env: Vec<String>,

    /// Kill the command and all it started after this time.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,

    /// Run in this session, which stays when the command has ended; made when there is none.
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Give it pipes also at a terminal.
    #[arg(long, short = 'T')]
    no_tty: bool,

    /// The command.
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// What is to be run, and how.
#[derive(Debug)]
struct Plan {
    /// Source for bash; none for a shell.
    command: Option<String>,
    directory: Option<String>,
    environment: BTreeMap<String, String>,
    timeout: Option<f64>,
    session: Option<String>,
}

pub(crate) fn command() -> Command {
    let command = Command::new("exec").about("Run a command in the sandbox, as if it ran here");
    ExecArgs::augment_args(command).after_help(HELP)
}

/// Runs a command; the answer is its exit code.
pub(crate) async fn run(session: &Session, matches: &ArgMatches) -> Result<u8, Failure> {
    let arguments = ExecArgs::from_arg_matches(matches).map_err(Failure::usage)?;
    let at_terminal = !arguments.no_tty && io::stdin().is_terminal() && io::stdout().is_terminal();
    let plan = Plan {
        command: quote::source(&arguments.command),
        directory: arguments.cwd,
        environment: environment(&arguments.env)?,
        timeout: arguments.timeout,
        session: arguments.session,
    };
    if at_terminal {
        return terminal::run(session, &plan).await;
    }
    if plan.command.is_none() {
        return Err(Failure::usage(
            "say what to run: without a terminal there is no shell to type into",
        ));
    }
    piped::run(session, &plan).await
}

fn environment(given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let variable = |given: &String| match given.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => std::env::var(given).map(|value| (given.clone(), value)).map_err(|_| {
            Failure::usage(format!("--env {given}: it is not set here; write {given}=VALUE"))
        }),
    };
    given.iter().map(variable).collect()
}

/// The exit code that stands for how a command ended.
fn exit_code(code: Option<i32>) -> u8 {
    let code = code.unwrap_or(1);
    // A signal is told as its negative number.
    let code = if code < 0 { 128 - code } else { code };
    u8::try_from(code).unwrap_or(255)
}

/// The exit code of a command whose time was up, as of `timeout`.
const TIMED_OUT: u8 = 124;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_a_shell_would_tell() {
        assert_eq!([Some(0), Some(7), Some(-9), Some(-2)].map(exit_code), [0, 7, 137, 130]);
        assert_eq!(exit_code(None), 1);
    }

    #[test]
    fn variables_have_a_value_given_or_at_hand() {
        let given = ["A=b=c".to_owned(), "PATH".to_owned()];
        let found = environment(&given).unwrap();
        assert_eq!(found["A"], "b=c");
        assert!(!found["PATH"].is_empty());
        assert_eq!(environment(&["NOT_SET_ANYWHERE".to_owned()]).unwrap_err().code(), 2);
    }
}
