//! The hidden directory an archive is unpacked into before anything of it shows.
//!
//! It is written to by handle, component by component: an entry that would go through a link, or through a file, is
//! refused, and so is a second entry of the same name. Whether two names are the same the file system decides, so that
//! names that differ in case are two where it says so. Nothing here lies outside, whatever an archive says.

use std::ffi::OsStr;
use std::fs::File;
use std::io;

use super::links;
use super::route::{Route, components};
use crate::directory::{Directory, Kind, Moment, finish_file};
use crate::error::{ExtractError, show};

/// What an entry says about itself beside its content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nature {
    /// Permissions, if it has any; further bits are not looked at.
    pub(super) mode: Option<u32>,
    pub(super) modified: Moment,
}

#[derive(Debug)]
pub(super) struct Stage {
    root: Directory,
    /// The directory of the last entry: the next most often lies there too.
    last: Option<(Vec<u8>, Directory)>,
    /// Directories made because something lies in them.
    implied: u64,
}

impl Stage {
    pub(super) fn new(root: Directory) -> Self {
        Self { root, last: None, implied: 0 }
    }

    pub(super) fn root(&self) -> &Directory {
        &self.root
    }

    /// Directories that no entry stands for. An archive can have many more of them than entries.
    pub(super) fn implied(&self) -> u64 {
        self.implied
    }

    /// Makes a directory, or gives one that is there its mode.
    pub(super) fn directory(&mut self, route: &Route, nature: Nature) -> Result<(), ExtractError> {
        let Some((parent, name)) = route.split() else { return Ok(()) };
        let directory = self.enter(route, parent)?;
        match directory.make_directory(name) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if directory.kind(name).map_err(failed(route))? != Some(Kind::Directory) {
                    return Err(duplicate(route));
                }
            }
            Err(error) => return Err(failed(route)(error)),
        }
        // Whoever owns it can always look into it, change it and remove it.
        let Some(mode) = nature.mode else { return Ok(()) };
        let child = directory.child(name).map_err(failed(route))?;
        child.set_mode(mode & 0o777 | 0o700).map_err(failed(route))
    }

    /// Begins a file.
    pub(super) fn file(&mut self, route: &Route) -> Result<File, ExtractError> {
        let (parent, name) = route.split().ok_or_else(|| no_name(route))?;
        let created = self.enter(route, parent)?.create(name);
        created.map_err(|error| refused(route, error))
    }

    /// Ends a file.
    pub(super) fn finish(route: &Route, file: File, nature: Nature) -> Result<(), ExtractError> {
        // Whoever owns it can always read and change it; bits that lend rights are dropped.
        let mode = nature.mode.unwrap_or(0o644) & 0o777 | 0o600;
        finish_file(file, nature.modified, mode).map_err(failed(route))
    }

    pub(super) fn link(
        &mut self,
        route: &Route,
        target: &[u8],
        nature: Nature,
    ) -> Result<(), ExtractError> {
        let (parent, name) = route.split().ok_or_else(|| no_name(route))?;
        links::check(parent, target)
            .map_err(|reason| ExtractError::hazard(route.as_bytes(), reason))?;
        let directory = self.enter(route, parent)?;
        directory.make_link(name, target).map_err(|error| refused(route, error))?;
        directory.date_link(name, nature.modified).map_err(failed(route))
    }

    /// Gives a file unpacked before another name.
    pub(super) fn hard_link(&mut self, route: &Route, to: &Route) -> Result<(), ExtractError> {
        let missing = || {
            let reason = format!("it links to {}, which is no file before it", show(to.as_bytes()));
            ExtractError::hazard(route.as_bytes(), reason)
        };
        let (parent, name) = route.split().ok_or_else(|| no_name(route))?;
        let (old_parent, old_name) = to.split().ok_or_else(missing)?;
        let from = self.find(old_parent).map_err(|_| missing())?;
        if from.kind(old_name).map_err(failed(route))? != Some(Kind::File) {
            return Err(missing());
        }
        let linked = self.enter(route, parent)?.hard_link(name, &from, old_name);
        linked.map_err(|error| refused(route, error))
    }

    /// A directory that is there already.
    fn find(&self, path: &[u8]) -> io::Result<Directory> {
        let mut names = components(path);
        let Some(first) = names.next() else { return self.root.reopen() };
        names.try_fold(self.root.child(first)?, |directory, name| directory.child(name))
    }

    /// The directory an entry lies in, made when no entry made it.
    fn enter(&mut self, route: &Route, parent: &[u8]) -> Result<&Directory, ExtractError> {
        if parent.is_empty() {
            return Ok(&self.root);
        }
        let known = self.last.take_if(|(path, _)| path == parent);
        let directory = match known {
            Some((_, directory)) => directory,
            None => self.walk(route, parent)?,
        };
        Ok(&self.last.insert((parent.to_vec(), directory)).1)
    }

    fn walk(&mut self, route: &Route, parent: &[u8]) -> Result<Directory, ExtractError> {
        let mut reached: Option<Directory> = None;
        for name in components(parent) {
            let here = reached.as_ref().unwrap_or(&self.root);
            let (below, made) = step(here, name, route)?;
            self.implied += u64::from(made);
            reached = Some(below);
        }
        reached.ok_or_else(|| no_name(route))
    }
}

/// Goes one directory down, making it when there is none; says whether it did.
fn step(here: &Directory, name: &OsStr, route: &Route) -> Result<(Directory, bool), ExtractError> {
    match here.child(name) {
        Ok(child) => return Ok((child, false)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            return Err(match here.kind(name) {
                Ok(Some(Kind::Link)) => ExtractError::hazard(
                    route.as_bytes(),
                    format!("it goes through {}, which is a link", show(name.as_encoded_bytes())),
                ),
                Ok(Some(Kind::File)) => ExtractError::hazard(
                    route.as_bytes(),
                    format!("it goes through {}, which is a file", show(name.as_encoded_bytes())),
                ),
                _ => failed(route)(error),
            });
        }
    }
    let made = here.make_directory(name).and_then(|()| here.child(name));
    Ok((made.map_err(failed(route))?, true))
}

fn refused(route: &Route, error: io::Error) -> ExtractError {
    if error.kind() == io::ErrorKind::AlreadyExists {
        duplicate(route)
    } else {
        failed(route)(error)
    }
}

fn duplicate(route: &Route) -> ExtractError {
    ExtractError::hazard(route.as_bytes(), "the archive has another entry of this name")
}

fn no_name(route: &Route) -> ExtractError {
    ExtractError::hazard(route.as_bytes(), "it would replace the destination itself")
}

/// The system refused something about this entry.
pub(super) fn failed(route: &Route) -> impl Fn(io::Error) -> ExtractError {
    move |error| ExtractError::io(route.to_path(), error)
}
