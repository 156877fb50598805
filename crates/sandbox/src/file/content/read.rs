//! Reading a file, whole or by lines.

use std::ops::Range;
use std::path::Path;

use atoll_api::file::{FileReadResult, ReadFile};
use atoll_operation::{Context, Error, Handle};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::lines::{count_lines, read_lines};
use super::open::{Source, read_all};
use super::text::{decode, refuse_foreign};
use crate::file::desk::{Desk, length};
use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::Files;
use crate::file::sudo::{Privileged, Task};

const WAYS_OUT: &str = "read some of its lines with start_line and end_line, or download it with GET /v1/file/download";
const SMALLER: &str = "ask for fewer lines, or download it with GET /v1/file/download";

impl Handle<ReadFile> for Files {
    async fn handle(&self, cx: &Context, input: ReadFile) -> Result<FileReadResult, Error> {
        self.carry_out(cx, input).await
    }
}

impl Privileged for ReadFile {
    const NAME: &'static str = "read";
    const CHANGES: bool = false;

    fn sudo(&self) -> bool {
        self.sudo
    }

    fn file(&mut self) -> &mut String {
        &mut self.file
    }

    fn check(&self) -> Result<(), Error> {
        range(self).map(drop)
    }

    fn task(self) -> Task {
        Task::Read(self)
    }

    fn run(self, desk: &Desk, path: &Path) -> Result<FileReadResult, Error> {
        let attempt = Attempt::new(Self::NAME, path);
        let range = range(&self)?;
        let source = Source::open(attempt, path)?;
        let limit = desk.limits.file_read_bytes;
        let (content, line_count) = if let Some(range) = range {
            let room = length(limit);
            let excerpt = read_lines(&source.file, &range, room, &desk.interest)
                .map_err(|error| error.tell(attempt, room, SMALLER))?;
            refuse_foreign(attempt, &excerpt.start)?;
            (decode(attempt, excerpt.bytes)?, Some(excerpt.total))
        } else {
            let bytes = read_all(attempt, &source, limit, WAYS_OUT)?;
            if self.base64 {
                (STANDARD.encode(bytes), None)
            } else {
                let lines = count_lines(&bytes);
                (decode(attempt, bytes)?, Some(lines))
            }
        };
        Ok(FileReadResult { content, file: show(path), line_count })
    }
}

/// The lines asked for, if not all.
fn range(input: &ReadFile) -> Result<Option<Range<u64>>, Error> {
    let (start, end) = match (input.start_line, input.end_line) {
        (None, None) => return Ok(None),
        (start, end) => (start.unwrap_or(0), end.unwrap_or(u64::MAX)),
    };
    if input.base64 {
        let message = "cannot be combined with start_line or end_line: lines are text";
        return Err(Error::field("base64", "with_lines", message));
    }
    if start > end {
        let message = format!(
            "is {end}, before start_line {start}; lines are counted from 0 and end_line is not included"
        );
        return Err(Error::field("end_line", "range", message));
    }
    Ok(Some(start..end))
}
