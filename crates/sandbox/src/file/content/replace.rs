//! Replacing text in a file.

use std::io::Write;
use std::path::Path;

use atoll_api::file::{FileReplaceResult, ReplaceInFile};
use atoll_operation::{Context, Error, Handle};
use memchr::memmem;

use super::open::{Source, read_all};
use crate::file::desk::{Desk, length};
use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::Files;
use crate::file::store::{Parents, Replacement, Target};
use crate::file::sudo::{Privileged, Task};

const WAYS_OUT: &str = "edit it with a program such as sed in the shell";

impl Handle<ReplaceInFile> for Files {
    async fn handle(&self, cx: &Context, input: ReplaceInFile) -> Result<FileReplaceResult, Error> {
        self.carry_out(cx, input).await
    }
}

impl Privileged for ReplaceInFile {
    const NAME: &'static str = "replace";
    const CHANGES: bool = true;

    fn sudo(&self) -> bool {
        self.sudo
    }

    fn file(&mut self) -> &mut String {
        &mut self.file
    }

    fn check(&self) -> Result<(), Error> {
        if self.old_str.is_empty() {
            let message = "must not be empty: give the text to replace";
            return Err(Error::field("old_str", "min_length", message));
        }
        Ok(())
    }

    fn task(self) -> Task {
        Task::Replace(self)
    }

    fn run(self, desk: &Desk, path: &Path) -> Result<FileReplaceResult, Error> {
        self.check()?;
        let attempt = Attempt::new(Self::NAME, path);
        let target = Target::find(attempt, path, Parents::Require)?;
        let _turn = desk.turns.wait(target.place());
        let limit = desk.limits.file_edit_bytes;
        let source = Source::open(attempt, target.path())?;
        let old = read_all(attempt, &source, limit, WAYS_OUT)?;
        let (needle, replacement) = (self.old_str.as_bytes(), self.new_str.as_bytes());
        let found: Vec<usize> = memmem::find_iter(&old, needle).collect();
        if !found.is_empty() {
            let kept = old.len() - found.len() * needle.len();
            let size = found.len().saturating_mul(replacement.len()).saturating_add(kept);
            if size > length(limit) {
                return Err(attempt.too_large(&format!(
                    "the result would have {size} bytes, and the limit is {limit} bytes; {WAYS_OUT}"
                )));
            }
            let new = splice(&old, &found, needle.len(), replacement, size);
            let existing = target.existing(attempt)?;
            let order = Replacement {
                target: target.path(),
                existing: existing.as_ref(),
                length: new.len() as u64,
                mode: None,
                sync: false,
            };
            order
                .carry_out(&mut |file| file.write_all(&new))
                .map_err(|error| attempt.failed(&error))?;
        }
        Ok(FileReplaceResult { file: show(path), replaced_count: found.len() as u64 })
    }
}

/// The old bytes with something else at each place found.
fn splice(old: &[u8], found: &[usize], gone: usize, replacement: &[u8], size: usize) -> Vec<u8> {
    let mut new = Vec::with_capacity(size);
    let mut done = 0;
    for at in found {
        new.extend_from_slice(old.get(done..*at).unwrap_or_default());
        new.extend_from_slice(replacement);
        done = at + gone;
    }
    new.extend_from_slice(old.get(done..).unwrap_or_default());
    new
}
