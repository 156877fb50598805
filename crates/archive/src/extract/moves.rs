//! The move of an unpacked tree into its destination, step by step, and taken back as a whole when a step fails.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;

use super::journal::{Journal, Step};
use super::merge::{Merge, Way};
use crate::directory::{Directory, Kind};
use crate::error::ExtractError;

/// Bytes of names handled at once: a directory may have more than should be in memory.
const NAMES: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Moves<'a, 'b> {
    merge: &'a mut Merge<'b>,
    journal: Journal,
    /// Where things wait while they change places, by number.
    swap: &'a Directory,
    number: u64,
}

impl<'a, 'b> Moves<'a, 'b> {
    pub(super) fn new(merge: &'a mut Merge<'b>, swap: &'a Directory, notes: File) -> Self {
        Self { merge, journal: Journal::new(notes), swap, number: 0 }
    }

    /// Moves everything in `tree` into the destination, or nothing.
    pub(super) fn run(
        mut self,
        tree: &Directory,
        destination: &Directory,
    ) -> Result<(), ExtractError> {
        let Err(error) = self.join(tree, destination) else { return Ok(()) };
        match self.take_back(destination) {
            Ok(()) => Err(error),
            Err(undo) => {
                let text =
                    format!("{error}; what had been moved in could not be taken back: {undo}");
                Err(self.merge.failed(io::Error::other(text)))
            }
        }
    }

    /// What was moved leaves `from`, so that no name comes twice however the file system lists them.
    fn join(&mut self, from: &Directory, to: &Directory) -> Result<(), ExtractError> {
        loop {
            let names = some_names(from).map_err(|error| self.merge.failed(error))?;
            if names.is_empty() {
                return Ok(());
            }
            for name in &names {
                let name = OsStr::from_bytes(name.to_bytes());
                self.merge.go_on()?;
                self.merge.at.push(name);
                self.step(from, to, name)?;
                self.merge.at.pop();
            }
        }
    }

    fn step(&mut self, from: &Directory, to: &Directory, name: &OsStr) -> Result<(), ExtractError> {
        match self.merge.way(from, to, name)? {
            Way::Join => {
                let (below, old) = (self.merge.enter(from, name)?, self.merge.enter(to, name)?);
                self.join(&below, &old)?;
                from.remove_directory(name).map_err(|error| self.merge.failed(error))
            }
            Way::Place => {
                self.note(Step::Placed)?;
                from.move_to(name, to, name).map_err(|error| self.withdraw(error))
            }
            Way::Replace => self.replace(from, to, name),
        }
    }

    fn replace(
        &mut self,
        from: &Directory,
        to: &Directory,
        name: &OsStr,
    ) -> Result<(), ExtractError> {
        let number = self.next_number();
        let slot = slot(number);
        from.move_to(name, self.swap, &slot).map_err(|error| self.merge.failed(error))?;
        self.note(Step::Replaced(number))?;
        exchange(self.swap, &slot, to, name).map_err(|error| self.withdraw(error))?;
        // It may have become a directory since it was looked at; that would be lost with what was replaced.
        match self.swap.kind(&slot) {
            Ok(Some(Kind::File | Kind::Link)) => Ok(()),
            _ => Err(self.merge.in_the_way("what was there changed meanwhile; try again")),
        }
    }

    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    fn note(&mut self, step: Step) -> Result<(), ExtractError> {
        self.journal.note(step, &self.merge.at).map_err(|error| self.merge.failed(error))
    }

    fn withdraw(&mut self, error: io::Error) -> ExtractError {
        self.journal.withdraw();
        self.merge.failed(error)
    }

    /// Undoes every step, the last one first, and goes on where one cannot be undone.
    fn take_back(&mut self, destination: &Directory) -> io::Result<()> {
        let mut result = Ok(());
        while let Some((step, path)) = self.journal.pop()? {
            let undone = self.undo(destination, step, path.as_os_str());
            result = result.and(undone);
        }
        result
    }

    fn undo(&mut self, destination: &Directory, step: Step, path: &OsStr) -> io::Result<()> {
        let mut names: Vec<&OsStr> =
            path.as_bytes().split(|byte| *byte == b'/').map(OsStr::from_bytes).collect();
        let name = names.pop().unwrap_or_default();
        let directory = names
            .into_iter()
            .try_fold(destination.reopen()?, |directory, name| directory.child(name))?;
        match step {
            Step::Placed => directory.move_to(name, self.swap, &slot(self.next_number())),
            // What waits may be a directory by now, which could not be moved over a file.
            Step::Replaced(number) => exchange(self.swap, &slot(number), &directory, name),
        }
    }
}

