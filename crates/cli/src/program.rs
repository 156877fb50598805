//! From the words typed to the exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use atoll_client::Client;
use clap::{ArgMatches, Command, FromArgMatches as _};

use crate::connection::Connection;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::output::Output;
use crate::tree::{self, Extent, tree};
use crate::{call, code, doctor, exec, file, guide, logs, mcp, open, registry};

/// What the program around this has that this has not.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// The verbs of its own, which ask no server; for help, completions and manual pages.
    pub command: fn() -> Command,
    /// Connects an MCP client on standard input and output to the endpoint at an address, with these headers.
    pub bridge: fn(&str, &[String]) -> ExitCode,
}

/// What a verb works with.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) connection: Connection,
    pub(crate) client: Client,
    pub(crate) output: Output,
}

impl Session {
    fn open(globals: &Globals) -> Result<Self, Failure> {
        let connection = Connection::find(globals)?;
        let client = connection.client()?;
        Ok(Self { connection, client, output: Output::new(globals) })
    }

    /// What a client's error means.
    #[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
    pub(crate) fn explain(&self, error: atoll_client::ClientError) -> Failure {
        self.connection.explain(&error)
    }
}

/// Whether these words ask for something that a server is asked for; the first is the program's own name.
pub fn knows(words: &[OsString]) -> bool {
    tree::knows(words)
}

/// Does what these words say; the first is the program's own name.
pub fn run(words: &[OsString], program: &Program) -> ExitCode {
    let command = tree(words, program, Extent::Branch);
    let matches = match command.try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => {
            // A reader that went away is no reason for another code.
            let _unread = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let outcome = match matches.subcommand() {
        Some(("completions", matches)) => guide::completions(matches, words, program),
        Some(("man", matches)) => guide::man(matches, words, program),
        Some(("mcp", matches)) if matches.subcommand().is_none() => match mcp::endpoint(matches) {
            Ok((url, headers)) => return (program.bridge)(&url, &headers),
            Err(failure) => Err(failure),
        },
        Some((verb, matches)) => run_verb(verb, matches),
        None => Err(Failure::usage("say what to do: `atoll --help` lists the verbs")),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            let said = failure.to_string();
            if !said.is_empty() {
                eprintln!("{}: {said}", tree::called(words));
            }
            ExitCode::from(failure.code())
        }
    }
}

fn run_verb(verb: &str, matches: &ArgMatches) -> Result<u8, Failure> {
    let globals = globals(matches)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let code = runtime.block_on(async {
        if verb == "doctor" {
            return doctor::run(&globals).await;
        }
        let session = Session::open(&globals)?;
        match verb {
            "exec" => exec::run(&session, matches).await,
            "logs" => logs::run(&session, matches).await,
            "open" => open::run(&session, matches).await,
            "call" => {
                let (id, matches) = matches.subcommand().unwrap_or(("", matches));
                invoke(&session, registry::find(id), matches).await
            }
            group => in_group(&session, group, matches).await,
        }
    });
    // What still waits, such as a read of standard input, must not keep the program alive.
    runtime.shutdown_background();
    code
}

async fn in_group(session: &Session, group: &str, matches: &ArgMatches) -> Result<u8, Failure> {
    let (verb, matches) = matches.subcommand().unwrap_or(("", matches));
    match (group, verb) {
        ("file", "cat") => file::cat(session, matches).await,
        ("file", "cp") => file::copy(session, matches).await,
        ("file", "edit") => file::edit(session, matches).await,
        ("code", "run") => code::run(session, matches).await,
        ("mcp", "list") => mcp::list(session, matches).await,
        _ => {
            let mut verbs = registry::verbs(group, tree::by_hand(group)).into_iter();
            let found = verbs.find(|known| known.name == verb);
            invoke(session, found.map(|verb| verb.declaration), matches).await
        }
    }
}

async fn invoke(
    session: &Session,
    declaration: Option<&'static atoll_operation::Declaration>,
    matches: &ArgMatches,
) -> Result<u8, Failure> {
    let declaration = declaration.ok_or_else(|| Failure::usage("there is no such operation"))?;
    call::call(session, declaration, matches).await
}

/// The flags every verb takes, wherever on the line they were given.
fn globals(matches: &ArgMatches) -> Result<Globals, Failure> {
    let mut deepest = matches;
    while let Some((_, deeper)) = deepest.subcommand() {
        deepest = deeper;
    }
    let mut globals = Globals::from_arg_matches(deepest).map_err(Failure::usage)?;
    // `mcp` has always had a name of its own for it.
    if let Ok(Some(url)) = deepest.try_get_one::<String>("url") {
        globals.api_url = Some(url.clone());
    }
    Ok(globals)
}
