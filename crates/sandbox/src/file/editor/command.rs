//! Carrying out the editor's commands.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atoll_api::file::{EditorCommand, StrReplaceEditor, StrReplaceEditorResult};
use atoll_operation::{Context, Error, Handle, Kind};
use rustix::io::Errno;

use super::change::{NotReplaced, insert, replace};
use super::document::is_converted;
use super::history::{Fingerprint, History};
use super::snippet::around_change;
use super::view::range_error;
use crate::file::content::{Source, count_lines, decode, read_all};
use crate::file::desk::{Desk, length};
use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::Files;
use crate::file::store::{Parents, Replacement, Target, create_new};

const OPERATION: &str = "str_replace_editor";
const TOO_LARGE: &str = "change it with a program such as sed in the shell";
const LOOK: &str = "view the file and give the text exactly as it is there";

impl Handle<StrReplaceEditor> for Files {
    async fn handle(
        &self,
        cx: &Context,
        input: StrReplaceEditor,
    ) -> Result<StrReplaceEditorResult, Error> {
        let path = self.path(OPERATION, &input.path)?;
        if input.command == EditorCommand::View && is_converted(&path) {
            let (history, at) = (Arc::clone(&self.history), path.clone());
            let look = move |desk: &Desk| Editor::new(desk, &history, &at).look();
            if self.at_desk(cx, look).await?.is_file() {
                return self.view_document(OPERATION, &path, input).await;
            }
        }
        let history = Arc::clone(&self.history);
        self.at_desk(cx, move |desk| Editor::new(desk, &history, &path).run(input)).await
    }
}

/// The editor at one file.
pub(super) struct Editor<'a> {
    pub(super) desk: &'a Desk,
    history: &'a Mutex<History>,
    pub(super) path: &'a Path,
}

impl<'a> Editor<'a> {
    pub(super) fn new(desk: &'a Desk, history: &'a Mutex<History>, path: &'a Path) -> Self {
        Self { desk, history, path }
    }

    fn run(&self, input: StrReplaceEditor) -> Result<StrReplaceEditorResult, Error> {
        match input.command {
            EditorCommand::View => {
                let output = self.view(&input.view_range)?;
                Ok(self.result(output, true, None, None))
            }
            EditorCommand::Create => {
                self.create(input.file_text.ok_or_else(|| missing("create", "file_text"))?)
            }
            EditorCommand::StrReplace => {
                let old = input.old_str.filter(|old| !old.is_empty());
                let old = old.ok_or_else(|| missing("str_replace", "old_str"))?;
                let new = input.new_str.unwrap_or_default();
                if old == new {
                    return Err(refused(
                        "editor.no_match",
                        "No replacement was performed: old_str and new_str are the same".to_owned(),
                    ));
                }
                self.edit(|text| {
                    let (text, count) = replace(text, &old, &new, input.replace_mode)
                        .map_err(|reason| self.not_replaced(&reason))?;
                    let times =
                        if count == 1 { "once".to_owned() } else { format!("{count} times") };
                    Ok((text, format!("old_str was replaced {times}")))
                })
            }
            EditorCommand::Insert => {
                let after = input.insert_line.ok_or_else(|| missing("insert", "insert_line"))?;
                let new = input.new_str.ok_or_else(|| missing("insert", "new_str"))?;
                self.edit(|text| {
                    let total = count_lines(text.as_bytes());
                    let line = u64::try_from(after).ok().filter(|line| *line <= total);
                    let line = line.ok_or_else(|| {
                        range_error(format!(
                            "insert_line {after} is out of range: {} has {total} lines, so it must be 0 to {total}",
                            show(self.path)
                        ))
                    })?;
                    Ok((insert(text, length(line), &new), format!("lines were inserted after line {line}")))
                })
            }
            EditorCommand::UndoEdit => self.undo(),
        }
    }

