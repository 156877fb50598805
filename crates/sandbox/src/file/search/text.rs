//! A search told as text: the files changed last first, for an agent that reads rather than parses.

use std::fmt::Write;
use std::time::Duration;

use atoll_api::file::{GrepText, GrepTextMode, GrepTextResult};
use atoll_operation::{Context, Error, Handle};
use atoll_search::{FileMatches, GrepOutcome, GrepQuery, LineMatch, Order, Sort, grep};

use super::grep::check_readable;
use super::refusal::{PatternField, refusal};
use crate::file::desk::length;
use crate::file::paths::show;
use crate::file::service::Files;

const LINES: u64 = 100;
const LINE_LENGTH: u64 = 2000;
/// Matches looked at where only files are told.
const MATCHES: u64 = 10_000;
const LARGEST_FILE: u64 = 64 << 20;
const SECONDS: Duration = Duration::from_secs(30);
const NOTHING: &str = "No matches found";

impl Handle<GrepText> for Files {
    async fn handle(&self, _: &Context, input: GrepText) -> Result<GrepTextResult, Error> {
        let below = input.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".");
        let path = self.path("grep", below)?;
        let most = if input.limit == 0 { LINES } else { input.limit };
        let lines = input.output_mode == GrepTextMode::Content;
        let context = if lines { length(input.context_lines) } else { 0 };
        let query = GrepQuery {
            root: path.clone(),
            pattern: input.pattern,
            fixed_strings: false,
            case_insensitive: input.case_insensitive,
            multiline: false,
            include: input.glob.into_iter().filter(|glob| !glob.is_empty()).collect(),
            exclude: Vec::new(),
            file_type: None,
            recursive: true,
            hidden: false,
            gitignore: true,
            context_before: context,
            context_after: context,
            offset: 0,
            max_results: if lines { most } else { MATCHES },
            max_bytes: length(self.limits.response_output_bytes),
            max_file_size: LARGEST_FILE,
            max_line_length: length(match input.max_line_length {
                0 => LINE_LENGTH,
                given => given,
            }),
            order: Order { by: Sort::Modified, descending: true },
        };
        let outcome = self.search(SECONDS, move |cancel| {
            check_readable(&query.root)?;
            grep(&query, cancel)
        });
        let field = PatternField { name: "pattern", rule: "regex" };
        let outcome = outcome.await?.transpose();
        let outcome = outcome.map_err(|error| match error {
            atoll_search::SearchError::Argument {
                argument: atoll_search::Argument::Include,
                message,
            } => Error::field("glob", "glob", message),
            other => refusal(other, "grep", &path, field),
        })?;
        Ok(tell(outcome, input.output_mode, most))
    }
}

fn tell(outcome: Option<GrepOutcome>, mode: GrepTextMode, most: u64) -> GrepTextResult {
    let Some(outcome) = outcome else {
        let output = "The search took too long and found nothing by then.".to_owned();
        return GrepTextResult { output, count: 0, truncated: true };
    };
    let mut truncated = outcome.truncated || outcome.interrupted.is_some();
    let mut files = outcome.files;
    if mode != GrepTextMode::Content && files.len() as u64 > most {
        files.truncate(length(most));
        truncated = true;
    }
    if files.is_empty() && !truncated {
        return GrepTextResult { output: NOTHING.to_owned(), count: 0, truncated };
    }
    let (mut output, count) = match mode {
        GrepTextMode::Content => content(&files),
        GrepTextMode::FilesOnly => each(&files, |file| show(&file.path)),
        GrepTextMode::Count => {
            each(&files, |file| format!("{}:{}", show(&file.path), file.matches.len()))
        }
    };
    if truncated {
        output.push_str("\n(there is more: use a narrower path, glob or pattern)\n");
    }
    GrepTextResult { output, count, truncated }
}

fn each(files: &[FileMatches], line: impl Fn(&FileMatches) -> String) -> (String, u64) {
    let lines: Vec<_> = files.iter().map(line).collect();
    (lines.join("\n"), files.len() as u64)
}

fn content(files: &[FileMatches]) -> (String, u64) {
    let count = files.iter().map(|file| file.matches.len() as u64).sum();
    let mut output = format!("Found {count} matches\n");
    for (position, file) in files.iter().enumerate() {
        let gap = if position == 0 { "" } else { "\n" };
        // Writing to a text cannot fail.
        let _written = writeln!(output, "{gap}{}:", show(&file.path));
        for found in &file.matches {
            add(&mut output, found);
        }
    }
    (output, count)
}

/// A match with the lines round it; those are told by a dash instead of the colon, as grep tells them.
fn add(output: &mut String, found: &LineMatch) {
    let first = found.line.saturating_sub(found.before.len() as u64);
    let after = found.line + found.text.split('\n').count() as u64;
    for (line, text) in (first..).zip(&found.before) {
        let _written = writeln!(output, "  Line {line}- {text}");
    }
    let _written = writeln!(output, "  Line {}: {}", found.line, found.text);
    for (line, text) in (after..).zip(&found.after) {
        let _written = writeln!(output, "  Line {line}- {text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: u64, text: &str) -> LineMatch {
        LineMatch { line, text: text.to_owned(), before: Vec::new(), after: Vec::new() }
    }

    fn outcome(truncated: bool) -> GrepOutcome {
        let around = LineMatch {
            before: vec!["one".to_owned()],
            after: vec!["three".to_owned()],
            ..found(2, "two")
        };
        GrepOutcome {
            files: vec![
                FileMatches { path: "/a".into(), matches: vec![around] },
                FileMatches { path: "/b".into(), matches: vec![found(1, "x"), found(9, "y")] },
            ],
            truncated,
            searched: 2,
            passed_over: atoll_search::PassedOver::default(),
            interrupted: None,
        }
    }

    #[test]
    fn each_mode_tells_the_same_matches_its_way() {
        let told = tell(Some(outcome(false)), GrepTextMode::Content, 100);
        assert_eq!((told.count, told.truncated), (3, false));
        assert_eq!(
            told.output,
            "Found 3 matches\n/a:\n  Line 1- one\n  Line 2: two\n  Line 3- three\n\n/b:\n  Line 1: x\n  Line 9: y\n"
        );
        let told = tell(Some(outcome(false)), GrepTextMode::FilesOnly, 100);
        assert_eq!((told.output.as_str(), told.count), ("/a\n/b", 2));
        let told = tell(Some(outcome(false)), GrepTextMode::Count, 100);
        assert_eq!(told.output, "/a:1\n/b:2");
    }

    #[test]
    fn what_is_left_out_is_said() {
        let told = tell(Some(outcome(false)), GrepTextMode::FilesOnly, 1);
        assert!(told.truncated && told.output.starts_with("/a\n"), "{told:?}");
        assert!(tell(Some(outcome(true)), GrepTextMode::Content, 3).truncated);
        assert!(tell(None, GrepTextMode::Content, 3).truncated);
        let nothing = GrepOutcome { files: Vec::new(), ..outcome(false) };
        assert_eq!(tell(Some(nothing), GrepTextMode::Count, 3).output, NOTHING);
    }
}
