//! Finding paths by a glob, with sizes, times and any order.

use std::time::Duration;

use atoll_api::file::{FileGlobResult, GlobFileInfo, GlobFiles, GlobSort};
use atoll_operation::{Context, Error, Handle};
use atoll_search::{Found, GlobOutcome, GlobQuery, Order, Sort, glob};

use super::hints::Hints;
use super::refusal::{PatternField, refusal};
use crate::file::desk::length;
use crate::file::paths::show;
use crate::file::service::Files;

impl Handle<GlobFiles> for Files {
    async fn handle(&self, cx: &Context, input: GlobFiles) -> Result<FileGlobResult, Error> {
        let path = self.path("glob", &input.path)?;
        let by = match input.sort_by {
            GlobSort::Path => Sort::Path,
            GlobSort::Name => Sort::Name,
            GlobSort::Size => Sort::Size,
            GlobSort::Modified => Sort::Modified,
        };
        let query = GlobQuery {
            root: path.clone(),
            pattern: input.pattern.clone(),
            exclude: input.exclude.clone().unwrap_or_default(),
            hidden: input.include_hidden,
            gitignore: input.gitignore,
            files_only: input.files_only,
            metadata: input.include_metadata,
            order: Order { by, descending: input.sort_desc },
            max_results: length(input.max_results),
        };
        let time = Duration::from_secs(input.timeout);
        let outcome = self.search(time, move |cancel| glob(&query, cancel)).await?;
        let field = PatternField { name: "pattern", rule: "glob" };
        let outcome = outcome.transpose().map_err(|error| refusal(error, "glob", &path, field))?;
        advise(cx, &input, outcome.as_ref());
        let in_time = outcome.as_ref().is_some_and(|outcome| outcome.interrupted.is_none());
        let (entries, total_count) =
            outcome.map(|outcome| (outcome.entries, outcome.total)).unwrap_or_default();
        Ok(FileGlobResult {
            path: show(&path),
            truncated: !in_time || total_count > entries.len() as u64,
            files: entries.iter().map(|found| info(found, input.include_metadata)).collect(),
            total_count,
            pattern: input.pattern,
        })
    }
}

fn info(found: &Found, include_metadata: bool) -> GlobFileInfo {
    let metadata = found.metadata.filter(|_| include_metadata);
    let name = found.path.file_name().unwrap_or(found.path.as_os_str());
    GlobFileInfo {
        path: show(&found.path),
        name: name.to_string_lossy().into_owned(),
        is_directory: found.is_directory,
        size: metadata.filter(|_| !found.is_directory).map(|metadata| metadata.size),
        modified_time: metadata
            .and_then(|metadata| jiff::Timestamp::try_from(metadata.modified).ok())
            .map(|moment| moment.to_string()),
    }
}

fn advise(cx: &Context, input: &GlobFiles, outcome: Option<&GlobOutcome>) {
    let mut hints = Hints::default();
    if outcome.is_none_or(|outcome| outcome.interrupted.is_some()) {
        hints.out_of_time(input.timeout, "look further down, exclude more, or raise the timeout");
    }
    if let Some(outcome) = outcome {
        let returned = outcome.entries.len() as u64;
        hints.when(outcome.total > returned, || {
            format!(
                "{} match and the first {returned} are returned; raise max_results, or use a narrower pattern",
                outcome.total
            )
        });
        if outcome.total == 0 {
            hints.one_level(&input.pattern);
            hints.hidden(outcome.hidden);
            hints.ignored(input.gitignore);
        }
        hints.unreadable(outcome.unreadable);
    }
    hints.leave(cx);
}
