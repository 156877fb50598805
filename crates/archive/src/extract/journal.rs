//! Notes on a move in progress, so that it can be taken back.
//!
//! A note is written before the step it is about and withdrawn when the step fails. The notes lie in a file: how many
//! there are, and how long, the archive decides.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A step of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Something was put where nothing was.
    Placed,
    /// Something was put in the place of what has this number now.
    Replaced(u64),
}

#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    /// Where the next note goes.
    end: u64,
    /// Where the last note begins.
    last: u64,
}

/// Number and length of the path, at the end of each note so that they can be read backwards.
const TAIL: usize = 16;
const PLACED: u64 = u64::MAX;

impl Journal {
    pub(super) fn new(file: File) -> Self {
        Self { file, end: 0, last: 0 }
    }

    /// Notes a step that is about to be taken.
    pub(super) fn note(&mut self, step: Step, path: &Path) -> io::Result<()> {
        let number = match step {
            Step::Placed => PLACED,
            Step::Replaced(number) => number,
        };
        let path = path.as_os_str().as_bytes();
        let note = [path, &number.to_le_bytes(), &(path.len() as u64).to_le_bytes()].concat();
        self.file.write_all_at(&note, self.end)?;
        self.last = self.end;
        self.end += note.len() as u64;
        Ok(())
    }

    /// Withdraws the last note: its step was not taken.
    pub(super) fn withdraw(&mut self) {
        self.end = self.last;
    }

    /// Takes the last note off.
    pub(super) fn pop(&mut self) -> io::Result<Option<(Step, PathBuf)>> {
        let Some(tail_at) = self.end.checked_sub(TAIL as u64) else { return Ok(None) };
        let (mut number, mut length) = ([0; 8], [0; 8]);
        self.file.read_exact_at(&mut number, tail_at)?;
        self.file.read_exact_at(&mut length, tail_at + 8)?;
        let length = u64::from_le_bytes(length);
        let start = tail_at.checked_sub(length).ok_or(io::ErrorKind::InvalidData)?;
        let mut path = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut path, start)?;
        self.end = start;
        let step = match u64::from_le_bytes(number) {
            PLACED => Step::Placed,
            number => Step::Replaced(number),
        };
        Ok(Some((step, PathBuf::from(OsStr::from_bytes(&path)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_taken_off_in_reverse() {
        let mut journal = Journal::new(tempfile::tempfile().unwrap());
        journal.note(Step::Placed, Path::new("a/b")).unwrap();
        journal.note(Step::Replaced(7), Path::new("c")).unwrap();
        journal.note(Step::Placed, Path::new("never done")).unwrap();
        journal.withdraw();
        assert_eq!(journal.pop().unwrap(), Some((Step::Replaced(7), "c".into())));
        assert_eq!(journal.pop().unwrap(), Some((Step::Placed, "a/b".into())));
        assert_eq!(journal.pop().unwrap(), None);
    }
}
