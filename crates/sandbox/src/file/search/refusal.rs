//! Why a search was not made, for the caller.

use std::path::Path;

use atoll_operation::Error;
use atoll_search::{Argument, SearchError};

use crate::file::fault::Attempt;
use crate::file::paths::show;

/// The field that holds the pattern, and what the pattern is.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatternField {
    pub(super) name: &'static str,
    pub(super) rule: &'static str,
}

/// What to tell the caller.
pub(super) fn refusal(
    error: SearchError,
    operation: &'static str,
    path: &Path,
    pattern: PatternField,
) -> Error {
    let attempt = Attempt::new(operation, path);
    match error {
        SearchError::Root(error) => attempt.failed(&error),
        SearchError::Special => attempt
            .invalid_target(&format!("neither a directory nor an ordinary file: '{}'", show(path))),
        SearchError::Argument { argument, message } => {
            let (name, rule) = match argument {
                Argument::Pattern => (pattern.name, pattern.rule),
                Argument::Include => ("include", "glob"),
                Argument::Exclude => ("exclude", "glob"),
                Argument::FileType => ("type", "type"),
                Argument::FileSize => ("max_file_size", "size"),
            };
            Error::field(name, rule, message)
        }
    }
}
