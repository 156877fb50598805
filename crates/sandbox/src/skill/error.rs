//! What can go wrong with skills, as this API says it.

use std::io;
use std::path::Path;

use atoll_archive::ExtractError;
use atoll_operation::{Error, Kind};
use serde_json::json;

use super::discover::Mistake;

/// Mistakes that one answer names.
const NAMED: usize = 20;

fn bad(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(Kind::InvalidArgument, code, message)
}

/// Neither a directory nor an archive was given.
pub(super) fn nothing_given() -> Error {
    bad(
        "skills.nothing_given",
        "neither a directory (`path`) nor an archive (`file`) is given: there is nothing to register",
    )
}

/// The directory cannot be looked through.
pub(super) fn directory(path: &Path, error: &io::Error) -> Error {
    let message = format!("the directory {} cannot be used: {error}", path.display());
    bad("skills.directory", message)
}

/// A name that cannot be that of a directory.
pub(super) fn directory_name(name: &str) -> Error {
    let message =
        format!("{name:?} cannot be the name of a directory: leave out `/`, `.` and `..`");
    Error::field("name", "name", message)
}

/// No skill is there.
pub(super) fn none_found(place: &str) -> Error {
    let message = format!("{place} holds no skill: a skill is a directory with a SKILL.md");
    bad("skills.none_found", message)
}

/// No skill of that name is there.
pub(super) fn no_such(path: &Path, name: &str, others: &[&str]) -> Error {
    let others: Vec<_> = others.iter().take(NAMED).copied().collect();
    let message = format!(
        "{} holds no skill {name:?}; there are: {}",
        path.display(),
        if others.is_empty() { "none".to_owned() } else { others.join(", ") }
    );
    bad("skills.none_found", message)
}

/// Some of what should be skills cannot be; `shown` makes their paths those the caller knows.
pub(super) fn invalid(mistakes: &[Mistake], shown: impl Fn(&Path) -> String) -> Error {
    let named: Vec<_> = mistakes
        .iter()
        .take(NAMED)
        .map(|mistake| (shown(&mistake.path), mistake.problem.as_str()))
        .collect();
    let mut message = named
        .iter()
        .map(|(path, problem)| format!("{path}: {problem}"))
        .collect::<Vec<_>>()
        .join("; ");
    if mistakes.len() > NAMED {
        message.push_str(&format!("; and {} more", mistakes.len() - NAMED));
    }
    let details: Vec<_> =
        named.iter().map(|(path, problem)| json!({ "path": path, "problem": problem })).collect();
    bad("skills.invalid", message)
        .with_details(json!(details))
        .with_hint("Nothing was registered, and nothing changed.")
}

/// The table is full.
pub(super) fn too_many(limit: u64) -> Error {
    let message = format!(
        "there may be {limit} skills at once (limit skills): delete some, or have ATOLL_LIMIT_SKILLS raised"
    );
    Error::new(Kind::ResourceExhausted, "skills.too_many", message)
}

/// Something is in the archive's place that was not unpacked here.
pub(super) fn exists(target: &Path, foreign: Option<&Path>) -> Error {
    let target = target.display();
    let message = match foreign {
        Some(file) => format!(
            "{target} is there already and holds {}, which was not unpacked from an archive; move it away, or give \
             another name",
            file.display()
        ),
        None => format!(
            "{target} is there already and was not unpacked from an archive; move it away, or give another name"
        ),
    };
    Error::new(Kind::Conflict, "skills.exists", message)
}

/// The file system refused.
pub(super) fn files(what: &str, path: &Path, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied => Kind::PermissionDenied,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Kind::ResourceExhausted,
        _ => Kind::FailedPrecondition,
    };
    Error::new(kind, "skills.files", format!("{what} {}: {error}", path.display()))
}

/// The archive is no good.
pub(super) fn archive(error: ExtractError) -> Error {
    let refused = |code: &'static str, message: String| {
        bad(code, message).with_hint("Nothing was registered, and nothing changed.")
    };
    match error {
        ExtractError::Format { reason } => refused(
            "archive.format",
            format!("the file is no archive that can be unpacked: {reason}"),
        ),
        ExtractError::Unsafe { entry, reason } => refused(
            "archive.unsafe",
            format!("the archive is not safe to unpack: {entry}: {reason}"),
        ),
        ExtractError::Broken { reason } => {
            refused("archive.broken", format!("the archive is damaged: {reason}"))
        }
        ExtractError::TooLarge { limit, allowed } => {
            too_large(&format!("it holds more than {allowed} {limit}"))
        }
        ExtractError::Exists { path } => exists(&path, None),
        ExtractError::InTheWay { path, reason } => {
            files("the archive cannot be unpacked to", &path, &io::Error::other(reason))
        }
        ExtractError::Io { path, source } => {
            files("the archive cannot be unpacked to", &path, &source)
        }
        ExtractError::Read(source) => Error::internal("the archive could not be read", source),
        ExtractError::Cancelled => {
            Error::new(Kind::Cancelled, "request.cancelled", "the caller went away")
        }
    }
}

/// The archive is too large.
pub(super) fn too_large(reason: &str) -> Error {
    let message = format!(
        "the archive is too large: {reason}; limits are skill_archive_bytes, skill_archive_entries and archive_ratio"
    );
    Error::new(Kind::TooLarge, "archive.too_large", message)
        .with_hint("Nothing was registered, and nothing changed.")
}

/// No skill has that name.
pub(super) fn not_found(name: &str) -> Error {
    let message = format!("no skill {name:?} is registered; GET /v1/skills/metadatas lists them");
    Error::new(Kind::NotFound, "skills.not_found", message)
}

/// A skill's text has gone, or cannot be read.
pub(super) fn unreadable(path: &Path, problem: &str) -> Error {
    let message = format!("the skill in {} cannot be read: {problem}", path.display());
    Error::new(Kind::NotFound, "skills.unreadable", message)
}
