//! Writing a file, and adding to one.

use std::io::Write;
use std::path::Path;

use atoll_api::file::{AppendFile, FileWriteResult, WriteFile};
use atoll_operation::{Context, Error, Handle};

use super::payload::{Breaks, bytes};
use crate::file::desk::Desk;
use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::Files;
use crate::file::store::{Parents, Replacement, Target, append};
use crate::file::sudo::{Privileged, Task};

impl Handle<WriteFile> for Files {
    async fn handle(&self, cx: &Context, input: WriteFile) -> Result<FileWriteResult, Error> {
        self.carry_out(cx, input).await
    }
}

impl Handle<AppendFile> for Files {
    async fn handle(&self, cx: &Context, input: AppendFile) -> Result<FileWriteResult, Error> {
        let path = self.path("append", &input.file)?;
        self.at_desk(cx, move |desk| {
            let content = bytes(input.content, input.encoding, Breaks::default())?;
            let how = How { append: true, mode: None, sync: false };
            put(desk, Attempt::new("append", &path), &path, &content, how)
        })
        .await
    }
}

impl Privileged for WriteFile {
    const NAME: &'static str = "write";
    const CHANGES: bool = true;

    fn sudo(&self) -> bool {
        self.sudo
    }

    fn file(&mut self) -> &mut String {
        &mut self.file
    }

    fn check(&self) -> Result<(), Error> {
        bytes(self.content.clone(), self.encoding, Breaks::default()).map(drop)
    }

    fn task(self) -> Task {
        Task::Write(self)
    }

    fn run(self, desk: &Desk, path: &Path) -> Result<FileWriteResult, Error> {
        let breaks = Breaks { leading: self.leading_newline, trailing: self.trailing_newline };
        let content = bytes(self.content, self.encoding, breaks)?;
        let how = How { append: self.append, mode: self.mode, sync: self.sync };
        put(desk, Attempt::new(Self::NAME, path), path, &content, how)
    }
}

/// How bytes go into a file.
#[derive(Debug, Clone, Copy)]
struct How {
    append: bool,
    mode: Option<u32>,
    sync: bool,
}

fn put(
    desk: &Desk,
    attempt: Attempt<'_>,
    path: &Path,
    content: &[u8],
    how: How,
) -> Result<FileWriteResult, Error> {
    let target = Target::find(attempt, path, Parents::Make)?;
    let _turn = desk.turns.wait(target.place());
    let existing = target.existing(attempt)?;
    let length = content.len() as u64;
    let done = if how.append {
        append(target.path(), existing.is_none(), content, how.mode, how.sync)
    } else {
        let order = Replacement {
            target: target.path(),
            existing: existing.as_ref(),
            length,
            mode: how.mode,
            sync: how.sync,
        };
        order.carry_out(&mut |file| file.write_all(content))
    };
    done.map_err(|error| attempt.failed(&error))?;
    Ok(FileWriteResult { file: show(path), bytes_written: Some(length) })
}
