//! Processor time and memory of the control group this server and everything it starts is in: of the container, or of
//! the whole machine where there is none.
//!
//! Controllers may be split over hierarchies of both versions on one machine, so each figure is read from wherever it
//! is found; what no group tells comes from `/proc`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use atoll_process::cgroup::{Place, own_places};
use serde::{Deserialize, Serialize};

/// Figures of a control group at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupReading {
    /// Microseconds of processor time used so far.
    pub cpu_usage_usec: u64,
    /// Periods in which a quota was in force.
    pub cpu_periods: Option<u64>,
    /// Those in which it was used up.
    pub cpu_throttled: Option<u64>,
    /// Microseconds that were waited for the next period.
    pub cpu_throttled_usec: Option<u64>,
    /// Bytes of memory in use, caches of files among them.
    pub memory_bytes: u64,
    /// Bytes there may be.
    pub memory_most_bytes: Option<u64>,
    /// How often memory ran out.
    pub out_of_memory: Option<u64>,
    /// Processes that were killed for it.
    pub killed: Option<u64>,
    /// Bytes of programs' own memory.
    pub anonymous_bytes: Option<u64>,
    /// Bytes of files held in memory.
    pub file_bytes: Option<u64>,
    /// Bytes of shared memory.
    pub shared_bytes: Option<u64>,
    /// Bytes of the kernel's own structures.
    pub slab_bytes: Option<u64>,
}

/// Where to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// Root of what is read: the machine's, but for tests.
    proc: PathBuf,
    /// Group with memory figures, and whether it is of version 2.
    memory: Option<(PathBuf, bool)>,
    /// Group with processor time.
    usage: Option<(PathBuf, bool)>,
    /// Group with quotas.
    quota: Option<(PathBuf, bool)>,
}

impl Group {
    /// The group this process is in. Groups that this server makes for what it starts lie below it and count with it.
    pub(crate) fn own() -> Self {
        Self::find(Path::new("/proc"))
    }

    fn find(proc: &Path) -> Self {
        let mut group = Self { proc: proc.to_owned(), ..Self::default() };
        for Place { directory, unified, controllers, .. } in own_places(proc) {
            let directory = outside_own(directory);
            // A controller that is mounted in version 1 is missing from the unified hierarchy: what is there decides.
            let has = |name: &str| directory.join(name).exists();
            let names = if unified {
                ["memory.current", "cpu.stat", "cpu.stat"]
            } else {
                ["memory.usage_in_bytes", "cpuacct.usage", "cpu.stat"]
            };
            let wanted = ["memory", "cpuacct", "cpu"];
            let fields = [&mut group.memory, &mut group.usage, &mut group.quota];
            for ((field, name), controller) in fields.into_iter().zip(names).zip(wanted) {
                let offered = unified || controllers.iter().any(|each| each == controller);
                if field.is_none() && offered && has(name) {
                    *field = Some((directory.clone(), unified));
                }
            }
        }
        group
    }

    /// The figures now.
    pub(crate) fn read(&self) -> GroupReading {
        let mut reading = GroupReading::default();
        self.read_processor(&mut reading);
        self.read_memory(&mut reading);
        reading
    }

    fn read_processor(&self, reading: &mut GroupReading) {
        reading.cpu_usage_usec = match &self.usage {
            Some((group, true)) => pairs(&group.join("cpu.stat")).get("usage_usec").copied(),
            Some((group, false)) => number(&group.join("cpuacct.usage")).map(|nanos| nanos / 1000),
            None => None,
        }
        .or_else(|| self.machine_usage())
        .unwrap_or_default();
        if let Some((group, unified)) = &self.quota {
            let stat = pairs(&group.join("cpu.stat"));
            reading.cpu_periods = stat.get("nr_periods").copied();
            reading.cpu_throttled = stat.get("nr_throttled").copied();
            reading.cpu_throttled_usec = if *unified {
                stat.get("throttled_usec").copied()
            } else {
                stat.get("throttled_time").map(|nanos| nanos / 1000)
            };
        }
    }

