//! Looking at everything at once, telling rates from two looks, and noticing what happened in between.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::disk::{DiskReading, disks, percent};
use crate::group::{Group, GroupReading};
use crate::journal::Journal;
use crate::process::{ProcessRow, Processes};

/// A disk this full is told.
const FULL_PCT: f64 = 90.0;
/// It is told again once it was below this.
const RELIEVED_PCT: f64 = 85.0;

/// What a sandbox used at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When, as RFC 3339 has it.
    pub at: String,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// Figures of the control group.
    pub group: GroupReading,
    /// Per cent of one processor since the look before.
    pub cpu_pct: Option<f64>,
    /// Per cent of the memory there may be.
    pub memory_pct: Option<f64>,
    /// The disks, where they were looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskReading>,
    /// The processes that use most, where they were looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessRow>,
}

/// What to look at beside the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// Disks.
    pub disks: bool,
    /// This many processes.
    pub processes: usize,
}

/// Looks at the sandbox. Each has its own memory of the look before, so rates are those since its own last look.
#[derive(Debug)]
pub struct Sampler {
    group: Group,
    directories: Vec<PathBuf>,
    processes: Processes,
    last: Option<(Instant, GroupReading)>,
    watch: Arc<Watch>,
}

/// Notices what happened between two looks, whoever looked. Shared by all samplers, so that nothing is told twice.
#[derive(Debug)]
pub struct Watch {
    journal: Arc<Journal>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    last: Option<GroupReading>,
    /// Disks that were told to be full.
    full: Vec<String>,
}

impl Sampler {
    /// Looks at the own control group and the disks of these directories.
    pub fn new(directories: Vec<PathBuf>, watch: &Arc<Watch>) -> Self {
        Self {
            group: Group::own(),
            directories,
            processes: Processes::default(),
            last: None,
            watch: Arc::clone(watch),
        }
    }

    /// Looks. `killed_below` is how many processes were killed for memory in groups below, as far as the caller knows: where
    /// the group above does not count them, they are added.
    pub fn look(&mut self, scope: Scope, killed_below: u64) -> Sample {
        let mut group = self.group.read();
        if !self.group.counts_below() {
            group.killed = Some(group.killed.unwrap_or(0) + killed_below);
        }
        let (now, at) = (Instant::now(), Timestamp::now());
        let cpu_pct = self.last.as_ref().and_then(|(then, before)| {
            let passed = now.duration_since(*then).as_secs_f64();
            let used = group.cpu_usage_usec.saturating_sub(before.cpu_usage_usec);
            #[expect(clippy::cast_precision_loss, reason = "microseconds between two looks")]
            let share = used as f64 / 1e6 / passed * 100.0;
            (passed > 0.0).then_some((share * 10.0).round() / 10.0)
        });
        let disks = if scope.disks { disks(&self.directories) } else { Vec::new() };
        let processes = match scope.processes {
            0 => Vec::new(),
            most => self.processes.look(most),
        };
        self.watch.compare(&group, &disks);
        self.last = Some((now, group));
        Sample {
            at: format!("{at:.6}"),
            at_ms: at.as_millisecond(),
            group,
            cpu_pct,
            memory_pct: group.memory_most_bytes.map(|most| percent(group.memory_bytes, most)),
            disks,
            processes,
        }
    }

    /// How long ago the last look was, if there was one.
    pub fn age(&self) -> Option<std::time::Duration> {
        self.last.as_ref().map(|(then, _)| then.elapsed())
    }
}

impl Watch {
    /// What happens is written to this journal.
    pub fn new(journal: &Arc<Journal>) -> Arc<Self> {
        Arc::new(Self { journal: Arc::clone(journal), seen: Mutex::default() })
    }