    pub(super) fn attempt(&self) -> Attempt<'_> {
        Attempt::new(OPERATION, self.path)
    }

    /// What is at the path, which must be something.
    pub(super) fn look(&self) -> Result<Metadata, Error> {
        fs::metadata(self.path).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> Error {
        let path = show(self.path);
        match error.kind() {
            io::ErrorKind::NotFound => self.attempt().failed_with(
                error,
                &format!("Invalid `path`: {path} does not exist; create it, or view its directory"),
            ),
            io::ErrorKind::IsADirectory => self.attempt().failed_with(
                error,
                &format!("Invalid `path`: {path} is a directory, which can only be viewed"),
            ),
            _ => self.attempt().failed(error),
        }
    }

    fn create(&self, text: String) -> Result<StrReplaceEditorResult, Error> {
        let exists = || {
            refused(
                "editor.exists",
                format!(
                    "Invalid `path`: {} exists already, and create makes new files only; change it with str_replace or insert, or replace all of it with /v1/file/write",
                    show(self.path)
                ),
            )
        };
        if fs::metadata(self.path).is_ok() {
            return Err(exists());
        }
        let target = Target::find(self.attempt(), self.path, Parents::Make)?;
        let _turn = self.desk.turns.wait(target.place());
        create_new(target.path(), text.as_bytes()).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(),
            _ => self.failed(&error),
        })?;
        self.history().record(target.place(), None, &text);
        let lines = count_lines(text.as_bytes());
        let output = format!("{} was created with {lines} lines.\n", show(self.path));
        Ok(self.result(output, false, None, Some(text)))
    }

    /// Changes the file's text; `change` returns the new one and a sentence about it.
    pub(super) fn edit(
        &self,
        change: impl FnOnce(&str) -> Result<(String, String), Error>,
    ) -> Result<StrReplaceEditorResult, Error> {
        if self.look()?.is_dir() {
            return Err(self.failed(&Errno::ISDIR.into()));
        }
        let target = Target::find(self.attempt(), self.path, Parents::Require)?;
        let _turn = self.desk.turns.wait(target.place());
        let old = self.text(&target)?;
        let (new, said) = change(&old)?;
        self.put(&target, &new)?;
        let can_undo = self.history().record(target.place(), Some(old.clone()), &new);
        if !can_undo {
            self.desk.cx.hint("the file is too large for this edit to be undone with undo_edit");
        }
        let snippet = around_change(&old, &new);
        let output = format!(
            "{} was edited: {said}. The lines round the change are now:\n{snippet}Check them, and edit again if they are not as intended.\n",
            show(self.path)
        );
        Ok(self.result(output, true, Some(old), Some(new)))
    }

    fn undo(&self) -> Result<StrReplaceEditorResult, Error> {
        let nothing = || {
            refused(
                "editor.nothing_to_undo",
                format!(
                    "there is no edit of {} to undo: only the latest edits made with this editor are remembered",
                    show(self.path)
                ),
            )
        };
        let target = Target::find(self.attempt(), self.path, Parents::Require)
            .map_err(|error| if error.kind() == Kind::NotFound { nothing() } else { error })?;
        let _turn = self.desk.turns.wait(target.place());
        let step = self.history().take(target.place()).ok_or_else(nothing)?;
        let undone = self.text_if_unchanged(&target, step.after).and_then(|now| {
            match &step.before {
                Some(before) => self.put(&target, before)?,
                None => fs::remove_file(target.path()).map_err(|error| self.failed(&error))?,
            }
            Ok(now)
        });
        let now = match undone {
            Ok(now) => now,
            Err(error) => {
                self.history().put_back(target.place(), step);
                return Err(error);
            }
        };
        let path = show(self.path);
        let output = match &step.before {
            Some(before) => {
                let snippet = around_change(&now, before);
                format!(
                    "The latest edit of {path} was undone. The lines round the change are now:\n{snippet}"
                )
            }
            None => format!("The creation of {path} was undone: the file is gone.\n"),
        };
        Ok(self.result(output, true, Some(now), step.before))
    }

    /// The text, if it still is what an edit left.
    fn text_if_unchanged(&self, target: &Target, left: Fingerprint) -> Result<String, Error> {
        let changed = || {
            Error::new(
                Kind::Conflict,
                "editor.changed_meanwhile",
                format!(
                    "{} was changed by something else since its latest edit here, so that edit cannot be undone; nothing was changed: view the file and edit it as it is",
                    show(self.path)
                ),
            )
        };
        match self.text(target) {
            Ok(text) if Fingerprint::of(&text) == left => Ok(text),
            Ok(_) => Err(changed()),
            Err(error) if matches!(error.code(), "file.not_found" | "file.decode_error") => {
                Err(changed())
            }
            Err(error) => Err(error),
        }
    }

    fn text(&self, target: &Target) -> Result<String, Error> {
        let source = Source::open(self.attempt(), target.path())?;
        let bytes = read_all(self.attempt(), &source, self.desk.limits.file_edit_bytes, TOO_LARGE)?;
        decode(self.attempt(), bytes)
    }

    fn put(&self, target: &Target, text: &str) -> Result<(), Error> {
        let limit = self.desk.limits.file_edit_bytes;
        let size = text.len() as u64;
        if size > limit {
            let reason = format!(
                "the result would have {size} bytes, and the limit is {limit} bytes; {TOO_LARGE}"
            );
            return Err(self.attempt().too_large(&reason));
        }
        let existing = target.existing(self.attempt())?;
        let order = Replacement {
            target: target.path(),
            existing: existing.as_ref(),
            length: size,
            mode: None,
            sync: false,
        };
        order
            .carry_out(&mut |file| file.write_all(text.as_bytes()))
            .map_err(|error| self.failed(&error))
    }

    fn not_replaced(&self, reason: &NotReplaced) -> Error {
        let path = show(self.path);
        match reason {
            NotReplaced::Missing { similar } => {
                let mut message = format!(
                    "No replacement was performed: old_str did not appear verbatim in {path}; {LOOK}"
                );
                if !similar.is_empty() {
                    let lines = listed(similar);
                    message.push_str(&format!(
                        ". Its first line appears with other space round it in line {lines}"
                    ));
                }
                refused("editor.no_match", message)
            }
            NotReplaced::Several { count, lines } => refused(
                "editor.not_unique",
                format!(
                    "No replacement was performed: Multiple occurrences ({count}) of old_str in {path}, in line {}: it is not unique. Add text round it, or say with replace_mode whether ALL, the FIRST or the LAST is meant",
                    listed(lines)
                ),
            ),
        }
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn result(
        &self,
        output: String,
        prev_exist: bool,
        old_content: Option<String>,
        new_content: Option<String>,
    ) -> StrReplaceEditorResult {
        StrReplaceEditorResult {
            output,
            error: None,
            path: show(self.path),
            prev_exist,
            old_content,
            new_content,
            metadata: None,
        }
    }
}

pub(super) fn refused(code: &'static str, message: String) -> Error {
    Error::new(Kind::InvalidArgument, code, message)
}

pub(super) fn missing(command: &str, parameter: &str) -> Error {
    refused(
        "editor.missing_argument",
        format!("{command} needs the parameter `{parameter}`, which is missing or empty"),
    )
}

fn listed(lines: &[usize]) -> String {
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
