//! The control groups of one keeper's commands: made once, used by one command after another.
//!
//! A group per command would leave one in the kernel for each command that wrote a file, since the cache of the file
//! belongs to it. So a keeper keeps its group, unless it would not be like new for the next command.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};

use super::{Cgroups, Hierarchy, file, sweep};
use crate::confinement::Confinement;

/// How often making a group is tried while somebody else sweeps.
const ATTEMPTS: u32 = 20;
/// The part of the memory that files in memory may keep after a command, by which the next one has less.
const RESIDUE: u64 = 16;

/// A command's group in each hierarchy.
#[derive(Debug)]
pub(crate) struct Cell {
    confinement: Confinement,
    groups: Vec<Group>,
    killed: AtomicBool,
}

#[derive(Debug)]
struct Group {
    path: PathBuf,
    /// Its directory, locked.
    directory: OwnedFd,
    /// Whoever writes 0 to it is in.
    entrance: OwnedFd,
    unified: bool,
    /// Tells how many were killed because memory ran out.
    victims: Option<OwnedFd>,
}

/// How a fresh process gets in.
#[derive(Debug, Default)]
pub(crate) struct Entrances {
    /// The group to be born in.
    pub(crate) birth: Option<RawFd>,
    /// What to write 0 to, otherwise.
    pub(crate) doors: Vec<RawFd>,
}

impl Cgroups {
    /// Makes the groups of the keeper with this number.
    pub(crate) fn cell(&self, number: usize, confinement: Confinement) -> io::Result<Cell> {
        let make = |hierarchy| {
            Group::make(hierarchy, &self.path(hierarchy, &number.to_string()), confinement)
        };
        let groups = self.hierarchies.iter().map(make).collect::<io::Result<_>>()?;
        Ok(Cell { confinement, groups, killed: AtomicBool::new(false) })
    }
}

/// Makes a group with limits, and removes it.
pub(super) fn try_out(hierarchy: &Hierarchy, path: &Path) -> io::Result<()> {
    let confinement =
        Confinement { memory_bytes: Some(1 << 30), processes: Some(1), open_files: None };
    Group::make(hierarchy, path, confinement).map(drop)
}

impl Cell {
    pub(crate) fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// How a fresh process gets in.
    pub(crate) fn entrances(&self) -> Entrances {
        let birth = self.groups.iter().find(|group| group.unified);
        let doors = self.groups.iter().filter(|group| !group.unified);
        Entrances {
            birth: birth.map(|group| group.directory.as_raw_fd()),
            doors: doors.map(|group| group.entrance.as_raw_fd()).collect(),
        }
    }

    /// How a fresh process gets in where none can be born in a group. Slower by a grace period of the kernel.
    pub(crate) fn all_doors(&self) -> Vec<RawFd> {
        self.groups.iter().map(|group| group.entrance.as_raw_fd()).collect()
    }

    /// Processes in it that were killed because memory ran out.
    pub(crate) fn victims(&self) -> i32 {
        let counts = self.groups.iter().filter_map(|group| counter(group.victims.as_ref()?));
        i32::try_from(counts.sum::<u64>()).unwrap_or(i32::MAX)
    }

    /// Kills everything in it at once, where the kernel can. Some kernels go on to kill whoever is born in it later, so
    /// it does not serve another command.
    pub(crate) fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        for group in self.groups.iter().filter(|group| group.unified) {
            let _older_kernel = file::write(&group.path, "cgroup.kill", "1");
        }
    }

    /// Whether the next command would find it like new.
    pub(crate) fn is_clean(&self) -> bool {
        let limit = self.confinement.memory_bytes.unwrap_or(u64::MAX);
        !self.killed.load(Ordering::Relaxed)
            && self.victims() == 0
            && self.groups.iter().all(|group| group.residue(limit / RESIDUE) == 0)
    }
}

#[cfg(test)]
impl Cell {
    /// Leaves it as a keeper that was killed does.
    pub(super) fn abandon(self) {
        for group in self.groups {
            flock(&group.directory, FlockOperation::Unlock).unwrap();
            std::mem::forget(group);
        }
    }
}

