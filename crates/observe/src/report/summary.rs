//! Many samples in a few figures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::journal::Event;
use crate::sampler::Sample;

/// Processes that a summary names.
const PROCESSES: usize = 15;

/// The figures of a report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Looks.
    pub samples: usize,
    /// The first and the last of them.
    pub from: Option<String>,
    /// The last.
    pub to: Option<String>,
    /// Seconds between them.
    pub duration_seconds: f64,
    /// Per cent of one processor.
    pub cpu_pct: Figure,
    /// Bytes of memory in use.
    pub memory_bytes: Figure,
    /// Bytes there may be.
    pub memory_most_bytes: Option<u64>,
    /// Per cent of them at the worst.
    pub memory_highest_pct: Option<f64>,
    /// Processes killed because memory ran out.
    pub oom_kills: u64,
    /// Periods in which programs had to wait for processor time.
    pub cpu_throttled_periods: u64,
    /// Each disk at its fullest, in per cent.
    pub disks: BTreeMap<String, f64>,
    /// Processes, those with most memory first.
    pub processes: Vec<ProcessSummary>,
    /// Events by kind.
    pub events: BTreeMap<String, u64>,
}

/// A figure over time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its mean.
    pub average: f64,
    /// Its highest value.
    pub highest: f64,
}

/// What a process used at most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessSummary {
    /// Its number.
    pub pid: i32,
    /// Its name.
    pub comm: String,
    /// Whose it is.
    pub user: String,
    /// Bytes of memory at most.
    pub highest_rss_bytes: u64,
    /// Per cent of one processor at most.
    pub highest_cpu_pct: Option<f64>,
    /// Looks in which it was among those that use most.
    pub samples: u64,
}

impl Summary {
    /// What these samples and events come to.
    pub fn of(samples: &[Sample], events: &[Event]) -> Self {
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
            return Self { events: by_kind(events), ..Self::default() };
        };
        let grown = |count: fn(&Sample) -> Option<u64>| {
            count(last).unwrap_or(0).saturating_sub(count(first).unwrap_or(0))
        };
        let mut disks = BTreeMap::new();
        for disk in samples.iter().flat_map(|sample| &sample.disks) {
            let highest = disks.entry(disk.path.clone()).or_insert(disk.usage_pct);
            *highest = disk.usage_pct.max(*highest);
        }
        #[expect(clippy::cast_precision_loss, reason = "a span, and bytes for people to read")]
        let (span, memory) = (
            (last.at_ms - first.at_ms) as f64 / 1000.0,
            Figure::of(samples.iter().map(|sample| sample.group.memory_bytes as f64)),
        );
        Self {
            samples: samples.len(),
            from: Some(first.at.clone()),
            to: Some(last.at.clone()),
            duration_seconds: span,
            cpu_pct: Figure::of(samples.iter().filter_map(|sample| sample.cpu_pct)),
            memory_bytes: memory,
            memory_most_bytes: last.group.memory_most_bytes,
            memory_highest_pct: samples
                .iter()
                .filter_map(|sample| sample.memory_pct)
                .max_by(f64::total_cmp),
            oom_kills: grown(|sample| sample.group.killed),
            cpu_throttled_periods: grown(|sample| sample.group.cpu_throttled),
            disks,
            processes: processes(samples),
            events: by_kind(events),
        }
    }
}

impl Figure {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mut sum, mut count, mut highest) = (0.0, 0.0, 0.0_f64);
        for value in values {
            sum += value;
            count += 1.0;
            highest = highest.max(value);
        }
        let average = if count > 0.0 { (sum / count * 10.0).round() / 10.0 } else { 0.0 };
        Self { average, highest }
    }
}

fn by_kind(events: &[Event]) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::new();
    for event in events {
        *kinds.entry(event.kind.clone()).or_default() += 1;
    }
    kinds
}

fn processes(samples: &[Sample]) -> Vec<ProcessSummary> {
    let mut all: BTreeMap<(i32, String), ProcessSummary> = BTreeMap::new();
    for row in samples.iter().flat_map(|sample| &sample.processes) {
        let entry = all.entry((row.pid, row.comm.clone())).or_insert_with(|| ProcessSummary {
            pid: row.pid,
            comm: row.comm.clone(),
            user: row.user.clone(),
            highest_rss_bytes: 0,
            highest_cpu_pct: None,
            samples: 0,
        });
        entry.samples += 1;
        entry.highest_rss_bytes = entry.highest_rss_bytes.max(row.rss_bytes);
        if let Some(cpu) = row.cpu_pct {
            entry.highest_cpu_pct = Some(entry.highest_cpu_pct.map_or(cpu, |most| most.max(cpu)));
        }
    }
    let mut all: Vec<_> = all.into_values().collect();
    all.sort_by_key(|process| std::cmp::Reverse(process.highest_rss_bytes));
    all.truncate(PROCESSES);
    all
}
