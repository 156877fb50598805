//! `file edit`: a file of the sandbox in the editor of whoever sits here. It is written back only when it was changed
//! here, and only when nobody changed it there meanwhile; an edit is never lost.

use std::path::{Path, PathBuf};
use std::process::Command as Program;

use atoll_api::file::{DownloadFile, UploadFile};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use futures::StreamExt;
use serde_json::json;

use super::stat;
use crate::failure::Failure;
use crate::program::Session;

/// Bytes of a file somebody may edit by hand.
const LARGEST: u64 = 64 << 20;

#[derive(Debug, Args)]
struct EditArgs {
    /// The file; a new one when there is none.
    path: String,
}

pub(super) fn command() -> Command {
    let command =
        Command::new("edit").about("Edit a file of the sandbox here, with $VISUAL or $EDITOR");
    EditArgs::augment_args(command)
}

/// Edits a file.
pub(crate) async fn edit(session: &Session, matches: &ArgMatches) -> Result<u8, Failure> {
    let EditArgs { path } = EditArgs::from_arg_matches(matches).map_err(Failure::usage)?;
    let before = content(session, &path).await?;
    let directory = tempfile::Builder::new().prefix("atoll-edit-").tempdir().map_err(here)?;
    let name = Path::new(&path)
        .file_name()
        .ok_or_else(|| Failure::usage(format!("{path:?} names no file")))?;
    let copy = directory.path().join(name);
    std::fs::write(&copy, before.as_deref().unwrap_or_default()).map_err(here)?;
    run_editor(&copy)?;
    let after = std::fs::read(&copy).map_err(here)?;
    let unchanged = match &before {
        Some(before) => *before == after,
        None => after.is_empty(),
    };
    if unchanged {
        return tell(session, &path, false);
    }
    let written = write_back(session, &path, before.as_deref(), &after).await;
    if let Err(failure) = written {
        // What was typed is worth more than a tidy directory.
        let kept: PathBuf = directory.keep().join(name);
        return Err(failure.while_doing(format!("the edited file is kept in {}", kept.display())));
    }
    tell(session, &path, true)
}

fn tell(session: &Session, path: &str, changed: bool) -> Result<u8, Failure> {
    if session.output.is_human() {
        let what = if changed { "written" } else { "not changed" };
        session.output.write(format!("{path}: {what}\n").as_bytes())?;
    } else {
        session.output.show("file_edit_by_hand", &json!({"file": path, "changed": changed}))?;
    }
    Ok(0)
}

async fn write_back(
    session: &Session,
    path: &str,
    before: Option<&[u8]>,
    after: &[u8],
) -> Result<(), Failure> {
    if content(session, path).await?.as_deref() != before {
        return Err(Failure::failed(format!(
            "somebody else has changed {path} in the sandbox meanwhile"
        )));
    }
    let upload = UploadFile { path: Some(path.to_owned()) };
    let uploaded = session.client.upload(upload, "edited", after.to_vec()).await;
    uploaded.map(|_| ()).map_err(|error| session.explain(error))
}

/// What a file holds; none when there is none.
async fn content(session: &Session, path: &str) -> Result<Option<Vec<u8>>, Failure> {
    let known = stat(session, path).await?;
    if !known.exists {
        return Ok(None);
    }
    if known.is_dir {
        return Err(Failure::usage(format!("{path} is a directory")));
    }
    if known.size > LARGEST {
        return Err(Failure::usage(format!("{path} is too large to edit: {} bytes", known.size)));
    }
    let download = DownloadFile { path: path.to_owned(), ..DownloadFile::default() };
    let download = session.client.download(download).await;
    let mut download = download.map_err(|error| session.explain(error))?;
    let mut content = Vec::new();
    while let Some(part) = download.next().await {
        content.extend_from_slice(&part.map_err(|error| session.explain(error))?);
    }
    Ok(Some(content))
}

fn run_editor(copy: &Path) -> Result<(), Failure> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    // An editor may be several words, as in `code --wait`.
    let status = Program::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "edit"])
        .arg(copy)
        .status()
        .map_err(|error| Failure::failed(format!("the editor cannot run: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "the editor `{editor}` ended with {status}: nothing was written; choose another with the variable EDITOR"
    )))
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
fn here(error: std::io::Error) -> Failure {
    Failure::failed(format!("a file to edit cannot be kept here: {error}"))
}