impl Group {
    fn make(hierarchy: &Hierarchy, path: &Path, confinement: Confinement) -> io::Result<Self> {
        let mut failure = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..ATTEMPTS {
            match std::fs::create_dir(path) {
                Ok(()) => {}
                // Left behind by a keeper of this number that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    sweep::remove(path);
                    continue;
                }
                Err(error) => return Err(error),
            }
            match Self::occupy(hierarchy, path) {
                Ok(group) => {
                    group.limit(hierarchy, confinement)?;
                    return Ok(group);
                }
                // Somebody swept it away before it was locked.
                Err(error) => {
                    let _gone = std::fs::remove_dir(path);
                    failure = error;
                }
            }
        }
        Err(failure)
    }

    fn occupy(hierarchy: &Hierarchy, path: &Path) -> io::Result<Self> {
        let unified = hierarchy.unified;
        let directory = sweep::open_directory(path)?;
        flock(&directory, FlockOperation::LockExclusive)?;
        // The thread alone: moving a whole process makes the kernel wait until all others have noticed.
        let entrance = if unified { c"cgroup.procs" } else { c"tasks" };
        let entrance = member(&directory, entrance, OFlags::WRONLY)?;
        let victims = if unified { c"memory.events" } else { c"memory.oom_control" };
        let victims = hierarchy.memory.then(|| member(&directory, victims, OFlags::RDONLY));
        let victims = victims.transpose()?;
        Ok(Self { path: path.to_owned(), directory, entrance, unified, victims })
    }

    fn limit(&self, hierarchy: &Hierarchy, confinement: Confinement) -> io::Result<()> {
        let set = |name, value: u64| file::write(&self.path, name, &value.to_string());
        if let Some(bytes) = confinement.memory_bytes.filter(|_| hierarchy.memory) {
            let (memory, swap, swapped) = if self.unified {
                ("memory.max", "memory.swap.max", 0)
            } else {
                // Memory and swap together.
                ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes)
            };
            set(memory, bytes)?;
            let _swap_is_not_counted_here = set(swap, swapped);
        }
        if let Some(processes) = confinement.processes.filter(|_| hierarchy.processes) {
            set("pids.max", processes)?;
        }
        Ok(())
    }

    /// Bytes of files in memory that stay charged to it, if more than this is charged at all: looking is not for free.
    fn residue(&self, tolerable: u64) -> u64 {
        if self.victims.is_none() {
            return 0;
        }
        let used = if self.unified { "memory.current" } else { "memory.usage_in_bytes" };
        let used = file::read(&self.path, used).ok().and_then(|text| text.trim().parse().ok());
        if used.is_some_and(|used: u64| used <= tolerable) {
            return 0;
        }
        let details = file::read(&self.path, "memory.stat").unwrap_or_default();
        let shared = details.lines().find_map(|line| line.strip_prefix("shmem ")?.parse().ok());
        shared.filter(|shared: &u64| *shared > tolerable).unwrap_or(0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        sweep::remove_locked(&self.path);
    }
}

/// A file of a group, which is that of this group and of none that was made in its place.
fn member(directory: &OwnedFd, name: &CStr, how: OFlags) -> io::Result<OwnedFd> {
    Ok(openat(directory, name, how | OFlags::CLOEXEC, Mode::empty())?)
}

/// The count of processes killed because memory ran out.
fn counter(file: &OwnedFd) -> Option<u64> {
    let mut buffer = [0; 512];
    let count = rustix::io::pread(file, &mut buffer, 0).ok()?;
    parse_counter(std::str::from_utf8(buffer.get(..count)?).ok()?)
}

fn parse_counter(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// Enters a group; false if the kernel refuses. Called in a fresh process that shares its keeper's memory, so nothing may
/// be allocated.
#[expect(unsafe_code, reason = "the descriptor crosses into a fresh process by number")]
pub(crate) fn enter(door: RawFd) -> bool {
    // SAFETY: writes a byte of a constant; the keeper holds the descriptor until this process has its own memory.
    unsafe { libc::write(door, b"0".as_ptr().cast(), 1) == 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_victims_are_counted_in_both_versions() {
        assert_eq!(parse_counter("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), Some(3));
        assert_eq!(parse_counter("low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\n"), Some(1));
        assert_eq!(parse_counter("oom_kill_disable 0\n"), None);
    }
}