    fn compare(&self, now: &GroupReading, disks: &[DiskReading]) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = seen.last.replace(*now) {
            self.compare_groups(&before, now);
        }
        for disk in disks {
            let told = seen.full.iter().position(|path| *path == disk.path);
            match told {
                None if disk.usage_pct > FULL_PCT => {
                    seen.full.push(disk.path.clone());
                    self.tell_full(disk);
                }
                Some(position) if disk.usage_pct < RELIEVED_PCT => {
                    seen.full.remove(position);
                }
                _ => {}
            }
        }
    }

    fn compare_groups(&self, before: &GroupReading, now: &GroupReading) {
        // A counter that was not there before tells nothing.
        let more = |before: Option<u64>, now: Option<u64>| match (before, now) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => 0,
        };
        let killed = more(before.killed, now.killed);
        if killed > 0 {
            let processes = if killed == 1 { "process was" } else { "processes were" };
            let message = format!("{killed} {processes} killed because memory ran out");
            let data = json!({
                "killed": killed,
                "memory_bytes": now.memory_bytes,
                "memory_most_bytes": now.memory_most_bytes,
            });
            self.journal.push("oom_kill", message, data);
        }
        let periods = more(before.cpu_throttled, now.cpu_throttled);
        if periods > 0 {
            let waited = more(before.cpu_throttled_usec, now.cpu_throttled_usec);
            let message = format!("programs waited {} ms for processor time", waited / 1000);
            let data = json!({ "periods": periods, "throttled_usec": waited });
            self.journal.push("cpu_throttled", message, data);
        }
    }

    fn tell_full(&self, disk: &DiskReading) {
        let DiskReading { path, usage_pct, free_bytes, .. } = disk;
        let message = format!("the disk of {path} is {usage_pct} % full");
        let data = json!({ "path": path, "usage_pct": usage_pct, "free_bytes": free_bytes });
        self.journal.push("disk_full", message, data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_come_with_the_second_look() {
        let directory = tempfile::tempdir().unwrap();
        let mut sampler = Sampler::new(
            vec![directory.path().to_owned()],
            &Watch::new(&Arc::new(Journal::new(1))),
        );
        let scope = Scope { disks: true, processes: 5 };
        let first = sampler.look(scope, 0);
        assert!(first.cpu_pct.is_none() && first.memory_pct.is_some());
        assert_eq!(first.disks.len(), 1);
        assert!((1..=5).contains(&first.processes.len()));
        let second = sampler.look(Scope { disks: false, processes: 0 }, 0);
        assert!(second.cpu_pct.is_some());
        assert!(second.disks.is_empty() && second.processes.is_empty());
        let text = serde_json::to_string(&first).unwrap();
        assert_eq!(serde_json::from_str::<Sample>(&text).unwrap(), first);
    }

    #[test]
    fn what_happened_between_two_looks_is_noted_once() {
        let journal = Arc::new(Journal::new(10));
        let watch = Watch::new(&journal);
        let reading = |killed, throttled| GroupReading {
            killed,
            cpu_throttled: throttled,
            cpu_throttled_usec: throttled.map(|count| count * 1000),
            ..GroupReading::default()
        };
        watch.compare(&reading(Some(1), None), &[]);
        watch.compare(&reading(Some(1), None), &[]);
        watch.compare(&reading(None, Some(2)), &[]);
        // A counter that appears was not seen before: nothing is known to have happened.
        watch.compare(&reading(Some(9), Some(2)), &[]);
        assert_eq!(journal.count(), 0);
        watch.compare(&reading(Some(11), Some(5)), &[]);
        let disk = |usage_pct| DiskReading {
            path: "/data".to_owned(),
            used_bytes: 0,
            total_bytes: 0,
            free_bytes: 0,
            usage_pct,
            inode_used: None,
            inode_total: None,
            inode_usage_pct: None,
        };
        for usage in [89.0, 91.0, 95.0, 88.0, 92.0, 80.0, 93.0] {
            watch.compare(&reading(Some(11), Some(5)), &[disk(usage)]);
        }
        let kinds: Vec<_> = journal.recent(10).into_iter().map(|event| event.kind).collect();
        assert_eq!(kinds, ["oom_kill", "cpu_throttled", "disk_full", "disk_full"]);
        assert_eq!(journal.recent(4)[0].data["killed"], 2);
    }
}
