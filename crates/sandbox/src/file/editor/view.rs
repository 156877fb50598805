//! Looking at files and directories.

use std::ops::Range;
use std::path::Path;

use atoll_operation::{Error, Kind};

use super::command::Editor;
use super::snippet::numbered;
use crate::file::content::{Source, count_lines, decode, read_all, read_lines, refuse_foreign};
use crate::file::desk::length;
use crate::file::paths::show;
use crate::file::tree::{Found, Walk};

/// Entries of a directory that are shown.
const ENTRIES: usize = 2000;
/// Documents that are no text and cannot be converted either.
const DOCUMENTS: &[&str] = &["odt", "ods", "odp"];
const WAYS_OUT: &str = "view some of its lines with view_range";
const CONVERT: &str = "download it with GET /v1/file/download, or convert it to text in the shell (pdftotext, pandoc, a Python script) and view that";

impl Editor<'_> {
    pub(super) fn view(&self, view_range: &[i64]) -> Result<String, Error> {
        let range = parse(view_range)?;
        let metadata = self.look()?;
        if metadata.is_dir() {
            if range.is_some() {
                let message = "view_range is for files, and this is a directory; leave it out";
                return Err(range_error(message.to_owned()));
            }
            return self.view_directory();
        }
        if is_document(self.path) {
            let reason = format!("documents of this kind cannot be shown as text here; {CONVERT}");
            return Err(self.attempt().undecodable(&reason).with_hint(CONVERT));
        }
        let source = Source::open(self.attempt(), self.path)?;
        match range {
            None => self.view_all(&source),
            Some(range) => self.view_lines(&source, &range),
        }
    }

    fn view_all(&self, source: &Source) -> Result<String, Error> {
        let bytes = read_all(self.attempt(), source, self.desk.limits.file_read_bytes, WAYS_OUT)?;
        let total = count_lines(&bytes);
        let text = decode(self.attempt(), bytes)?;
        let path = show(self.path);
        if total == 0 {
            return Ok(format!("{path} is empty.\n"));
        }
        let lines = numbered(text.split_inclusive('\n'), 1);
        Ok(format!("{path} has {total} lines (numbered as by `cat -n`):\n{lines}"))
    }

    fn view_lines(&self, source: &Source, range: &Range<u64>) -> Result<String, Error> {
        let room = length(self.desk.limits.file_read_bytes);
        let excerpt = read_lines(&source.file, range, room, &self.desk.interest)
            .map_err(|error| error.tell(self.attempt(), room, "view fewer lines"))?;
        refuse_foreign(self.attempt(), &excerpt.start)?;
        let (first, total) = (range.start + 1, excerpt.total);
        let last = if range.end == u64::MAX { total } else { range.end };
        if last > total || first > total.max(1) {
            let shown = if range.end == u64::MAX { "-1".to_owned() } else { last.to_string() };
            return Err(range_error(format!(
                "view_range [{first}, {shown}] is out of range: {} has {total} lines",
                show(self.path)
            )));
        }
        let text = decode(self.attempt(), excerpt.bytes)?;
        let lines = numbered(text.split_inclusive('\n'), first);
        let path = show(self.path);
        Ok(format!(
            "Lines {first} to {last} of {total} in {path} (numbered as by `cat -n`):\n{lines}"
        ))
    }

    fn view_directory(&self) -> Result<String, Error> {
        let walk = Walk { depth: 2, hidden: false, room: ENTRIES };
        let found = walk.run(self.attempt(), self.path, &self.desk.interest, |_| true)?;
        Ok(tree(self.path, found))
    }
}

/// A directory's entries, one to a line, directories with a slash.
fn tree(top: &Path, mut found: Found) -> String {
    found.entries.sort_by(|a, b| a.path.cmp(&b.path));
    let top = show(top);
    let slash = if top == "/" { "" } else { "/" };
    let mut text =
        format!("{top} holds, two levels deep and without hidden names:\n{top}{slash}\n");
    for entry in &found.entries {
        text.push_str(&show(&entry.path));
        text.push_str(if entry.metadata.is_dir() { "/\n" } else { "\n" });
    }
    if found.truncated {
        text.push_str(&format!(
            "There is more than these {ENTRIES} entries; view a directory below.\n"
        ));
    }
    if found.hidden > 0 {
        text.push_str(&format!(
            "{} hidden entries are left out; see them with `ls -la {top}`.\n",
            found.hidden
        ));
    }
    if let Some(first) = &found.first_unreadable {
        let count = found.unreadable;
        text.push_str(&format!(
            "{count} directories could not be read, {} among them.\n",
            show(first)
        ));
    }
    text
}

/// The lines asked for, counted from 0; the end of the file is the largest number.
pub(super) fn parse(view_range: &[i64]) -> Result<Option<Range<u64>>, Error> {
    let (first, last) = match *view_range {
        [] => return Ok(None),
        [first, last] => (first, last),
        _ => {
            let message = "view_range must be the first and the last line, as in [11, 20]";
            return Err(range_error(message.to_owned()));
        }
    };
    let start = u64::try_from(first).ok().filter(|first| *first > 0);
    let end = if last == -1 { Some(u64::MAX) } else { u64::try_from(last).ok() };
    match (start, end) {
        (Some(start), Some(end)) if end >= start => Ok(Some(start - 1..end)),
        _ => Err(range_error(format!(
            "view_range [{first}, {last}] makes no range: lines are counted from 1, the last must not be before the first, and -1 stands for the end of the file"
        ))),
    }
}

pub(super) fn range_error(message: String) -> Error {
    Error::new(Kind::InvalidArgument, "editor.range", message)
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    DOCUMENTS.iter().any(|document| document.eq_ignore_ascii_case(extension))
}
