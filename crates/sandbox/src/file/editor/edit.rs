//! The edit that forgives inexact quotes.

use std::sync::Arc;

use atoll_api::file::{EditFile, EditFileResult, EditMatch};
use atoll_operation::{Context, Error, Handle};

use super::change::{Endings, crlf, endings, lf};
use super::command::{Editor, missing, refused};
use super::snippet::around_change;
use super::tolerant::{self, Unclear};
use crate::file::paths::show;
use crate::file::service::Files;

const OPERATION: &str = "edit";

impl Handle<EditFile> for Files {
    async fn handle(&self, cx: &Context, input: EditFile) -> Result<EditFileResult, Error> {
        if input.old_string.is_empty() {
            return Err(missing("edit", "old_string"));
        }
        if input.old_string == input.new_string {
            return Err(refused(
                "editor.no_match",
                "Nothing was changed: old_string and new_string are the same".to_owned(),
            ));
        }
        let path = self.path(OPERATION, &input.file)?;
        let history = Arc::clone(&self.history);
        self.at_desk(cx, move |desk| {
            let mut outcome = (EditMatch::Exact, 0);
            let editor = Editor::new(desk, &history, &path);
            let result = editor.edit(|text| {
                let (text, count, matched) =
                    replace(text, &input).map_err(|why| unclear(&why, &show(&path)))?;
                outcome = (matched, count);
                Ok((text, String::new()))
            })?;
            let (old, new) = (result.old_content.as_deref(), result.new_content.as_deref());
            Ok(EditFileResult {
                file: result.path.clone(),
                replaced_count: outcome.1,
                matched: outcome.0,
                snippet: around_change(old.unwrap_or_default(), new.unwrap_or_default()),
            })
        })
        .await
    }
}

/// The text edited, its line endings kept.
fn replace(text: &str, input: &EditFile) -> Result<(String, u64, EditMatch), Unclear> {
    let EditFile { old_string, new_string, replace_all, .. } = input;
    if endings(text) == Endings::CrLf {
        let replaced =
            tolerant::replace(&lf(text), &lf(old_string), &lf(new_string), *replace_all)?;
        return Ok((crlf(&replaced.text), replaced.count, replaced.matched));
    }
    let replaced = tolerant::replace(text, old_string, new_string, *replace_all)?;
    Ok((replaced.text, replaced.count, replaced.matched))
}

fn unclear(why: &Unclear, path: &str) -> Error {
    match why {
        Unclear::Missing => refused(
            "editor.no_match",
            format!(
                "Nothing was changed: old_string is not in {path}, not even with other white space; read the file and quote it as it is"
            ),
        ),
        Unclear::Several { matched, count, lines } => {
            let places = lines.iter().map(|(first, last)| {
                if first == last { first.to_string() } else { format!("{first}-{last}") }
            });
            let places = places.collect::<Vec<_>>().join(", ");
            let how = if *matched == EditMatch::Exact { "occurs" } else { "may be meant" };
            refused(
                "editor.not_unique",
                format!(
                    "Nothing was changed: old_string {how} {count} times in {path}, at lines {places}; quote more of what is round the one you mean, or set replace_all"
                ),
            )
        }
    }
}
