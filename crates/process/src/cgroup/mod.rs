//! Control groups: where the server may make some, and one for each keeper's command.
//!
//! Both versions of the interface are used, and both at once where a machine mixes them. Groups lie below the server's
//! own, named `atoll-SERVER-NUMBER`. Whoever uses one holds a lock on its directory, so that what a killed server left
//! behind can be told from what is in use, in whatever container the user runs.

mod cell;
mod discover;
mod file;
mod sweep;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use cell::{Cell, enter};
pub use discover::{Place, own_places};

/// Name of the group the server moves to where its own may hold no processes beside groups.
const OWN: &str = "server";

/// Where groups for commands are made. Travels to the spawner in its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cgroups {
    /// Tells this server's groups from another's.
    server: String,
    hierarchies: Vec<Hierarchy>,
}

/// One hierarchy and what it is used for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Hierarchy {
    /// Where groups are made: the server's own group.
    directory: PathBuf,
    unified: bool,
    memory: bool,
    processes: bool,
}

/// By what means a spawner bounds what commands use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enforcement {
    /// Memory of a command with all it starts is bounded by a control group; otherwise that of each process is.
    pub memory_by_group: bool,
    /// Processes of a command are bounded by a control group; otherwise those of a user are, unless it is root.
    pub processes_by_group: bool,
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let means =
            |group| if group { "control groups" } else { "the kernel's limits per process" };
        let (memory, processes) = (means(self.memory_by_group), means(self.processes_by_group));
        write!(f, "memory by {memory}, processes by {processes}")
    }
}

impl Cgroups {
    /// Finds out what can be used here. In the unified hierarchy this may move the process into a group of its own.
    pub(crate) fn probe() -> Self {
        let server = uuid::Uuid::new_v4().simple().to_string().chars().take(8).collect();
        let mut found = Self { server, hierarchies: Vec::new() };
        for place in own_places(Path::new("/proc")) {
            let wanted = [!found.limits_memory(), !found.limits_processes()];
            if let Some(hierarchy) = found.usable(&place, wanted) {
                found.hierarchies.push(hierarchy);
            }
        }
        found
    }

