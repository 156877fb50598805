//! Finding paths as Python's `glob` does.

use std::time::Duration;

use atoll_api::file::{FileFindResult, FindFiles};
use atoll_operation::{Context, Error, Handle};
use atoll_search::{FindQuery, find};

use super::hints::Hints;
use super::refusal::{PatternField, refusal};
use crate::file::desk::length;
use crate::file::paths::show;
use crate::file::service::Files;

/// How long it may take; there is no field for it.
const TIME: Duration = Duration::from_secs(30);

/// What to do when that was not enough.
const CURE: &str = "look further down, or use a narrower pattern";

impl Handle<FindFiles> for Files {
    async fn handle(&self, cx: &Context, input: FindFiles) -> Result<FileFindResult, Error> {
        let path = self.path("find", &input.path)?;
        let query = FindQuery {
            root: path.clone(),
            pattern: input.glob.clone(),
            max_results: length(self.limits.file_list_entries),
        };
        let outcome = self.search(TIME, move |cancel| find(&query, cancel)).await?;
        let field = PatternField { name: "glob", rule: "glob" };
        let outcome = outcome.transpose().map_err(|error| refusal(error, "find", &path, field))?;

        let mut hints = Hints::default();
        let Some(outcome) = outcome else {
            hints.out_of_time(TIME.as_secs(), CURE);
            hints.leave(cx);
            return Ok(FileFindResult { path: show(&path), files: Vec::new(), truncated: true });
        };
        if outcome.interrupted.is_some() {
            hints.out_of_time(TIME.as_secs(), CURE);
        }
        hints.when(outcome.truncated, || {
            format!(
                "there are more than the first {} paths; use a narrower pattern",
                outcome.paths.len()
            )
        });
        if outcome.paths.is_empty() {
            hints.one_level(&input.glob);
        }
        hints.unreadable(outcome.unreadable);
        hints.leave(cx);
        Ok(FileFindResult {
            path: show(&path),
            files: outcome.paths.iter().map(|path| show(path)).collect(),
            truncated: outcome.truncated || outcome.interrupted.is_some(),
        })
    }
}
