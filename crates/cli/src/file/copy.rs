//! `file cp`: files and directories into the sandbox, out of it, and within it.

use std::path::{Path, PathBuf};

use atoll_api::file::CopyPath;
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use serde_json::{Value, json};

use super::{directory, single, stat};
use crate::failure::Failure;
use crate::program::Session;
use crate::render::size;

const HELP: &str = "\
What begins with a colon is in the sandbox: from its workspace, or absolute. Directories are copied with all that is in \
them; into a directory that exists, a copy gets the name of its source.

Examples:
  atoll file cp report.pdf :
  atoll file cp -- src :/data/src
  atoll file cp :/data/out.csv :/data/charts .";

#[derive(Debug, Args)]
struct CopyArgs {
    /// What to copy, and where to last; what begins with a colon is in the sandbox.
    #[arg(required = true, num_args = 2.., value_name = "PATH")]
    paths: Vec<String>,
}

/// A path on one of two sides.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Side {
    Here(PathBuf),
    Sandbox(String),
}

pub(super) fn command() -> Command {
    let command = Command::new("cp")
        .about("Copy files and directories into the sandbox, out of it, or within it");
    CopyArgs::augment_args(command).after_help(HELP)
}

/// Copies files.
pub(crate) async fn copy(session: &Session, matches: &ArgMatches) -> Result<u8, Failure> {
    let arguments = CopyArgs::from_arg_matches(matches).map_err(Failure::usage)?;
    let mut sides: Vec<_> = arguments.paths.iter().map(|path| side(path)).collect();
    let Some(destination) = sides.pop() else {
        return Err(Failure::usage("say what to copy, and where to"));
    };
    let mut copied = Vec::new();
    for source in &sides {
        let into = sides.len() > 1;
        copied.push(match (source, &destination) {
            (Side::Here(source), Side::Sandbox(place)) => upload(session, source, place, into).await?,
            (Side::Sandbox(source), Side::Here(place)) => download(session, source, place, into).await?,
            (Side::Sandbox(source), Side::Sandbox(place)) => within(session, source, place, into).await?,
            (Side::Here(_), Side::Here(_)) => {
                return Err(Failure::usage(
                    "both are here: what is in the sandbox begins with a colon, as in `atoll file cp a.txt :/tmp/`",
                ));
            }
        });
    }
    if session.output.is_human() {
        for one in &copied {
            let bytes = size(one["bytes"].as_u64().unwrap_or_default());
            let line =
                format!("{} → {}  {bytes}\n", text(&one["source"]), text(&one["destination"]));
            session.output.write(line.as_bytes())?;
        }
    } else {
        session.output.show("file_cp", &json!({ "copied": copied }))?;
    }
    Ok(0)
}

fn text(value: &Value) -> String {
    crate::render::visible(&crate::render::plain(value))
}

fn side(path: &str) -> Side {
    match path.strip_prefix(':') {
        Some("") => Side::Sandbox(".".to_owned()),
        Some(path) => Side::Sandbox(path.to_owned()),
        None => Side::Here(PathBuf::from(path)),
    }
}

async fn upload(
    session: &Session,
    source: &Path,
    place: &str,
    into: bool,
) -> Result<Value, Failure> {
    let unreadable =
        |error| Failure::failed(format!("{} cannot be copied: {error}", source.display()));
    let metadata = std::fs::metadata(source).map_err(unreadable)?;
    let own_name = if let Some(name) = source.file_name() {
        name.to_owned()
    } else {
        let whole = source.canonicalize().map_err(unreadable)?;
        whole.file_name().map(ToOwned::to_owned).unwrap_or_default()
    };
    let own_name = own_name.to_str().ok_or_else(|| {
        Failure::failed(format!("{} has a name that is no UTF-8", source.display()))
    })?;
    let target = sandbox_target(session, place, own_name, into).await?;
    let (parent, name) = split(&target);
    let from = source.display().to_string();
    if metadata.is_dir() {
        let copied = directory::upload(session, source, parent, name).await?;
        let (entries, bytes) = (copied.entries, copied.bytes);
        return Ok(
            json!({"source": from, "destination": target, "entries": entries, "bytes": bytes}),
        );
    }
    let bytes = single::upload(session, source, &target).await?;
    Ok(json!({"source": from, "destination": target, "entries": 1, "bytes": bytes}))
}

/// Where a copy goes: into a directory under its own name, else to exactly this place.
async fn sandbox_target(
    session: &Session,
    place: &str,
    own_name: &str,
    into: bool,
) -> Result<String, Failure> {
    let known = stat(session, place).await?;
    if into && !known.is_dir {
        return Err(Failure::usage(format!(
            ":{place} is no directory, and there are several to copy"
        )));
    }
    let inside = known.is_dir || place.ends_with('/');
    let place = known.path.trim_end_matches('/');
    Ok(if inside { format!("{place}/{own_name}") } else { place.to_owned() })
}

fn split(path: &str) -> (&str, &str) {
    match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some(parts) => parts,
        None => (".", path),
    }
}

async fn download(
    session: &Session,
    source: &str,
    place: &Path,
    into: bool,
) -> Result<Value, Failure> {
    let known = stat(session, source).await?;
    if !known.exists {
        return Err(Failure::failed(format!(":{source} does not exist")));
    }
    if into && !place.is_dir() {
        let place = place.display();
        return Err(Failure::usage(format!(
            "{place} is no directory, and there are several to copy"
        )));
    }
    let own_name = split(known.path.trim_end_matches('/')).1;
    let ends_so = place.as_os_str().as_encoded_bytes().ends_with(b"/");
    let inside = place.is_dir() || ends_so;
    let target = if inside { place.join(own_name) } else { place.to_owned() };
    let to = target.display().to_string();
    let source = format!(":{}", known.path);
    if known.is_dir {
        let copied = directory::download(session, &known.path, &target).await?;
        let (entries, bytes) = (copied.entries, copied.bytes);
        return Ok(
            json!({"source": source, "destination": to, "entries": entries, "bytes": bytes}),
        );
    }
    let bytes = single::download(session, &known, &target).await?;
    Ok(json!({"source": source, "destination": to, "entries": 1, "bytes": bytes}))
}

async fn within(
    session: &Session,
    source: &str,
    place: &str,
    into: bool,
) -> Result<Value, Failure> {
    let known = stat(session, source).await?;
    let own_name = split(known.path.trim_end_matches('/')).1;
    let destination = sandbox_target(session, place, own_name, into).await?;
    let copy = CopyPath { source: known.path.clone(), destination, overwrite: true };
    let copied = session.client.call(copy).await.map_err(|error| session.explain(error))?;
    Ok(json!({
        "source": format!(":{}", copied.source),
        "destination": copied.destination,
        "entries": copied.files,
        "bytes": copied.bytes,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_tells_the_sides_apart() {
        assert_eq!(side(":/a b"), Side::Sandbox("/a b".to_owned()));
        assert_eq!(side(":"), Side::Sandbox(".".to_owned()));
        assert_eq!(side("./:a"), Side::Here(PathBuf::from("./:a")));
    }

    #[test]
    fn a_path_has_a_directory_and_a_name() {
        assert_eq!(split("/a/b"), ("/a", "b"));
        assert_eq!(split("/a"), ("/", "a"));
        assert_eq!(split("a"), (".", "a"));
    }
}
