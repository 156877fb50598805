//! Removing groups that nobody uses: those of a keeper that was killed, and of a server that is no more.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open, stat};
use rustix::io::Errno;

use super::{OWN, file};
use crate::spawner::tree;

/// How often, and after what pause, the processes of an abandoned group are killed before it is left as it is.
const ATTEMPTS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(2);

/// What a group of ours is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A command.
    Command,
    /// The server itself.
    Server,
}

/// What a group of this name is for, if it is one of ours.
pub(super) fn kind(name: &str) -> Option<Kind> {
    let (server, use_) = name.strip_prefix("atoll-")?.split_once('-')?;
    let is_server = server.len() == 8 && server.bytes().all(|byte| byte.is_ascii_hexdigit());
    match use_ {
        _ if !is_server => None,
        OWN => Some(Kind::Server),
        "probe" => Some(Kind::Command),
        number => number.parse::<u32>().ok().map(|_| Kind::Command),
    }
}

/// Opens a group's directory.
pub(super) fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Removes every group of ours below this one that nobody has locked.
pub(super) fn remove_abandoned(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        match entry.file_name().to_str().and_then(kind) {
            Some(Kind::Command) => remove(&entry.path()),
            // Whoever lives in it is in no need of being killed.
            Some(Kind::Server) => drop(std::fs::remove_dir(entry.path())),
            None => {}
        }
    }
}

/// Removes a group with whatever runs in it, unless somebody has locked it.
pub(super) fn remove(path: &Path) {
    let Ok(directory) = open_directory(path) else { return };
    if flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok()
        && is_at(&directory, path)
    {
        remove_locked(path);
    }
}

/// Whether a directory is still the one at this path. It may have been removed before it was locked, and another made
/// in its place, which is somebody's.
fn is_at(directory: &OwnedFd, path: &Path) -> bool {
    match (fstat(directory), stat(path)) {
        (Ok(ours), Ok(there)) => (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino),
        _ => false,
    }
}

/// Removes a group that we have locked, with the groups below it and whatever runs in them.
pub(super) fn remove_locked(path: &Path) {
    for _ in 0..ATTEMPTS {
        if remove_tree(path) {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    tracing::debug!(path = %path.display(), "a control group could not be removed");
}

/// Tries to remove a group and those below it, killing their processes; whether nothing is left.
fn remove_tree(path: &Path) -> bool {
    // Without processes and groups below it, it goes at the first attempt.
    match std::fs::remove_dir(path) {
        Ok(()) => return true,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return true,
        Err(_) => {}
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_tree(&entry.path());
        }
    }
    let members = file::read(path, "cgroup.procs").unwrap_or_default();
    // Those of a foreign process namespace are listed as 0.
    for pid in members.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|pid| *pid > 0) {
        tree::send(pid, libc::SIGKILL);
    }
    std::fs::remove_dir(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_of_ours_are_taken_for_such() {
        assert_eq!(kind("atoll-0123abcd-7"), Some(Kind::Command));
        assert_eq!(kind("atoll-0123abcd-probe"), Some(Kind::Command));
        assert_eq!(kind("atoll-0123abcd-server"), Some(Kind::Server));
        for foreign in
            ["atoll-0123abcd", "atoll-x-7", "atoll-0123abcd-7.scope", "atoll.service", "7"]
        {
            assert_eq!(kind(foreign), None, "{foreign}");
        }
    }
}
