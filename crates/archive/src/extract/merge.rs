//! Whether an unpacked tree can be moved into its destination, found out before anything is moved.
//!
//! Directories that are on both sides become one; all else is moved, whole directories at once. Links that are there are
//! replaced like files when that is asked for, and never gone through.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::budget::Budget;
use super::links;
use super::moves::Moves;
use super::place::Place;
use crate::directory::{Directory, Kind};
use crate::error::ExtractError;

/// What to do with files that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Refuse the archive.
    Keep,
    /// Replace them.
    Replace,
}

/// How something comes to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Nothing is there.
    Place,
    Replace,
    /// Both are directories.
    Join,
}

#[derive(Debug)]
pub(super) struct Merge<'a> {
    place: &'a Place,
    existing: Existing,
    budget: &'a Budget<'a>,
    /// Path in the destination of what is being looked at.
    pub(super) at: PathBuf,
}

impl<'a> Merge<'a> {
    pub(super) fn new(place: &'a Place, existing: Existing, budget: &'a Budget<'a>) -> Self {
        Self { place, existing, budget, at: PathBuf::new() }
    }

    /// Moves all of `tree` in, or changes nothing.
    pub(super) fn run(mut self, tree: &Directory) -> Result<(), ExtractError> {
        let destination = self.place.look_at_destination()?;
        self.check(tree, tree, destination.as_ref())?;
        let (swap, notes) = (self.place.swap()?, self.place.notes()?);
        let mut made = Vec::new();
        let result = self
            .place
            .open_destination(&mut made)
            .and_then(|destination| Moves::new(&mut self, &swap, notes).run(tree, &destination));
        if result.is_err() {
            for path in made.iter().rev() {
                // Somebody else has put something there by now: then it stays.
                let _in_use = std::fs::remove_dir(path);
            }
        }
        result
    }

    /// Looks through everything that shall be moved: whether it can be, and where its links lead.
    fn check(
        &mut self,
        root: &Directory,
        from: &Directory,
        to: Option<&Directory>,
    ) -> Result<(), ExtractError> {
        for name in from.listing().map_err(|error| self.failed(error))? {
            self.go_on()?;
            let name = name.map_err(|error| self.failed(error))?;
            let name = OsStr::from_bytes(name.to_bytes());
            let parent = self.at.as_os_str().as_bytes().to_vec();
            self.at.push(name);
            let way = match to {
                Some(to) => self.way(from, to, name)?,
                None => Way::Place,
            };
            match from.kind(name).map_err(|error| self.failed(error))? {
                Some(Kind::Directory) => {
                    let below = match to.filter(|_| way == Way::Join) {
                        Some(to) => Some(self.enter(to, name)?),
                        None => None,
                    };
                    self.check(root, &self.enter(from, name)?, below.as_ref())?;
                }
                Some(Kind::Link) => self.check_link(root, from, &parent, name)?,
                _ => {}
            }
            self.at.pop();
        }
        Ok(())
    }

    fn check_link(
        &self,
        root: &Directory,
        from: &Directory,
        parent: &[u8],
        name: &OsStr,
    ) -> Result<(), ExtractError> {
        let target = from.read_link(name).map_err(|error| self.failed(error))?;
        let sound = links::follow(root, parent, target.to_bytes());
        sound
            .map_err(|error| self.failed(error))?
            .map_err(|reason| ExtractError::hazard(self.at.as_os_str().as_bytes(), reason))
    }

    /// Decides how `name` comes from one directory to the other.
    pub(super) fn way(
        &self,
        from: &Directory,
        to: &Directory,
        name: &OsStr,
    ) -> Result<Way, ExtractError> {
        let new = from.kind(name).map_err(|error| self.failed(error))?;
        let old = to.kind(name).map_err(|error| self.failed(error))?;
        let reason = match (new, old) {
            (_, None) => return Ok(Way::Place),
            (Some(Kind::Directory), Some(Kind::Directory)) => {
                let (old, here) = (self.enter(to, name)?.mount(), from.mount());
                if old.map_err(|error| self.failed(error))?
                    == here.map_err(|error| self.failed(error))?
                {
                    return Ok(Way::Join);
                }
                "another file system is mounted there; unpack into it by itself"
            }
            _ if self.existing == Existing::Keep => {
                return Err(ExtractError::Exists { path: self.place.locate(&self.at) });
            }
            (Some(Kind::Directory), Some(Kind::Link)) => {
                "the archive has a directory where a link is; remove the link first"
            }
            (Some(Kind::Directory), _) => {
                "the archive has a directory where a file is; remove the file first"
            }
            (_, Some(Kind::Directory)) => {
                "the archive has a file where a directory is; remove the directory first"
            }
            (_, Some(Kind::Special)) => "a device, pipe or socket is there and is not replaced",
            (_, Some(Kind::File | Kind::Link)) => return Ok(Way::Replace),
        };
        Err(self.in_the_way(reason))
    }

    pub(super) fn in_the_way(&self, reason: &'static str) -> ExtractError {
        ExtractError::InTheWay { path: self.place.locate(&self.at), reason }
    }

    pub(super) fn enter(&self, from: &Directory, name: &OsStr) -> Result<Directory, ExtractError> {
        from.child(name).map_err(|error| self.failed(error))
    }

    pub(super) fn go_on(&self) -> Result<(), ExtractError> {
        self.budget.check()
    }

    /// The system refused something about what is being looked at.
    pub(super) fn failed(&self, error: io::Error) -> ExtractError {
        let path = self.place.locate(&self.at);
        if error.kind() == io::ErrorKind::AlreadyExists {
            return ExtractError::Exists { path };
        }
        ExtractError::io(path, error)
    }
}
