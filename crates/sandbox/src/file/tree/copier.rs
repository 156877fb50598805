//! Copying files, links and directories to places where nothing is yet, or over what is there.

use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{
    DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown, lchown, symlink,
};
use std::path::{Path, PathBuf};

use atoll_operation::Error;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

use crate::file::content::Source;
use crate::file::desk::Desk;
use crate::file::fault::Attempt;
use crate::file::store::{Parents, Replacement, Target};

/// Bytes copied before looking whether anybody still waits.
const PIECE: u64 = 64 << 20;

/// What a copy takes over beside the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Permissions, without the bits that lend the owner's rights: the copy's owner is another.
    Permissions,
    /// Permissions, owner and times, as far as the user may: the copy takes the place of the original.
    Everything,
}

/// A copy under way.
#[derive(Debug)]
pub(super) struct Copier<'a> {
    desk: &'a Desk,
    /// The short verb for errors.
    operation: &'static str,
    keep: Keep,
    /// Where the copy is made, and the name it gets when it is complete; nobody else writes there until then.
    apart: Option<(PathBuf, PathBuf)>,
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// Pipes, sockets and devices left out.
    pub(super) skipped: u64,
    pub(super) first_skipped: Option<PathBuf>,
}

impl<'a> Copier<'a> {
    pub(super) fn new(desk: &'a Desk, operation: &'static str, keep: Keep) -> Self {
        Self {
            desk,
            operation,
            keep,
            apart: None,
            files: 0,
            bytes: 0,
            skipped: 0,
            first_skipped: None,
        }
    }

    /// Copies to a place where nothing is; `destination` is where the copy goes afterwards.
    pub(super) fn copy_apart(
        &mut self,
        source: &Path,
        fresh: &Path,
        destination: &Path,
    ) -> Result<(), Error> {
        self.apart = Some((fresh.to_owned(), destination.to_owned()));
        self.copy(source, fresh)
    }

    /// Copies whatever `source` is. Directories are merged into those that are there, files replaced.
    pub(super) fn copy(&mut self, source: &Path, destination: &Path) -> Result<(), Error> {
        let mut waiting = Vec::new();
        // Permissions come last: a directory that must not be written to has to be filled first.
        let mut made = Vec::new();
        self.take(source.to_owned(), destination.to_owned(), &mut waiting)?;
        while let Some((from, to, metadata)) = waiting.pop() {
            if self.make_directory(&to)? {
                made.push((to.clone(), metadata));
            }
            for entry in fs::read_dir(&from).map_err(|error| self.failed(&from, &error))? {
                let entry = entry.map_err(|error| self.failed(&from, &error))?;
                self.take(entry.path(), to.join(entry.file_name()), &mut waiting)?;
            }
        }
        for (directory, metadata) in made.iter().rev() {
            self.finish_directory(directory, metadata)
                .map_err(|error| self.failed(directory, &error))?;
        }
        Ok(())
    }

    /// Copies one thing; a directory has to wait until the one it lies in has been read.
    fn take(
        &mut self,
        from: PathBuf,
        to: PathBuf,
        waiting: &mut Vec<(PathBuf, PathBuf, Metadata)>,
    ) -> Result<(), Error> {
        self.desk.interest.check()?;
        let metadata = fs::symlink_metadata(&from).map_err(|error| self.failed(&from, &error))?;
        let kind = metadata.file_type();
        if kind.is_dir() {
            waiting.push((from, to, metadata));
        } else if kind.is_symlink() {
            self.copy_link(&from, &to, &metadata)?;
        } else if kind.is_file() {
            self.copy_file(&from, &to, &metadata)?;
        } else {
            self.skipped += 1;
            self.first_skipped.get_or_insert(from);
        }
        Ok(())
    }

