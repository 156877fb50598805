//! The command line. Flags only say what was given; what it means together with the environment and the file is
//! decided in [`crate::config`].

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::config::{Layer, Listen, LogFormat, LogLevel};

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
}

const SERVE_HELP: &str = "\
A flag is stronger than an environment variable, a variable than the configuration file. Every limit of the server \
can be set in the file under [limits] and by variables ATOLL_LIMIT_<NAME>; `atoll serve --print-config` shows them \
all with the values in force.

Signals: SIGTERM, SIGINT and SIGHUP stop the server after open requests have had limits.stop_grace_seconds to end; a \
second one stops it at once.

Exit codes: 0 stopped as asked, 1 could not start or failed, 2 wrong flags or configuration.

Examples:
  atoll serve
  atoll serve --listen 0.0.0.0:8080 --allow-host sandbox.example.org --workspace /data
  atoll serve --listen /run/atoll.sock --log-format json
  MAX_SHELL_SESSIONS=200 atoll serve --print-config > atoll.toml";

/// Flags of `atoll serve`.
#[derive(Debug, Default, Args)]
pub(crate) struct ServeFlags {
    /// Where to listen: address and port (0 takes a free one), or the path of a unix socket
    /// [env: ATOLL_LISTEN, PUBLIC_PORT] [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<Listen>,

    /// Home directory of the sandbox [env: ATOLL_HOME] [default: $HOME].
    #[arg(long, value_name = "DIRECTORY")]
    home: Option<PathBuf>,

    /// Where commands run unless told otherwise [env: WORKSPACE] [default: the home directory].
    #[arg(long, value_name = "DIRECTORY")]
    workspace: Option<PathBuf>,

    /// Directory for this process's private files, spilled output among them [env: ATOLL_RUNTIME_DIR] [default: the
    /// first of $TMPDIR, /tmp and /var/tmp that is on a disk].
    #[arg(long, value_name = "DIRECTORY")]
    runtime_dir: Option<PathBuf>,

    /// Configuration file, TOML [env: ATOLL_CONFIG].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print the settings in force as a configuration file, and exit.
    #[arg(long)]
    pub(crate) print_config: bool,

    /// Form of the log [env: ATOLL_LOG_FORMAT] [default: text].
    #[arg(long, value_name = "FORM")]
    log_format: Option<LogFormat>,

    /// The least severe messages that are logged [env: ATOLL_LOG_LEVEL] [default: info].
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<LogLevel>,

    /// Also write the log to the file atoll.log in this directory [env: LOG_DIR].
    #[arg(long, value_name = "DIRECTORY")]
    log_dir: Option<PathBuf>,

    /// Accept requests addressed to this host name beside the server's own; repeatable; * allows any
    /// [env: ATOLL_ALLOW_HOSTS].
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,

    /// Accept requests from web pages of this origin beside the server's own; repeatable; * allows any
    /// [env: ATOLL_ALLOW_ORIGINS].
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,

    /// Let commands see this variable of the server's environment, by name or pattern (MY_*); repeatable. The server's
    /// own keys and settings are never passed on [env: ATOLL_PASS_ENV].
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,

    /// Keep a Python kernel started, so that the first execution need not wait for one [env: ATOLL_WARM_KERNEL].
    #[arg(long)]
    warm_kernel: bool,

    /// Offer no JupyterLab at /jupyter [env: DISABLE_JUPYTER].
    #[arg(long)]
    disable_jupyter: bool,

    /// Write the server's URL to this file once it accepts connections, and remove it at the end.
    #[arg(long, value_name = "FILE")]
    pub(crate) ready_file: Option<PathBuf>,
}

impl ServeFlags {
    /// The settings given by flags.
    pub(crate) fn into_layer(self) -> Layer {
        let given = |list: Vec<String>| (!list.is_empty()).then_some(list);
        Layer {
            listen: self.listen,
            home: self.home,
            workspace: self.workspace,
            runtime_dir: self.runtime_dir,
            log_format: self.log_format,
            log_level: self.log_level,
            log_dir: self.log_dir,
            allow_hosts: given(self.allow_host),
            allow_origins: given(self.allow_origin),
            pass_env: given(self.pass_env),
            warm_kernel: self.warm_kernel.then_some(true),
            disable_jupyter: self.disable_jupyter.then_some(true),
            limits: std::collections::BTreeMap::new(),
        }
    }
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
