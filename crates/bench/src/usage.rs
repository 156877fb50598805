//! What processes use, read from `/proc`: memory, threads, descriptors, children, processor time.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::Pid;

/// The unit in which the kernel tells processor time: `USER_HZ`, part of its interface and 100 on all our platforms.
const TICKS_PER_SECOND: f64 = 100.0;

/// What a set of processes holds at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) processes: u64,
    pub(crate) zombies: u64,
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
    /// Sum of the resident sets: pages shared between the processes count for each.
    pub(crate) resident_bytes: u64,
    /// The same, where a page shared by n processes counts 1/n for each.
    pub(crate) proportional_bytes: u64,
    /// What they hold of their own: no pages of programs, which come and go as code is used.
    pub(crate) own_bytes: u64,
}

/// A process as `/proc/PID/stat` tells it.
#[derive(Debug, Clone, Copy)]
struct Status {
    parent: i32,
    zombie: bool,
    threads: u64,
    processor_ticks: u64,
    started_ticks: u64,
}

/// A process and everything below it, parents first.
pub(crate) fn tree(root: Pid) -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        if let Some(status) = status(pid) {
            children.entry(status.parent).or_default().push(pid);
        }
    }
    let mut found = vec![root.as_raw_pid()];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        found.extend(children.remove(pid).unwrap_or_default());
        next += 1;
    }
    found.into_iter().filter_map(Pid::from_raw).collect()
}

/// What these processes hold together. One that has ended holds nothing.
pub(crate) fn usage(pids: &[Pid]) -> Usage {
    let mut total = Usage::default();
    for pid in pids {
        let pid = pid.as_raw_pid();
        let Some(status) = status(pid) else { continue };
        let memory = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        total.processes += 1;
        total.zombies += u64::from(status.zombie);
        total.threads += status.threads;
        total.descriptors += descriptors as u64;
        total.resident_bytes += kibibytes(&memory, "Rss:") << 10;
        total.proportional_bytes += kibibytes(&memory, "Pss:") << 10;
        total.own_bytes += kibibytes(&memory, "Anonymous:") << 10;
    }
    total
}

/// Starts the count of [`peak_bytes`] anew. Where the kernel does not allow it, the peak since the start is counted.
pub(crate) fn forget_peak(pids: &[Pid]) {
    for pid in pids {
        fs::write(format!("/proc/{}/clear_refs", pid.as_raw_pid()), "5").ok();
    }
}

/// Sum of the largest resident sets these processes have had since [`forget_peak`].
pub(crate) fn peak_bytes(pids: &[Pid]) -> u64 {
    let peak = |pid: &Pid| {
        let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_pid()));
        kibibytes(&status.unwrap_or_default(), "VmHWM:") << 10
    };
    pids.iter().map(peak).sum()
}

/// Processor seconds these processes have used, in user and kernel mode.
pub(crate) fn processor_seconds(pids: &[Pid]) -> f64 {
    let ticks = pids.iter().filter_map(|pid| status(pid.as_raw_pid()));
    let ticks: u64 = ticks.map(|status| status.processor_ticks).sum();
    to_float(ticks) / TICKS_PER_SECOND
}

/// When the process started: with its id it names a process for good, ids being used again.
pub(crate) fn started(pid: Pid) -> Option<u64> {
    status(pid.as_raw_pid()).map(|status| status.started_ticks)
}

/// Counts here are far below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts and bytes below 2^53")]
pub(crate) fn to_float(count: u64) -> f64 {
    count as f64
}

fn status(pid: i32) -> Option<Status> {
    parse_status(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_status(text: &str) -> Option<Status> {
    // The name may hold anything, blanks and brackets included: what counts stands behind its last bracket.
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Status {
        parent: fields.get(1)?.parse().ok()?,
        zombie: fields[0] == "Z",
        threads: number(17)?,
        processor_ticks: number(11)? + number(12)?,
        started_ticks: number(19)?,
    })
}

fn kibibytes(text: &str, field: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_hostile_process_name_is_read_past() {
        let text = "7 (a) Z (b)) S 3 7 7 0 -1 0 1 0 2 0 30 12 0 0 20 0 4 0 555 1 1";
        let status = parse_status(text).unwrap();
        assert_eq!((status.parent, status.zombie, status.threads), (3, false, 4));
        assert_eq!((status.processor_ticks, status.started_ticks), (42, 555));
        assert!(parse_status("7 (x").is_none());
    }

    #[test]
    fn children_are_found_and_counted() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pids = tree(rustix::process::getpid());
        let wanted = Pid::from_child(&child);
        assert!(pids.contains(&wanted));
        let held = usage(&[wanted]);
        assert_eq!((held.processes, held.threads, held.zombies), (1, 1, 0));
        assert!(held.resident_bytes >= held.proportional_bytes && held.proportional_bytes > 0);
        assert!(peak_bytes(&[wanted]) > 0 && held.descriptors >= 3);
        child.kill().unwrap();
        // Dead but not waited for.
        let killed = Instant::now();
        while usage(&[wanted]).zombies == 0 && killed.elapsed() < Duration::from_mins(1) {}
        assert_eq!(usage(&[wanted]).zombies, 1);
        child.wait().unwrap();
        assert_eq!(usage(&[wanted]), Usage::default());
    }
}
