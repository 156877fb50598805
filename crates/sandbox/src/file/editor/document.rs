//! Looking at documents that are no text: what the converter makes of them, or of the part that is asked for.

use std::path::Path;

use atoll_api::file::{StrReplaceEditor, StrReplaceEditorResult};
use atoll_convert::{Selection, Source};
use atoll_operation::Error;
use serde_json::{Map, Value};

use super::snippet::numbered;
use super::view::{parse, range_error};
use crate::convert::{Content, Document};
use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::Files;

/// Extensions of documents that are converted to be seen.
const CONVERTED: &[&str] = &["pdf", "docx", "xlsx", "pptx", "doc", "xls", "ppt", "epub"];
const WAYS_OUT: &str =
    "download it with GET /v1/file/download, or work on it with a program in the shell";

/// Whether something is a document of such a kind, by its name.
pub(super) fn is_converted(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    CONVERTED.iter().any(|document| document.eq_ignore_ascii_case(extension))
}

impl Files {
    /// A document as Markdown with line numbers.
    pub(super) async fn view_document(
        &self,
        operation: &'static str,
        path: &Path,
        input: StrReplaceEditor,
    ) -> Result<StrReplaceEditorResult, Error> {
        let lines = parse(&input.view_range)?;
        let selection = Selection {
            pages: range("page_range", input.page_range.as_deref())?,
            sheet: input.sheet_name.filter(|name| !name.is_empty()),
            rows: range("row_range", input.row_range.as_deref())?,
            slides: range("slide_range", input.slide_range.as_deref())?,
            properties: input.enable_metadata,
        };
        let source = Source { name: Some(show(path)), ..Source::default() };
        let content = Content::File(path.to_owned());
        let converted = self.converter.convert(Document { content, source, selection }).await;
        let document = converted.map_err(|error| told(Attempt::new(operation, path), error))?;
        let all: Vec<&str> = document.text.split_inclusive('\n').collect();
        let total = all.len() as u64;
        let lines = lines.unwrap_or(0..u64::MAX);
        if lines.start > 0 && lines.start >= total {
            let first = lines.start + 1;
            return Err(range_error(format!("there is no line {first}: there are {total}")));
        }
        let place = |line: u64| usize::try_from(line.min(total)).unwrap_or(usize::MAX);
        let shown = all.get(place(lines.start)..place(lines.end)).unwrap_or_default();
        let text = numbered(shown.iter().copied(), lines.start + 1);
        let name = show(path);
        let metadata = input.enable_metadata.then(|| {
            let title = document.title.map(|title| ("title".to_owned(), Value::from(title)));
            let others = document.properties.into_iter().map(|(name, value)| (name, value.into()));
            title.into_iter().chain(others).collect::<Map<_, _>>()
        });
        Ok(StrReplaceEditorResult {
            output: format!("{name} as Markdown, {total} lines (numbered as by `cat -n`):\n{text}"),
            error: None,
            path: name,
            prev_exist: true,
            old_content: None,
            new_content: None,
            metadata,
        })
    }
}

/// The first and the last of something, counted from 1; -1 is the end.
fn range(name: &str, given: Option<&[i64]>) -> Result<Option<(u32, u32)>, Error> {
    let (first, last) = match given.unwrap_or_default() {
        [] => return Ok(None),
        [one] => (*one, *one),
        [first, last] => (*first, *last),
        _ => {
            return Err(range_error(format!(
                "{name} must be the first and the last, as in [1, 3]"
            )));
        }
    };
    let start = u32::try_from(first).ok().filter(|first| *first > 0);
    let end = if last == -1 { Some(u32::MAX) } else { u32::try_from(last).ok() };
    match (start, end) {
        (Some(start), Some(end)) if end >= start => Ok(Some((start, end))),
        _ => Err(range_error(format!(
            "{name} [{first}, {last}] makes no range: count from 1, and use -1 for the end"
        ))),
    }
}

/// A converter's refusal in the words of this editor.
fn told(attempt: Attempt<'_>, error: Error) -> Error {
    match error.code() {
        "convert.timeout" | "convert.busy" => error,
        "convert.no_such_part" => range_error(error.message().to_owned()),
        "convert.too_large" => attempt.too_large(error.message()),
        _ => {
            let reason = format!("{}; {WAYS_OUT}", error.message());
            attempt.undecodable(&reason).with_hint(WAYS_OUT)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked() {
        assert_eq!(range("x", None).unwrap(), None);
        assert_eq!(range("x", Some(&[2, 5])).unwrap(), Some((2, 5)));
        assert_eq!(range("x", Some(&[2, -1])).unwrap(), Some((2, u32::MAX)));
        assert_eq!(range("x", Some(&[3])).unwrap(), Some((3, 3)));
        for wrong in [&[0, 1][..], &[3, 2], &[1, 2, 3], &[-1, 2]] {
            assert_eq!(range("x", Some(wrong)).unwrap_err().code(), "editor.range", "{wrong:?}");
        }
    }
}
