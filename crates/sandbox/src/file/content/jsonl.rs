//! Files that hold one JSON value per line: counted, read and added to by whole lines.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use atoll_api::file::{
    AppendJsonLines, AppendedJsonLines, CountJsonLines, JsonLineCount, JsonLines, ReadJsonLines,
};
use atoll_operation::{Context, Error, Handle};
use serde::de::IgnoredAny;

use super::lines::read_lines;
use super::open::Source;
use super::text::decode;
use crate::file::desk::{Desk, length};
use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::Files;
use crate::file::store::{Parents, Target, append};

impl Handle<CountJsonLines> for Files {
    async fn handle(&self, cx: &Context, input: CountJsonLines) -> Result<JsonLineCount, Error> {
        let path = self.path("count_lines", &input.file)?;
        self.at_desk(cx, move |desk| {
            let attempt = Attempt::new("count_lines", &path);
            let source = Source::open(attempt, &path)?;
            let excerpt = read_lines(&source.file, &(0..0), 0, &desk.interest)
                .map_err(|error| error.tell(attempt, 0, ""))?;
            Ok(JsonLineCount { lines: excerpt.total })
        })
        .await
    }
}

impl Handle<ReadJsonLines> for Files {
    async fn handle(&self, cx: &Context, input: ReadJsonLines) -> Result<JsonLines, Error> {
        let path = self.path("read_lines", &input.file)?;
        self.at_desk(cx, move |desk| {
            let attempt = Attempt::new("read_lines", &path);
            let source = Source::open(attempt, &path)?;
            let end = input.count.map_or(u64::MAX, |count| input.start_line.saturating_add(count));
            let room = length(desk.limits.file_read_bytes);
            let range = input.start_line..end;
            let excerpt = read_lines(&source.file, &range, room, &desk.interest)
                .map_err(|error| error.tell(attempt, room, "ask for fewer lines"))?;
            let text = decode(attempt, excerpt.bytes)?;
            Ok(JsonLines { lines: text.lines().map(str::to_owned).collect() })
        })
        .await
    }
}

impl Handle<AppendJsonLines> for Files {
    async fn handle(
        &self,
        cx: &Context,
        input: AppendJsonLines,
    ) -> Result<AppendedJsonLines, Error> {
        let path = self.path("append", &input.file)?;
        self.at_desk(cx, move |desk| {
            let lines = input.json_string.into_vec();
            let text = lines.iter().map(|line| one_line(line)).collect::<Result<String, _>>()?;
            if !lines.is_empty() {
                add(desk, &path, &text)?;
            }
            Ok(AppendedJsonLines { file: show(&path), lines: lines.len() as u64 })
        })
        .await
    }
}

/// A value on a line of its own. What needs several lines is no line, unless it is JSON that can be written on one.
fn one_line(text: &str) -> Result<String, Error> {
    if !text.contains(['\n', '\r']) {
        return Ok(format!("{text}\n"));
    }
    let wrong = |error| {
        let message = format!("has line breaks and is not JSON that could do without: {error}");
        Error::field("json_string", "json", message)
    };
    serde_json::from_str::<IgnoredAny>(text).map_err(wrong)?;
    // In JSON a line break is only ever space between tokens: within text it would have to be written as \n.
    Ok(format!("{}\n", text.trim().replace(['\n', '\r'], " ")))
}

fn add(desk: &Desk, path: &Path, lines: &str) -> Result<(), Error> {
    let attempt = Attempt::new("append", path);
    let target = Target::find(attempt, path, Parents::Make)?;
    let _turn = desk.turns.wait(target.place());
    let existing = target.existing(attempt)?;
    let open = existing.as_ref().map_or(Ok(false), |known| ends_amid_a_line(target.path(), known));
    let open = open.map_err(|error| attempt.failed(&error))?;
    let text = if open { format!("\n{lines}") } else { lines.to_owned() };
    append(target.path(), existing.is_none(), text.as_bytes(), None, false)
        .map_err(|error| attempt.failed(&error))
}

/// Whether the last line has no line break yet.
fn ends_amid_a_line(path: &Path, known: &Metadata) -> io::Result<bool> {
    let Some(last) = known.len().checked_sub(1) else {
        return Ok(false);
    };
    let mut byte = [0];
    File::open(path)?.read_exact_at(&mut byte, last)?;
    Ok(byte != *b"\n")
}

#[cfg(test)]
mod tests {
    use atoll_api::file::OneOrMany;

    use super::*;
    use crate::file::fixture::Fixture;

    async fn append(fixture: &Fixture, json_string: OneOrMany) -> Result<AppendedJsonLines, Error> {
        let file = "log/a.jsonl".to_owned();
        fixture.ask(AppendJsonLines { file, json_string }).await
    }

    #[tokio::test]
    async fn lines_are_added_whole_counted_and_read() {
        let fixture = Fixture::new();
        append(&fixture, OneOrMany::One(r#"{"a":1}"#.to_owned())).await.unwrap();
        let several = ["[2]", "{\n  \"b\": \"x\\ny\"\n}"].map(str::to_owned).to_vec();
        append(&fixture, OneOrMany::Many(several)).await.unwrap();
        let file = || "log/a.jsonl".to_owned();
        let read = |start_line, count| ReadJsonLines { file: file(), start_line, count };
        assert_eq!(fixture.ask(CountJsonLines { file: file() }).await.unwrap().lines, 3);
        let all = fixture.ask(read(0, None)).await.unwrap().lines;
        assert_eq!(all, [r#"{"a":1}"#, "[2]", r#"{   "b": "x\ny" }"#]);
        assert_eq!(fixture.ask(read(1, Some(1))).await.unwrap().lines, ["[2]"]);
        assert!(fixture.ask(read(3, None)).await.unwrap().lines.is_empty());
        assert!(fixture.ask(read(0, Some(0))).await.unwrap().lines.is_empty());
    }

    #[tokio::test]
    async fn a_line_that_was_left_open_is_closed_first_and_no_lines_change_nothing() {
        let fixture = Fixture::new();
        let path = fixture.path("log/a.jsonl");
        append(&fixture, OneOrMany::Many(Vec::new())).await.unwrap();
        assert!(!path.exists());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "1").unwrap();
        append(&fixture, OneOrMany::One("2".to_owned())).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n2\n");
        let error = append(&fixture, OneOrMany::One("not\njson".to_owned())).await.unwrap_err();
        assert_eq!(error.fields()[0].path, ["json_string"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n2\n");
    }
}
