//! Puts a complete upload in its place.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, Seek};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_operation::Error;
use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::spool::{Made, Spool};
use crate::file::fault::Attempt;
use crate::file::store::{FRESH, Parents, REPLACING, Replacement, Target, Turns};

/// A place for an upload: the file it will be, and what is there now.
#[derive(Debug)]
pub(super) struct Destination {
    path: PathBuf,
    target: Target,
    existing: Option<Metadata>,
    made: Made,
}

impl Destination {
    /// Finds a place, makes the directories it lies in, and sees to it that only a file is replaced.
    pub(super) fn find(path: PathBuf) -> Result<Self, Error> {
        let attempt = Attempt::new("upload", &path);
        let made = Made::for_path(&path);
        let target = Target::find(attempt, &path, Parents::Make)?;
        let existing = target.existing(attempt)?;
        if existing.is_some() {
            // Renaming would need no right to the file that is replaced; writing does.
            let writable = access(target.path(), Access::WRITE_OK);
            writable.map_err(|error| attempt.failed(&error.into()))?;
        }
        Ok(Self { path, target, existing, made })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a file beside it, to be renamed; or, where a file that can be written lies in a directory that cannot,
    /// in one of these other places, to be copied.
    pub(super) fn begin(&mut self, elsewhere: &[&Path]) -> Result<Spool, Error> {
        let directory = self.target.path().parent().unwrap_or(Path::new("/"));
        let prefix = if self.existing.is_some() { REPLACING } else { FRESH };
        let spool = Spool::begin(directory, prefix)
            .or_else(|error| {
                let errno = Errno::from_io_error(&error);
                let closed = matches!(errno, Some(Errno::ACCESS | Errno::PERM | Errno::ROFS));
                if closed && self.existing.is_some() { begin_in(elsewhere) } else { Err(error) }
            })
            .map_err(|error| Attempt::new("upload", &self.path).failed(&error))?;
        // Who holds the file must also let go of it first.
        Ok(Spool { made: std::mem::take(&mut self.made), ..spool })
    }

    /// Puts a complete file there.
    pub(super) fn settle(self, spool: Spool, turns: &Arc<Turns>) -> Result<u64, Error> {
        let attempt = Attempt::new("upload", &self.path);
        let _turn = turns.wait(self.target.place());
        let existing = self.target.existing(attempt)?;
        let length = spool.length;
        let made = put(&self.target, existing.as_ref(), spool);
        made.map_err(|error| attempt.failed(&error))?.keep();
        self.made.keep();
        Ok(length)
    }
}

/// Begins a file in the first of these places that takes one.
pub(super) fn begin_in(places: &[&Path]) -> io::Result<Spool> {
    let mut outcome = Err(io::ErrorKind::NotFound.into());
    for place in places {
        outcome = Spool::begin(place, FRESH);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// Puts a file there; hands back what was made for it.
fn put(target: &Target, existing: Option<&Metadata>, spool: Spool) -> io::Result<Made> {
    let Spool { file, made, mode, length } = spool;
    let order = Replacement { target: target.path(), existing, length, mode: None, sync: false };
    let fit = if let Some(existing) = existing {
        prepare(target.path(), existing, file.as_file())
    } else {
        file.as_file().set_permissions(Permissions::from_mode(mode))
    };
    let file = match fit {
        Ok(()) => match file.persist(target.path()) {
            Ok(_) => return Ok(made),
            // It waits on another file system, or the target is a mount of its own.
            Err(error) => error.file,
        },
        Err(_) => file,
    };
    // The long way round: whatever cannot be renamed is copied.
    let mut source = file.as_file();
    order.carry_out(&mut |target| {
        source.rewind()?;
        io::copy(&mut source, target).map(drop)
    })?;
    Ok(made)
}

/// Gives a file the owner and the mode of the one it replaces; fails where something of that would be lost.
fn prepare(target: &Path, existing: &Metadata, file: &File) -> io::Result<()> {
    if existing.nlink() > 1 || has_attributes(target) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    fchown(file, Some(existing.uid()), Some(existing.gid()))?;
    file.set_permissions(Permissions::from_mode(existing.mode() & 0o7777))
}

/// Whether a file has attributes that another one would not have.
fn has_attributes(path: &Path) -> bool {
    let mut names = [0; 1024];
    match rustix::fs::listxattr(path, &mut names) {
        Ok(length) => names[..length]
            .split(|byte| *byte == 0)
            .any(|name| name.starts_with(b"user.") || name.starts_with(b"system.")),
        Err(error) => error == Errno::RANGE,
    }
}
