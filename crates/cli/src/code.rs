//! `code run`: code from an argument, a file or standard input, with what it prints printed as it comes.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use atoll_api::code::{CodeExecution, ExecuteCode};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use futures::StreamExt;
use serde_json::Value;

use crate::failure::Failure;
use crate::output::written;
use crate::program::Session;
use crate::stdin;

/// Verbs made by hand.
pub(crate) const VERBS: &[&str] = &["run"];

const HELP: &str = "\
Without a file and without -c, the code is read from standard input. Exit code 1 means that it failed.

Examples:
  atoll code run -c 'print(6 * 7)'
  atoll code run analysis.py --session work
  echo 'console.log(process.version)' | atoll code run --language javascript";

#[derive(Debug, Args)]
struct RunArgs {
    /// The file that holds the code, here.
    #[arg(conflicts_with = "code")]
    file: Option<PathBuf>,

    /// The code.
    #[arg(long, short)]
    code: Option<String>,

    /// The language; told by the file's name where that is not given, else python.
    #[arg(long, short)]
    language: Option<String>,

    /// Run in this session, which keeps variables and imports; made when there is none.
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Absolute directory to run in.
    #[arg(long, value_name = "DIRECTORY")]
    cwd: Option<String>,

    /// Seconds it may take.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

pub(crate) fn add_commands(command: Command) -> Command {
    let run = Command::new("run").about("Run code from an argument, a file or standard input");
    command.subcommand(RunArgs::augment_args(run).after_help(HELP))
}

/// Runs code; the answer is 0, or 1 when it failed.
pub(crate) async fn run(session: &Session, matches: &ArgMatches) -> Result<u8, Failure> {
    let arguments = RunArgs::from_arg_matches(matches).map_err(Failure::usage)?;
    let language =
        arguments.language.clone().unwrap_or_else(|| language(arguments.file.as_deref()));
    let code = match (arguments.code, &arguments.file) {
        (Some(code), _) => code,
        (None, Some(path)) if path != Path::new("-") => {
            std::fs::read_to_string(path).map_err(|error| {
                Failure::failed(format!("{} cannot be read: {error}", path.display()))
            })?
        }
        _ if io::stdin().is_terminal() && arguments.file.is_none() => {
            return Err(Failure::usage(
                "say what to run: a file, -c CODE, or code on standard input",
            ));
        }
        _ => stdin::text()?,
    };
    let execute = ExecuteCode {
        language,
        code,
        timeout: arguments.timeout,
        cwd: arguments.cwd,
        stateful: false,
        session_id: arguments.session,
    };
    let events = session.client.stream(execute, None).await;
    let mut events = events.map_err(|error| session.explain(error))?;
    let whole_answer = matches.get_flag("json");
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| session.explain(error))?;
        match event.name.as_str() {
            "output" if !whole_answer => print_piece(&event.data)?,
            "completed" => {
                if whole_answer {
                    session.output.show("code_execute", &event.data)?;
                }
                let ended: CodeExecution = serde_json::from_value(event.data).map_err(|error| {
                    Failure::failed(format!("the answer cannot be read: {error}"))
                })?;
                if ended.status == "timeout" {
                    eprintln!("atoll: the code was stopped: its time was up (--timeout sets it)");
                }
                return Ok(u8::from(ended.status != "ok"));
            }
            "error" => {
                let message = event.data["message"].as_str().unwrap_or("the code could not be run");
                return Err(Failure::failed(message));
            }
            _ => {}
        }
    }
    Err(Failure::no_server("the connection ended before the code did"))
}

fn language(file: Option<&Path>) -> String {
    let extension = file.and_then(Path::extension).and_then(|extension| extension.to_str());
    match extension {
        Some("js" | "mjs" | "cjs") => "javascript",
        _ => "python",
    }
    .to_owned()
}

/// Prints a piece of what was said, where it belongs.
fn print_piece(piece: &Value) -> Result<(), Failure> {
    let to_stderr = |text: &str| written(io::stderr().lock().write_all(text.as_bytes()));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match piece["output_type"].as_str().unwrap_or_default() {
        "stream" if piece["name"] == "stderr" => to_stderr(&text(&piece["text"])),
        "stream" => crate::output::print(text(&piece["text"]).as_bytes()),
        "error" => {
            let trace = piece["traceback"].as_array().map(Vec::as_slice).unwrap_or_default();
            let lines: Vec<_> = trace.iter().map(text).collect();
            let told = if lines.is_empty() {
                format!("{}: {}", text(&piece["ename"]), text(&piece["evalue"]))
            } else {
                lines.join("\n")
            };
            to_stderr(&format!("{}\n", told.trim_end()))
        }
        "execute_result" | "display_data" => {
            let data = &piece["data"];
            let plain = if data.is_string() { text(data) } else { text(&data["text/plain"]) };
            if plain.is_empty() {
                return Ok(());
            }
            crate::output::print(format!("{plain}\n").as_bytes())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_told_by_the_files_name() {
        assert_eq!(language(Some(Path::new("a/b.mjs"))), "javascript");
        assert_eq!(language(Some(Path::new("b.py"))), "python");
        assert_eq!(language(None), "python");
    }
}
