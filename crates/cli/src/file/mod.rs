//! Files between here and the sandbox: `cat`, `cp` and `edit`. The other verbs of the group are generated.

mod copy;
mod directory;
mod edit;
mod single;

use std::io::{self, IsTerminal, Write};

use atoll_api::file::{DownloadFile, FileStat, StatPath};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use futures::StreamExt;

use crate::failure::Failure;
use crate::output::written;
use crate::program::Session;

pub(crate) use self::copy::copy;
pub(crate) use self::edit::edit;
pub(crate) use self::single::local_file;

/// Verbs made by hand.
pub(crate) const VERBS: &[&str] = &["cat", "cp", "edit"];

#[derive(Debug, Args)]
struct CatArgs {
    /// The files.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
}

pub(crate) fn add_commands(command: Command) -> Command {
    let cat = Command::new("cat").about("Print files of the sandbox, byte by byte");
    command
        .subcommand(CatArgs::augment_args(cat))
        .subcommand(copy::command())
        .subcommand(edit::command())
}

/// Prints files.
pub(crate) async fn cat(session: &Session, matches: &ArgMatches) -> Result<u8, Failure> {
    let arguments = CatArgs::from_arg_matches(matches).map_err(Failure::usage)?;
    for path in arguments.paths {
        let download = DownloadFile { path: path.clone(), ..DownloadFile::default() };
        let download = session.client.download(download).await;
        let mut download = download.map_err(|error| session.explain(error))?;
        let mut sink: Box<dyn Write> = match session.output.file() {
            Some(path) => Box::new(std::fs::File::create(path).map_err(|error| {
                Failure::failed(format!("{} cannot be written: {error}", path.display()))
            })?),
            None => Box::new(io::stdout()),
        };
        let shown = session.output.file().is_none() && io::stdout().is_terminal();
        while let Some(part) = download.next().await {
            let part = part.map_err(|error| session.explain(error))?;
            if shown && part.contains(&0) {
                return Err(Failure::usage(format!(
                    "{path} is no text, which a terminal cannot show: name a file with -o FILE, or pipe it on"
                )));
            }
            written(sink.write_all(&part))?;
        }
        written(sink.flush())?;
    }
    Ok(0)
}

/// What is known of a path in the sandbox.
async fn stat(session: &Session, path: &str) -> Result<FileStat, Failure> {
    let stat = StatPath { path: path.to_owned(), follow: true };
    session.client.call(stat).await.map_err(|error| session.explain(error))
}
