//! What the program does by itself. Everything that a running server is asked for is in `atoll_cli`.

mod serve;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use self::serve::SERVE_HELP;
pub(crate) use self::serve::ServeFlags;

/// A computer for an AI agent, behind an HTTP API: shells, commands, and what is installed.
#[derive(Debug, Parser)]
#[command(name = "atoll", version, propagate_version = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Verb,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a sandbox server until it is told to stop.
    #[command(after_help = SERVE_HELP)]
    Serve(Box<ServeFlags>),
    /// Print the OpenAPI document of the server's API.
    Openapi,
    /// Carry out one file operation as root: what a server that is not root starts through sudo.
    #[command(hide = true)]
    AsRootFile,
    /// Convert documents for the server that started this, until it hangs up.
    #[command(hide = true)]
    ConvertDocument {
        /// The server's socket.
        socket: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_flag_is_explained() {
        let command = Cli::command();
        for verb in command.get_subcommands() {
            for argument in verb.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", verb.get_name(), argument.get_id());
            }
        }
    }
}