    /// Whether it was not there before.
    fn make_directory(&self, path: &Path) -> Result<bool, Error> {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => Ok(true),
            Err(_) if fs::symlink_metadata(path).is_ok_and(|there| there.is_dir()) => Ok(false),
            Err(error) => Err(self.failed(path, &error)),
        }
    }

    fn copy_link(&mut self, from: &Path, to: &Path, metadata: &Metadata) -> Result<(), Error> {
        let make = || {
            let target = fs::read_link(from)?;
            if let Err(error) = symlink(&target, to) {
                if error.kind() != io::ErrorKind::AlreadyExists {
                    return Err(error);
                }
                let fresh = super::rename::beside(to);
                symlink(&target, &fresh)?;
                fs::rename(&fresh, to).inspect_err(|_| drop(fs::remove_file(&fresh)))?;
            }
            if self.keep == Keep::Everything {
                let _may_not = lchown(to, Some(metadata.uid()), Some(metadata.gid()));
                utimensat(CWD, to, &times(metadata), AtFlags::SYMLINK_NOFOLLOW)?;
            }
            Ok(())
        };
        make().map_err(|error| self.failed(to, &error))?;
        self.files += 1;
        Ok(())
    }

    fn copy_file(&mut self, from: &Path, to: &Path, metadata: &Metadata) -> Result<(), Error> {
        let source = Source::open(Attempt::new(self.operation, from), from)?;
        let copied = if self.apart.is_some() {
            self.make_file(&source, to, metadata).map_err(|error| self.failed(to, &error))
        } else {
            self.replace_file(&source, to, metadata)
        };
        self.desk.interest.check()?;
        self.files += 1;
        self.bytes += copied?;
        Ok(())
    }

    fn make_file(&self, source: &Source, to: &Path, metadata: &Metadata) -> io::Result<u64> {
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(to)?;
        let copied = self.pour(&source.file, &mut file)?;
        if self.keep == Keep::Everything {
            let _may_not = fchown(&file, Some(metadata.uid()), Some(metadata.gid()));
            file.set_times(FileTimes::new().set_modified(metadata.modified()?))?;
        }
        file.set_permissions(Permissions::from_mode(self.mode(metadata)))?;
        Ok(copied)
    }

    fn replace_file(&self, source: &Source, to: &Path, metadata: &Metadata) -> Result<u64, Error> {
        let attempt = Attempt::new(self.operation, to);
        let target = Target::find(attempt, to, Parents::Require)?;
        let _turn = self.desk.turns.wait(target.place());
        let existing = target.existing(attempt)?;
        let mut copied = 0;
        let order = Replacement {
            target: target.path(),
            existing: existing.as_ref(),
            length: source.size,
            mode: Some(self.mode(metadata)),
            sync: false,
        };
        let mut fill = |file: &mut File| {
            copied = self.pour(&source.file, file)?;
            Ok(())
        };
        order.carry_out(&mut fill).map_err(|error| attempt.failed(&error))?;
        Ok(copied)
    }

    /// Copies from start to end, in pieces so that it can be broken off.
    fn pour(&self, from: &File, to: &mut File) -> io::Result<u64> {
        let mut from = from;
        io::Seek::rewind(&mut from)?;
        let mut copied = 0;
        loop {
            let count = io::copy(&mut from.take(PIECE), to)?;
            copied += count;
            if count == 0 {
                return Ok(copied);
            }
            if self.desk.interest.check().is_err() {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
    }

    fn finish_directory(&self, path: &Path, metadata: &Metadata) -> io::Result<()> {
        if self.keep == Keep::Everything {
            let _may_not = lchown(path, Some(metadata.uid()), Some(metadata.gid()));
        }
        fs::set_permissions(path, Permissions::from_mode(self.mode(metadata)))?;
        if self.keep == Keep::Everything {
            utimensat(CWD, path, &times(metadata), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(())
    }

    /// The bits that lend the owner's rights go where the owner goes, which is for root to say.
    fn mode(&self, metadata: &Metadata) -> u32 {
        let as_owner = self.keep == Keep::Everything
            && (rustix::process::geteuid().is_root()
                || metadata.uid() == rustix::process::geteuid().as_raw());
        metadata.mode() & if as_owner { 0o7777 } else { 0o1777 }
    }

    /// Errors name the place the caller knows.
    fn failed(&self, path: &Path, error: &io::Error) -> Error {
        let known = self.apart.as_ref().and_then(|(fresh, destination)| {
            let rest = path.strip_prefix(fresh).ok()?;
            Some(destination.components().chain(rest.components()).collect::<PathBuf>())
        });
        Attempt::new(self.operation, known.as_deref().unwrap_or(path)).failed(error)
    }
}

fn times(metadata: &Metadata) -> Timestamps {
    let last_modification = Timespec { tv_sec: metadata.mtime(), tv_nsec: metadata.mtime_nsec() };
    let last_access = Timespec { tv_sec: metadata.atime(), tv_nsec: metadata.atime_nsec() };
    Timestamps { last_access, last_modification }
}