    /// What is put into the spawner's arguments.
    pub(crate) fn to_argument(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn from_argument(argument: &str) -> Self {
        serde_json::from_str(argument).unwrap_or_default()
    }

    pub(crate) fn limits_memory(&self) -> bool {
        self.hierarchies.iter().any(|hierarchy| hierarchy.memory)
    }

    pub(crate) fn limits_processes(&self) -> bool {
        self.hierarchies.iter().any(|hierarchy| hierarchy.processes)
    }

    pub(crate) fn enforcement(&self) -> Enforcement {
        Enforcement {
            memory_by_group: self.limits_memory(),
            processes_by_group: self.limits_processes(),
        }
    }

    /// Removes what servers that are no more have left behind.
    pub(crate) fn sweep(&self) {
        for hierarchy in &self.hierarchies {
            sweep::remove_abandoned(&hierarchy.directory);
        }
    }

    /// Removes the groups of a keeper that was killed.
    pub(crate) fn remove(&self, number: usize) {
        for hierarchy in &self.hierarchies {
            sweep::remove(&self.path(hierarchy, &number.to_string()));
        }
    }

    fn path(&self, hierarchy: &Hierarchy, name: &str) -> PathBuf {
        hierarchy.directory.join(format!("atoll-{}-{name}", self.server))
    }

    /// What a hierarchy can be used for, of what is wanted: memory, processes. Tried, since nothing else tells.
    fn usable(&self, place: &Place, wanted: [bool; 2]) -> Option<Hierarchy> {
        let directory = outside_own(&place.directory);
        let controllers = if place.unified {
            let offered = file::read(&directory, "cgroup.controllers").ok()?;
            offered.split_whitespace().map(str::to_owned).collect()
        } else {
            place.controllers.clone()
        };
        let [memory, processes] = ["memory", "pids"]
            .map(|name| controllers.iter().any(|controller| controller == name))
            .into_iter()
            .zip(wanted)
            .map(|(offered, wanted)| offered && wanted)
            .collect::<Vec<_>>()[..]
        else {
            return None;
        };
        if !memory && !processes {
            return None;
        }
        let unified = place.unified;
        let hierarchy = Hierarchy { directory, unified, memory, processes };
        if unified {
            self.delegate(&hierarchy).ok()?;
        }
        cell::try_out(&hierarchy, &self.path(&hierarchy, "probe")).ok()?;
        Some(hierarchy)
    }

    /// Has the unified hierarchy offer its controllers to the groups below the server's. A group with processes of its
    /// own may not, so the server moves to one beside those of its commands; should others be there too, it stays.
    fn delegate(&self, hierarchy: &Hierarchy) -> io::Result<()> {
        let directory = &hierarchy.directory;
        let wanted = [("memory", hierarchy.memory), ("pids", hierarchy.processes)];
        let enabled = file::read(directory, "cgroup.subtree_control")?;
        let missing: Vec<_> = wanted
            .into_iter()
            .filter(|(name, wanted)| *wanted && !enabled.split_whitespace().any(|on| on == *name))
            .map(|(name, _)| format!("+{name}"))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let enable = || file::write(directory, "cgroup.subtree_control", &missing.join(" "));
        let Err(error) = enable() else { return Ok(()) };
        if error.raw_os_error() != Some(libc::EBUSY) {
            return Err(error);
        }
        let own = self.path(hierarchy, OWN);
        std::fs::create_dir(&own)?;
        let moved = move_server(&own).and_then(|()| enable());
        if moved.is_err() {
            let _stays_there = move_server(directory);
            let _swept_later = std::fs::remove_dir(&own);
        }
        moved
    }
}

/// Moves this process, and the init it may have split off from itself.
fn move_server(to: &Path) -> io::Result<()> {
    let parent = std::os::unix::process::parent_id();
    let executable = |pid: u32| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    if parent == 1 && executable(1).is_some_and(|init| Some(init) == executable(std::process::id()))
    {
        file::write(to, "cgroup.procs", "1")?;
    }
    file::write(to, "cgroup.procs", "0")
}

/// The group below which groups are made: not the one a server of ours has moved to.
fn outside_own(directory: &Path) -> PathBuf {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match directory.parent() {
        Some(parent) if sweep::kind(name) == Some(sweep::Kind::Server) => parent.to_owned(),
        _ => directory.to_owned(),
    }
}

/// Bytes of memory that this process and its children can have at most: the machine's, or what its group may have.
pub fn machine_memory() -> u64 {
    let pages = rustix::system::sysinfo();
    let machine = pages.totalram.saturating_mul(u64::from(pages.mem_unit));
    let mut most = machine;
    for place in own_places(Path::new("/proc")) {
        let name = if place.unified { "memory.max" } else { "memory.limit_in_bytes" };
        let groups = place.directory.ancestors().take_while(|group| group.starts_with(&place.top));
        for group in groups {
            // "max", and of version 1 a number beyond any memory, stand for no limit.
            let limit = file::read(group, name).ok().and_then(|text| text.trim().parse().ok());
            most = most.min(limit.unwrap_or(u64::MAX));
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn what_was_found_survives_the_way_to_the_spawner() {
        let found = Cgroups {
            server: "0123abcd".to_owned(),
            hierarchies: vec![Hierarchy {
                directory: PathBuf::from("/sys/fs/cgroup/a b"),
                unified: true,
                memory: true,
                processes: false,
            }],
        };
        assert_eq!(Cgroups::from_argument(&found.to_argument()), found);
        assert_eq!(Cgroups::from_argument("nonsense"), Cgroups::default());
    }

    #[test]
    fn groups_are_not_made_below_the_servers_own() {
        let outside = |path: &str| outside_own(Path::new(path)).display().to_string();
        assert_eq!(outside("/sys/fs/cgroup/x/atoll-0123abcd-server"), "/sys/fs/cgroup/x");
        assert_eq!(
            outside("/sys/fs/cgroup/x/atoll-0123abcd-7"),
            "/sys/fs/cgroup/x/atoll-0123abcd-7"
        );
        assert_eq!(outside("/sys/fs/cgroup/"), "/sys/fs/cgroup/");
    }

    /// A process that sleeps in a group.
    struct Sleeper(std::process::Child);

    impl Sleeper {
        fn new(group: &Path) -> Self {
            let sleeper = Self(std::process::Command::new("sleep").arg("1000").spawn().unwrap());
            file::write(group, "cgroup.procs", &sleeper.0.id().to_string()).unwrap();
            sleeper
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    fn confinement() -> crate::Confinement {
        crate::Confinement { processes: Some(9), ..Default::default() }
    }

    #[test]
    fn what_a_killed_server_left_is_removed_with_what_runs_in_it() {
        let groups = Cgroups::probe();
        let cell = groups.cell(5, confinement()).unwrap();
        let left: Vec<_> =
            groups.hierarchies.iter().map(|hierarchy| groups.path(hierarchy, "5")).collect();
        let nest = |group: &PathBuf| {
            std::fs::create_dir(group.join("nested")).unwrap();
            Sleeper::new(&group.join("nested"))
        };
        let sleepers: Vec<_> = left.iter().map(nest).collect();
        cell.abandon();
        // Others may sweep as well, and hold the lock meanwhile.
        while left.iter().any(|group| group.exists()) {
            Cgroups::probe().sweep();
        }
        for mut sleeper in sleepers {
            assert_eq!(sleeper.0.wait().unwrap().signal(), Some(libc::SIGKILL));
        }
    }

    #[test]
    fn what_is_in_use_is_not_swept() {
        let (groups, others) = (Cgroups::probe(), Cgroups::probe());
        let cell = groups.cell(7, confinement()).unwrap();
        others.sweep();
        let mine = || groups.hierarchies.iter().map(|hierarchy| groups.path(hierarchy, "7"));
        assert!(mine().all(|group| group.exists()));
        drop(cell);
        assert!(mine().all(|group| !group.exists()));
    }

    #[test]
    fn the_machine_has_memory() {
        assert!(machine_memory() > 16 << 20);
    }
}