    /// Processor time of the whole machine: everything but idling and waiting for disks.
    fn machine_usage(&self) -> Option<u64> {
        let stat = std::fs::read_to_string(self.proc.join("stat")).ok()?;
        let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        let ticks: Vec<u64> = fields.take(8).filter_map(|field| field.parse().ok()).collect();
        let idle = ticks.get(3)? + ticks.get(4)?;
        Some(
            (ticks.iter().sum::<u64>() - idle)
                .saturating_mul(1_000_000 / u64::from(TICKS_PER_SECOND)),
        )
    }

    fn read_memory(&self, reading: &mut GroupReading) {
        let machine = pairs(&self.proc.join("meminfo"));
        let of_machine = |name: &str| machine.get(name).map(|kib| kib * 1024);
        let total = of_machine("MemTotal");
        let Some((group, unified)) = &self.memory else {
            let available = of_machine("MemAvailable").unwrap_or_default();
            reading.memory_bytes = total.unwrap_or_default().saturating_sub(available);
            reading.memory_most_bytes = total;
            reading.anonymous_bytes = of_machine("AnonPages");
            reading.file_bytes = of_machine("Cached");
            reading.shared_bytes = of_machine("Shmem");
            reading.slab_bytes = of_machine("Slab");
            // Without a group everything that was killed on this machine is the sandbox's concern.
            reading.killed = pairs(&self.proc.join("vmstat")).get("oom_kill").copied();
            return;
        };
        let stat = pairs(&group.join("memory.stat"));
        let of_stat = |name: &str| stat.get(name).copied();
        let (current, most) = if *unified {
            ("memory.current", "memory.max")
        } else {
            ("memory.usage_in_bytes", "memory.limit_in_bytes")
        };
        reading.memory_bytes = number(&group.join(current)).unwrap_or_default();
        // "max", and of version 1 a number beyond any memory, stand for no limit.
        let least = group.ancestors().filter_map(|group| number(&group.join(most))).min();
        reading.memory_most_bytes = match (least, total) {
            (Some(limit), Some(total)) => Some(limit.min(total)),
            (limit, total) => limit.or(total),
        };
        if *unified {
            reading.anonymous_bytes = of_stat("anon");
            reading.file_bytes = of_stat("file");
            reading.shared_bytes = of_stat("shmem");
            reading.slab_bytes = of_stat("slab");
            let events = pairs(&group.join("memory.events"));
            reading.out_of_memory = events.get("oom").copied();
            reading.killed = events.get("oom_kill").copied();
        } else {
            reading.anonymous_bytes = of_stat("total_rss");
            reading.file_bytes = of_stat("total_cache");
            reading.shared_bytes = of_stat("total_shmem");
            // Of this group alone: version 1 does not count what happened in groups below.
            reading.killed = pairs(&group.join("memory.oom_control")).get("oom_kill").copied();
        }
    }

    /// Whether kills in groups below are counted too.
    pub(crate) fn counts_below(&self) -> bool {
        !matches!(self.memory, Some((_, false)))
    }
}

/// Clock ticks of `/proc` in a second: what programs are shown has been hundredths on every common architecture, whatever
/// the kernel itself counts in.
pub(crate) const TICKS_PER_SECOND: u32 = 100;

/// Lines of a name and a number, whatever stands between them.
fn pairs(path: &Path) -> HashMap<String, u64> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let pair = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.trim_end_matches(':').to_owned();
        Some((name, words.next()?.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

fn number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// In the unified hierarchy a server moves to a group `atoll-…-server` beside those of its programs; the one above
/// both is meant.
fn outside_own(directory: PathBuf) -> PathBuf {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let own = name.starts_with("atoll-") && name.ends_with("-server");
    match directory.parent() {
        Some(parent) if own => parent.to_owned(),
        _ => directory,
    }
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
