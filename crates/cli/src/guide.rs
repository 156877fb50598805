//! What shells and manuals want to know: completions and manual pages of the whole tree.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output::print;
use crate::program::Program;
use crate::tree::{Extent, called, tree};

#[derive(Debug, Args)]
struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

#[derive(Debug, Args)]
struct ManArgs {
    /// The verb whose page is printed, such as `file cp`; that of the program when none is named.
    verb: Vec<String>,

    /// Write the pages of all verbs into this directory instead.
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

const COMPLETIONS_HELP: &str = "\
For example, for bash and for every login:
  atoll completions bash > ~/.local/share/bash-completion/completions/atoll";

const MAN_HELP: &str = "\
Examples:
  atoll man file cp | man -l -
  atoll man --directory ~/.local/share/man/man1";

pub(crate) fn completions_command() -> Command {
    let command = Command::new("completions").about("Print the completions for a shell");
    CompletionsArgs::augment_args(command).after_help(COMPLETIONS_HELP)
}

pub(crate) fn man_command() -> Command {
    let command = Command::new("man").about("Print a manual page, or write all of them");
    ManArgs::augment_args(command).after_help(MAN_HELP)
}

/// Prints completions.
pub(crate) fn completions(
    matches: &ArgMatches,
    words: &[OsString],
    program: &Program,
) -> Result<u8, Failure> {
    let arguments = CompletionsArgs::from_arg_matches(matches).map_err(Failure::usage)?;
    let mut command = tree(words, program, Extent::All);
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, called(words), &mut script);
    print(&script)?;
    Ok(0)
}

/// Prints a manual page, or writes all of them.
pub(crate) fn man(
    matches: &ArgMatches,
    words: &[OsString],
    program: &Program,
) -> Result<u8, Failure> {
    let arguments = ManArgs::from_arg_matches(matches).map_err(Failure::usage)?;
    let mut command = tree(words, program, Extent::All);
    if let Some(directory) = arguments.directory {
        let place = directory.display();
        let failed =
            |error| Failure::failed(format!("the pages cannot be written to {place}: {error}"));
        std::fs::create_dir_all(&directory).map_err(failed)?;
        clap_mangen::generate_to(command, &directory).map_err(failed)?;
        return Ok(0);
    }
    command.build();
    let mut page = command;
    for verb in &arguments.verb {
        let found = page.find_subcommand(verb).cloned();
        page = found.ok_or_else(|| {
            Failure::usage(format!("there is no verb {verb:?} in `{}`", page.get_name()))
        })?;
    }
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(page).render(&mut text);
    rendered.map_err(|error| Failure::failed(format!("the page cannot be made: {error}")))?;
    print(&text)?;
    Ok(0)
}
