//! The walk through a tree, which hands each thing it finds to the writer of a format.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustix::fs::Stat;

use super::Packed;
use super::content::{Content, Fault};
use super::tree::{Root, Tree};
use crate::DEPTH;
use crate::directory::{Directory, Kind};
use crate::error::PackError;

/// Writes one format.
pub(super) trait Writer {
    fn directory(&mut self, path: &Path, stat: &Stat) -> Result<(), Fault>;
    fn link(&mut self, path: &Path, stat: &Stat, target: &[u8]) -> Result<(), Fault>;
    /// Writes a file as long as `stat` says, and answers with the bytes it holds.
    fn file(
        &mut self,
        path: &Path,
        stat: &Stat,
        file: &mut File,
        content: &mut Content<'_>,
    ) -> Result<u64, Fault>;
}

pub(super) struct Walk<'a, W> {
    tree: &'a Tree,
    writer: &'a mut W,
    content: Content<'a>,
    /// Path in the archive of what is being looked at.
    at: PathBuf,
    packed: Packed,
}

impl<'a, W: Writer> Walk<'a, W> {
    pub(super) fn new(tree: &'a Tree, cancel: &'a AtomicBool, writer: &'a mut W) -> Self {
        let at = PathBuf::from(tree.name());
        Self { tree, writer, content: Content::new(cancel), at, packed: Packed::default() }
    }

    pub(super) fn run(mut self) -> Result<Packed, PackError> {
        let result = match &self.tree.root {
            Root::Directory(directory) => self.directory(directory, 0),
            Root::File(file, stat) => match file.try_clone() {
                Ok(mut file) => self.file(&mut file, stat),
                Err(error) => Err(Fault::Read(error)),
            },
        };
        match result {
            Ok(()) => Ok(self.packed),
            Err(fault) => Err(self.explain(fault)),
        }
    }

    fn directory(&mut self, directory: &Directory, depth: usize) -> Result<(), Fault> {
        if depth > DEPTH {
            return Err(Fault::Unfit("lies too many directories deep to be packed"));
        }
        let stat = directory.metadata().map_err(Fault::Read)?;
        self.writer.directory(&self.at, &stat)?;
        self.packed.entries += 1;
        for name in directory.listing().map_err(Fault::Read)? {
            self.content.check()?;
            let name = name.map_err(Fault::Read)?;
            let name = OsStr::from_bytes(name.to_bytes());
            self.at.push(name);
            self.entry(directory, name, depth)?;
            self.at.pop();
        }
        Ok(())
    }

    fn entry(&mut self, directory: &Directory, name: &OsStr, depth: usize) -> Result<(), Fault> {
        let Some(stat) = unless_gone(directory.stat(name))? else { return Ok(()) };
        match Kind::of(&stat) {
            Kind::Directory => match unless_gone(directory.child(name))? {
                Some(child) => self.directory(&child, depth + 1),
                None => Ok(()),
            },
            Kind::File => match unless_gone(directory.read(name))? {
                Some((mut file, stat)) => self.file(&mut file, &stat),
                None => Ok(()),
            },
            Kind::Link => {
                let Some(target) = unless_gone(directory.read_link(name))? else { return Ok(()) };
                self.writer.link(&self.at, &stat, target.to_bytes())?;
                self.packed.entries += 1;
                Ok(())
            }
            Kind::Special => {
                self.packed.skipped += 1;
                Ok(())
            }
        }
    }

    fn file(&mut self, file: &mut File, stat: &Stat) -> Result<(), Fault> {
        self.packed.bytes += self.writer.file(&self.at, stat, file, &mut self.content)?;
        self.packed.entries += 1;
        Ok(())
    }

    /// The path still names what was being looked at.
    fn explain(&self, fault: Fault) -> PackError {
        match fault {
            Fault::Read(source) => PackError::Read { path: self.tree.locate(&self.at), source },
            Fault::Unfit(reason) => PackError::Unfit { path: self.tree.locate(&self.at), reason },
            Fault::Write(error) => PackError::Write(error),
            Fault::Cancelled => PackError::Cancelled,
        }
    }
}

/// What was removed since its name was read is not there to be packed.
fn unless_gone<T>(result: io::Result<T>) -> Result<Option<T>, Fault> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Fault::Read(error)),
    }
}
