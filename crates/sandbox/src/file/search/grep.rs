//! Searching the content of files.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use atoll_api::file::{FileGrepResult, GrepFiles, GrepMatch};
use atoll_operation::{Context, Error, Handle};
use atoll_search::{FileMatches, GrepOutcome, GrepQuery, Order, grep, parse_size};

use super::hints::{Hints, counted};
use super::refusal::{PatternField, refusal};
use crate::file::desk::length;
use crate::file::paths::show;
use crate::file::service::Files;

impl Handle<GrepFiles> for Files {
    async fn handle(&self, cx: &Context, input: GrepFiles) -> Result<FileGrepResult, Error> {
        let path = self.path("grep", &input.path)?;
        let field = PatternField { name: "pattern", rule: "regex" };
        let refuse = |error| refusal(error, "grep", &path, field);
        let max_file_size = parse_size(&input.max_file_size).map_err(refuse)?;
        let max_bytes = length(self.limits.response_output_bytes);
        let query = query(&path, &input, max_file_size, max_bytes);
        let time = Duration::from_secs(input.timeout);
        let outcome = self.search(time, move |cancel| {
            check_readable(&query.root)?;
            grep(&query, cancel)
        });
        let outcome = outcome.await?;
        let outcome = outcome.transpose().map_err(refuse)?;
        advise(cx, &input, outcome.as_ref());
        Ok(answer(&path, input, outcome))
    }
}

/// A file that is named itself is not passed over when it cannot be read.
pub(super) fn check_readable(root: &Path) -> io::Result<()> {
    if root.metadata().is_ok_and(|metadata| metadata.is_file()) {
        File::open(root)?;
    }
    Ok(())
}

fn query(path: &Path, input: &GrepFiles, max_file_size: u64, max_bytes: usize) -> GrepQuery {
    GrepQuery {
        root: path.to_owned(),
        pattern: input.pattern.clone(),
        fixed_strings: input.fixed_strings,
        case_insensitive: input.case_insensitive,
        multiline: input.multiline,
        include: input.include.clone().unwrap_or_default(),
        exclude: input.exclude.clone().unwrap_or_default(),
        file_type: input.file_type.clone(),
        recursive: input.recursive,
        hidden: input.include_hidden,
        gitignore: input.gitignore,
        context_before: length(input.context_before),
        context_after: length(input.context_after),
        offset: input.offset,
        max_results: input.max_results,
        max_bytes,
        max_file_size,
        max_line_length: length(input.max_line_length),
        order: Order::default(),
    }
}

fn answer(path: &Path, input: GrepFiles, outcome: Option<GrepOutcome>) -> FileGrepResult {
    let mut result = FileGrepResult {
        path: show(path),
        pattern: input.pattern,
        matches: Vec::new(),
        match_count: 0,
        files_searched: None,
        files_matched: None,
        truncated: true,
    };
    if let Some(outcome) = outcome {
        let (before, after) = (input.context_before > 0, input.context_after > 0);
        result.files_searched = Some(outcome.searched);
        result.files_matched = Some(outcome.files.len() as u64);
        result.truncated = outcome.truncated || outcome.interrupted.is_some();
        result.matches =
            outcome.files.into_iter().flat_map(|file| matches(file, before, after)).collect();
        result.match_count = result.matches.len() as u64;
    }
    result
}

fn matches(file: FileMatches, before: bool, after: bool) -> impl Iterator<Item = GrepMatch> {
    let path = show(&file.path);
    file.matches.into_iter().map(move |found| GrepMatch {
        file: path.clone(),
        line_number: found.line,
        line_content: found.text,
        context_before: before.then_some(found.before),
        context_after: after.then_some(found.after),
    })
}

fn advise(cx: &Context, input: &GrepFiles, outcome: Option<&GrepOutcome>) {
    let mut hints = Hints::default();
    if outcome.is_none_or(|outcome| outcome.interrupted.is_some()) {
        hints.out_of_time(
            input.timeout,
            "search further down, include less, exclude more, or raise the timeout",
        );
    }
    if let Some(outcome) = outcome {
        let found = outcome.files.iter().map(|file| file.matches.len() as u64).sum::<u64>();
        let passed_over = outcome.passed_over;
        hints.when(outcome.truncated, || {
            let next = input.offset.saturating_add(found);
            format!("there are more matches: go on with offset {next}, or use a narrower pattern")
        });
        if found == 0 && input.offset > 0 {
            hints.when(!outcome.truncated && outcome.interrupted.is_none(), || {
                format!("there are no more than {} matches", input.offset)
            });
        } else if found == 0 {
            hints.hidden(passed_over.hidden);
            hints.ignored(input.gitignore);
            hints.when(passed_over.too_large > 0, || {
                let files = counted(passed_over.too_large, "file was", "files were");
                format!(
                    "{files} larger than {} and passed over: raise max_file_size",
                    input.max_file_size
                )
            });
            hints.when(passed_over.binary > 0, || {
                let files = counted(passed_over.binary, "file holds", "files hold");
                format!("{files} no text and passed over")
            });
        }
        hints.unreadable(passed_over.unreadable);
    }
    hints.leave(cx);
}
