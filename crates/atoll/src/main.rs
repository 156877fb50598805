//! The program: reads the command line, wires everything together, and decides the exit code. Wiring only.

mod account;
mod agent_tools;
mod cli;
mod config;
mod credentials;
mod lifecycle;
mod logging;
mod mcp;
mod ready;
mod runtime_dir;
mod secrets;
mod serve;
mod signals;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::cli::{Cli, Verb};
use crate::secrets::Secrets;

/// Version of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    // These must come before anything that may start a thread: the first makes this process a helper of the server, the
    // second starts it anew without its secrets, the third leaves an init behind as process 1.
    atoll_process::spawner::run_if_asked();
    let secrets = Secrets::take();
    let is_first = std::process::id() == 1;
    atoll_process::init::run_if_pid_one();
    let words: Vec<_> = std::env::args_os().collect();
    if !is_our_own(&words) {
        let program = atoll_cli::Program { command: Cli::command, bridge: mcp::bridge };
        return atoll_cli::run(&words, &program);
    }
    match Cli::parse().command {
        Verb::Serve(flags) => serve::run(*flags, &secrets, is_first),
        Verb::Openapi => {
            let document = atoll_http::openapi(atoll_api::operations(), VERSION);
            print(&format!("{document:#}\n"))
        }
        Verb::ConvertDocument { socket } => match atoll_convert::worker::run(&socket) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("atoll: {error}");
                ExitCode::FAILURE
            }
        },
        Verb::AsRootFile => {
            let stdin = io::BufReader::new(io::stdin());
            match atoll_sandbox::file::as_root_main(stdin, io::stdout().lock()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("atoll: {error}");
                    ExitCode::FAILURE
                }
            }
        }
    }
}

/// Whether the program itself does what these words ask for, rather than a server. What nobody knows is answered with
/// everything there is.
fn is_our_own(words: &[OsString]) -> bool {
    let Some(verb) = words.get(1).filter(|_| !atoll_cli::knows(words)) else {
        return false;
    };
    Cli::command().get_subcommands().any(|known| verb == known.get_name())
}

/// Prints a result. A reader that has read enough (`| head`) is not a failure.
fn print(text: &str) -> ExitCode {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("atoll: cannot print: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
