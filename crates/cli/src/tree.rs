//! The commands as one tree, of which only the branch that was asked for is built.

use std::ffi::OsString;

use clap::{Args, Command};

use crate::globals::{Globals, bare_words};
use crate::program::Program;
use crate::{code, doctor, exec, file, generate, guide, logs, mcp, open, registry, sugar};

/// Verbs made by hand at the top.
pub(crate) const TOP: &[&str] = &["exec", "logs", "open", "doctor", "call", "completions", "man"];

const HELP: &str = "\
Every operation of a sandbox is a verb here: `atoll GROUP --help` lists those of a group, `atoll call ID` reaches each by \
its id. Answers are for people on a terminal and JSON everywhere else.

The variable ATOLL_API_KEY holds the key, where the sandbox asks for one: no key is a flag, since every process can read \
every command line.

Exit codes: 0 done, 1 refused or failed, 2 wrong use, 3 the sandbox cannot be reached or does not let you in; of `exec`, \
the command's own.";

/// How much of the tree is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What these words need.
    Branch,
    /// Everything.
    All,
}

/// The tree for these words.
pub(crate) fn tree(words: &[OsString], program: &Program, extent: Extent) -> Command {
    let mut bare = bare_words(words);
    let (verb, second) = (bare.next(), bare.next());
    if extent == Extent::Branch
        && let Some(branch) = verb.and_then(|verb| branch(verb, second))
    {
        return root(Command::new("atoll"), words).subcommand(branch);
    }
    let mut root = root((program.command)(), words).about(
        "A computer for an AI agent: serves a sandbox, and uses one that runs, from a shell",
    );
    for name in TOP {
        let command = if *name == "call" { Some(names_to_call()) } else { hand_made(name, None) };
        root = root.subcommands(command);
    }
    for group in registry::groups() {
        root = root.subcommand(self::group(group, extent));
    }
    root
}

fn root(command: Command, words: &[OsString]) -> Command {
    let command = Globals::augment_args(command)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .propagate_version(true)
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(HELP);
    command.name(called(words)).bin_name(called(words))
}

/// The name the program was called by: as `aio` it is known to the documents of others.
pub(crate) fn called(words: &[OsString]) -> &'static str {
    let name = words.first().map(std::path::Path::new).and_then(std::path::Path::file_name);
    if name.is_some_and(|name| name == "aio") { "aio" } else { "atoll" }
}

/// The branch of a verb; none when there is no such verb here.
fn branch(verb: &str, second: Option<&str>) -> Option<Command> {
    if TOP.contains(&verb) {
        return hand_made(verb, second);
    }
    registry::group_named(verb).map(|name| group(name, Extent::All))
}

/// Whether this crate carries out what these words ask for.
pub(crate) fn knows(words: &[OsString]) -> bool {
    let verb = bare_words(words).next();
    verb.is_some_and(|verb| TOP.contains(&verb) || registry::group_named(verb).is_some())
}

fn hand_made(verb: &str, second: Option<&str>) -> Option<Command> {
    Some(match verb {
        "exec" => exec::command(),
        "logs" => logs::command(),
        "open" => open::command(),
        "doctor" => doctor::command(),
        "call" => call(second),
        "completions" => guide::completions_command(),
        "man" => guide::man_command(),
        _ => return None,
    })
}

/// `call`, with the one operation that is named, or with all of them.
fn call(operation: Option<&str>) -> Command {
    let command = without_operations();
    if let Some(declaration) = operation.and_then(registry::find) {
        return command.subcommand(generate::command(declaration, declaration.spec.id));
    }
    command.subcommands(
        atoll_api::operations()
            .map(|declaration| generate::command(declaration, declaration.spec.id)),
    )
}

/// `call` where names are enough: the groups' own branches say all of it.
fn names_to_call() -> Command {
    without_operations()
        .subcommands(atoll_api::operations().map(|declaration| Command::new(declaration.spec.id)))
}

fn without_operations() -> Command {
    Command::new("call")
        .about("Carry out any operation by its id")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("OPERATION")
        .subcommand_help_heading("Operations")
}

/// Verbs made by hand in a group.
pub(crate) fn by_hand(group: &str) -> &'static [&'static str] {
    match group {
        "file" => file::VERBS,
        "code" => code::VERBS,
        "mcp" => mcp::VERBS,
        _ => &[],
    }
}

fn group(name: &'static str, extent: Extent) -> Command {
    let mut command = Command::new(name).about(sugar::about(name));
    if let Some(alias) = registry::group_alias(name) {
        command = command.visible_alias(alias);
    }
    command = match name {
        "mcp" => mcp::with_bridge(command),
        _ => command.subcommand_required(true).arg_required_else_help(true),
    };
    if extent == Extent::Branch {
        return command;
    }
    command = match name {
        "file" => file::add_commands(command),
        "code" => code::add_commands(command),
        "mcp" => mcp::add_commands(command),
        _ => command,
    };
    command.subcommands(
        registry::verbs(name, by_hand(name)).into_iter().map(|verb| {
            generate::command(verb.declaration, &verb.name).visible_aliases(verb.aliases)
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        Program {
            command: || Command::new("atoll"),
            bridge: |_, _| std::process::ExitCode::SUCCESS,
        }
    }

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_whole_tree_is_sound() {
        tree(&words("atoll"), &program(), Extent::All).debug_assert();
    }

    #[test]
    fn each_branch_is_sound_and_holds_nothing_else() {
        for verb in TOP.iter().copied().chain(registry::groups()) {
            let tree = tree(&words(&format!("atoll {verb}")), &program(), Extent::Branch);
            assert_eq!(tree.get_subcommands().count(), 1, "{verb}");
            tree.debug_assert();
        }
    }

    #[test]
    fn a_word_that_is_no_verb_gets_the_names_of_all() {
        let tree = tree(&words("atoll brwser"), &program(), Extent::Branch);
        assert!(tree.get_subcommands().count() > TOP.len() + 8);
        let error = tree.try_get_matches_from(["atoll", "brwser"]).unwrap_err();
        assert!(error.to_string().contains("browser"), "{error}");
    }

    #[test]
    fn an_operation_is_called_by_its_id_and_near_misses_are_told() {
        let line = words("atoll call system_ping");
        let matches = tree(&line, &program(), Extent::Branch).try_get_matches_from(&line);
        assert!(matches.is_ok());
        let line = words("atoll call system_pnig");
        let error = tree(&line, &program(), Extent::Branch).try_get_matches_from(&line);
        assert!(error.unwrap_err().to_string().contains("system_ping"));
    }

    #[test]
    fn every_operation_has_help_under_its_id_and_in_its_group() {
        let help = |line: &str| {
            let line = words(line);
            let error = tree(&line, &program(), Extent::Branch).try_get_matches_from(&line);
            error.unwrap_err()
        };
        for declaration in atoll_api::operations() {
            let id = declaration.spec.id;
            let error = help(&format!("atoll call {id} --help"));
            assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp, "{error}");
            assert!(error.to_string().contains(declaration.spec.path), "{error}");
        }
        for group in registry::groups() {
            let listed = help(&format!("atoll {group} --help")).to_string();
            for verb in registry::verbs(group, by_hand(group)) {
                assert!(listed.contains(&verb.name), "{group} {}", verb.name);
            }
        }
    }

    #[test]
    fn the_program_is_called_as_it_was_called() {
        assert_eq!(called(&words("/usr/bin/aio mcp")), "aio");
        assert_eq!(called(&words("./atoll")), "atoll");
    }
}
