//! The program: reads the command line, wires everything together, and decides the exit code. Wiring only.

mod account;
mod cli;
mod config;
mod credentials;
mod logging;
mod mcp;
mod ready;
mod runtime_dir;
mod secrets;
mod serve;
mod signals;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Verb};
use crate::secrets::Secrets;

/// Version of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    // These must come before anything that may start a thread: the first makes this process a helper of the server, the
    // second starts it anew without its secrets, the third leaves an init behind as process 1.
    atoll_process::spawner::run_if_asked();
    let secrets = Secrets::take();
    atoll_process::init::run_if_pid_one();
    match Cli::parse().command {
        Verb::Serve(flags) => serve::run(*flags, &secrets),
        Verb::Mcp(flags) => mcp::run(&flags),
        Verb::Openapi => {
            let document = atoll_http::openapi(atoll_api::operations(), VERSION);
            print(&format!("{document:#}\n"))
        }
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