/// Lets what is in a slot change places with what has a name. Where the file system cannot do it at once, there is a
/// moment in which the name stands for nothing.
fn exchange(swap: &Directory, slot: &OsStr, to: &Directory, name: &OsStr) -> io::Result<()> {
    if swap.exchange(slot, to, name)? {
        return Ok(());
    }
    exchange_by_steps(swap, slot, to, name)
}

fn exchange_by_steps(
    swap: &Directory,
    slot: &OsStr,
    to: &Directory,
    name: &OsStr,
) -> io::Result<()> {
    let mut aside = slot.to_owned();
    aside.push(".aside");
    swap.move_to(slot, swap, &aside)?;
    to.move_to(name, swap, slot)?;
    swap.move_to(&aside, to, name).inspect_err(|_| {
        let _lost_too = swap.move_to(slot, to, name);
    })
}

fn slot(number: u64) -> OsString {
    number.to_string().into()
}

/// The first names in a directory, as many as fit.
fn some_names(directory: &Directory) -> io::Result<Vec<CString>> {
    let mut room = NAMES;
    let mut names = Vec::new();
    for name in directory.listing()? {
        let name = name?;
        room = room.saturating_sub(name.to_bytes().len() + 16);
        names.push(name);
        if room == 0 {
            break;
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    use super::super::budget::{Budget, Limits};
    use super::super::merge::Existing;
    use super::super::place::Place;
    use super::*;

    /// Each file with its content, each link with its target.
    fn look(root: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(root).unwrap() {
            let path = entry.unwrap().path();
            let what = match std::fs::read_link(&path) {
                Ok(target) => format!("-> {}", target.display()),
                Err(_) if path.is_dir() => look(&path).join(", "),
                Err(_) => std::fs::read_to_string(&path).unwrap(),
            };
            found.push(format!("{} ({what})", path.display()));
        }
        found.sort();
        found
    }

    #[test]
    fn what_was_moved_is_taken_back() {
        let directory = tempfile::tempdir().unwrap();
        let destination = directory.path().join("destination");
        std::fs::create_dir_all(destination.join("both/deep")).unwrap();
        for name in ["old", "both/old", "both/deep/old"] {
            std::fs::write(destination.join(name), "old").unwrap();
        }
        std::os::unix::fs::symlink("old", destination.join("both/link")).unwrap();
        let before = look(&destination);

        let place = Place::prepare(&destination).unwrap();
        let tree = place.tree().unwrap();
        for directory in ["both", "new", "new/deep"] {
            std::fs::create_dir_all(place.hidden().join("tree").join(directory)).unwrap();
        }
        std::fs::create_dir(place.hidden().join("tree/both/deep")).unwrap();
        let names = [
            "old",
            "new/deep/x",
            "both/old",
            "both/new",
            "both/link",
            "both/deep/old",
            "both/deep/new",
        ];
        for name in names {
            std::fs::write(place.hidden().join("tree").join(name), "new").unwrap();
        }
        let cancel = AtomicBool::new(false);
        let limits = Limits { entries: 0, bytes: 0, ratio: 0 };
        let budget = Budget::new(limits, 0, &cancel);
        let mut merge = Merge::new(&place, Existing::Replace, &budget);
        let swap = place.swap().unwrap();
        let mut moves = Moves::new(&mut merge, &swap, place.notes().unwrap());
        let to = Directory::open(&destination).unwrap();
        moves.join(&tree, &to).unwrap();
        for name in names {
            assert_eq!(std::fs::read_to_string(destination.join(name)).unwrap(), "new", "{name}");
        }
        moves.take_back(&to).unwrap();
        assert_eq!(look(&destination), before);
    }

    #[test]
    fn things_change_places_with_and_without_the_kernels_help() {
        let directory = tempfile::tempdir().unwrap();
        let root = Directory::open(directory.path()).unwrap();
        let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
        std::fs::write(directory.path().join("1"), "new").unwrap();
        std::fs::write(directory.path().join("name"), "old").unwrap();
        let (slot, name) = (OsStr::new("1"), OsStr::new("name"));
        exchange(&root, slot, &root, name).unwrap();
        assert_eq!((read("1"), read("name")), ("old".to_owned(), "new".to_owned()));
        exchange_by_steps(&root, slot, &root, name).unwrap();
        assert_eq!((read("1"), read("name")), ("new".to_owned(), "old".to_owned()));
    }
}
