//! What is wrong with an archive, or with where it goes, as this API says it.

use std::path::Path;

use atoll_archive::{ExtractError, Limit, PackError};
use atoll_operation::{Error, Kind};
use serde_json::json;

use crate::file::fault::Attempt;
use crate::file::paths::show;

/// Why a tree is not packed.
pub(super) fn not_packed(error: &PackError) -> Error {
    match error {
        PackError::Read { path, source } => Attempt::new("archive", path).failed(source),
        PackError::Special { path } => Attempt::new("archive", path)
            .invalid_target(&format!("'{}' is neither a directory nor a file", show(path))),
        PackError::Unfit { path, reason } => {
            Attempt::new("archive", path).invalid_target(&format!("'{}' {reason}", show(path)))
        }
        PackError::Write(_) | PackError::Cancelled => went_away(),
    }
}

/// Why an archive is not unpacked into this directory.
pub(super) fn not_extracted(error: ExtractError, into: &Path) -> Error {
    let refused = |code: &'static str, message: String| {
        Error::new(Kind::InvalidArgument, code, message)
            .with_hint("Nothing was unpacked, and nothing changed.")
    };
    match error {
        ExtractError::Format { reason } => refused(
            "archive.format",
            format!("The file is no archive that can be unpacked: {reason}"),
        ),
        ExtractError::Unsafe { entry, reason } => refused(
            "archive.unsafe",
            format!("The archive is not safe to unpack: {entry}: {reason}"),
        )
        .with_details(json!({"entry": entry, "reason": reason})),
        ExtractError::Broken { reason } => {
            refused("archive.broken", format!("The archive is damaged: {reason}"))
        }
        ExtractError::TooLarge { limit, allowed } => too_large(
            match limit {
                Limit::Entries => "archive_entries",
                Limit::Bytes => "archive_bytes",
                Limit::Ratio => "archive_ratio",
            },
            allowed,
            &format!("it holds more than {allowed} {limit}"),
        ),
        ExtractError::Exists { path } => Attempt::new("extract", &path)
            .already_exists()
            .with_hint("Nothing was unpacked. Set overwrite to replace files that are there."),
        ExtractError::InTheWay { path, reason } => {
            Attempt::new("extract", &path).invalid_target(&format!("{reason}: '{}'", show(&path)))
        }
        ExtractError::Io { path, source } => Attempt::new("extract", &path).failed(&source),
        ExtractError::Read(source) => Attempt::new("extract", into).failed(&source),
        ExtractError::Cancelled => went_away(),
    }
}

/// It is over this limit.
pub(super) fn too_large(limit: &'static str, allowed: u64, reason: &str) -> Error {
    let message = format!("The archive is too large: {reason} (limit {limit})");
    Error::new(Kind::TooLarge, "archive.too_large", message)
        .with_details(json!({"limit": limit, "allowed": allowed}))
        .with_hint("Nothing was unpacked. Send it in parts, or unpack it in the shell.")
}

fn went_away() -> Error {
    Error::new(Kind::Cancelled, "cancelled", "the caller went away")
}
