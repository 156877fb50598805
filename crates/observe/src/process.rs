//! The processes there are, from `/proc`: who uses how much.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::group::TICKS_PER_SECOND;

/// Processes looked at, at most: reading all of a machine's that has more would cost more than it tells.
const MOST: usize = 20_000;

/// One process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessRow {
    /// Its number.
    pub pid: i32,
    /// Its parent's.
    pub ppid: i32,
    /// Whose it is.
    pub user: String,
    /// Its name.
    pub comm: String,
    /// Bytes of memory it has, shared ones among them.
    pub rss_bytes: u64,
    /// Per cent of one processor between this look and the one before.
    pub cpu_pct: Option<f64>,
    /// Threads.
    pub threads: u32,
    /// Open files, where that may be seen.
    pub fds: Option<u32>,
    /// `R` running, `S` sleeping, `D` waiting for a disk, `Z` dead but not buried, `T` stopped.
    pub state: String,
    /// Seconds since it began.
    pub uptime_sec: f64,
}

/// Looks at processes, and remembers the last look to tell what they used since.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    /// Ticks used by each process, told apart by when it began.
    last: HashMap<(i32, u64), u64>,
    /// Seconds since boot of the last look.
    looked: f64,
}

struct Stat {
    pid: i32,
    ppid: i32,
    comm: String,
    state: String,
    ticks: u64,
    threads: u32,
    began: u64,
    rss_pages: u64,
}

impl Processes {
    /// The processes that use most: those with most memory and those with most processor time, `most` rows together.
    pub(crate) fn look(&mut self, most: usize) -> Vec<ProcessRow> {
        let uptime = uptime();
        let passed = uptime - self.looked;
        let known = self.looked > 0.0 && passed > 0.0;
        let page = page_size();
        let mut rows: Vec<(ProcessRow, f64)> = Vec::new();
        let mut seen = HashMap::new();
        for pid in pids().take(MOST) {
            let Some(stat) = Stat::of(pid) else { continue };
            let key = (pid, stat.began);
            #[expect(clippy::cast_precision_loss, reason = "ticks of a process fit a float")]
            let (ticks, began) = (
                self.last.get(&key).map(|before| stat.ticks.saturating_sub(*before) as f64),
                stat.began as f64,
            );
            seen.insert(key, stat.ticks);
            let per_second = f64::from(TICKS_PER_SECOND);
            let age = (uptime - began / per_second).max(0.0);
            // One that began since the last look used all its time since.
            #[expect(clippy::cast_precision_loss, reason = "ticks of a process fit a float")]
            let used = ticks.or_else(|| (age <= passed).then_some(stat.ticks as f64));
            let cpu = used.filter(|_| known).map(|used| 100.0 * used / per_second / passed);
            let row = ProcessRow {
                pid,
                ppid: stat.ppid,
                user: String::new(),
                comm: stat.comm,
                rss_bytes: stat.rss_pages * page,
                cpu_pct: cpu.map(tenths),
                threads: stat.threads,
                fds: None,
                state: stat.state,
                uptime_sec: tenths(age),
            };
            rows.push((row, cpu.unwrap_or(0.0)));
        }
        (self.last, self.looked) = (seen, uptime);
        let mut chosen = choose(rows, most);
        let names = user_names();
        for row in &mut chosen {
            row.user = owner(row.pid, &names);
            row.fds = open_files(row.pid);
        }
        chosen
    }
}

/// Half of the rows by processor time, the rest by memory; sorted by memory.
fn choose(mut rows: Vec<(ProcessRow, f64)>, most: usize) -> Vec<ProcessRow> {
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    let busy = rows.iter().take(most / 2).filter(|(_, cpu)| *cpu > 0.0).count();
    let (busy, rest) = rows.split_at_mut(busy);
    rest.sort_by_key(|(row, _)| std::cmp::Reverse(row.rss_bytes));
    let both = busy.iter().chain(rest.iter()).take(most);
    let mut chosen: Vec<_> = both.map(|(row, _)| row.clone()).collect();
    chosen.sort_by_key(|row| std::cmp::Reverse(row.rss_bytes));
    chosen
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        Self::parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name stands in parentheses and may hold anything, parentheses and spaces among it.
    fn parse(pid: i32, text: &str) -> Option<Self> {
        let (_, rest) = text.split_once('(')?;
        let (comm, rest) = rest.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |position: usize| fields.get(position)?.parse::<u64>().ok();
        Some(Self {
            pid,
            ppid: fields.get(1)?.parse().ok()?,
            comm: comm.to_owned(),
            state: (*fields.first()?).to_owned(),
            ticks: number(11)? + number(12)?,
            threads: u32::try_from(number(17)?).unwrap_or(u32::MAX),
            began: number(19)?,
            rss_pages: number(21)?,
        })
        .filter(|stat| stat.pid > 0)
    }
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn uptime() -> f64 {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    text.split(' ').next().and_then(|seconds| seconds.parse().ok()).unwrap_or_default()
}

/// Bytes of a page of memory, which the kernel tells every program in its auxiliary vector.
fn page_size() -> u64 {
    const PAGE_SIZE: u64 = 6;
    let vector = fs::read("/proc/self/auxv").unwrap_or_default();
    let words: Vec<u64> = vector
        .chunks_exact(8)
        .map(|bytes| bytes.try_into().map(u64::from_ne_bytes).unwrap_or_default())
        .collect();
    let entry = words.chunks_exact(2).find(|entry| entry.first() == Some(&PAGE_SIZE));
    entry.and_then(|entry| entry.last()).copied().filter(|size| *size > 0).unwrap_or(4096)
}

fn user_names() -> HashMap<u32, String> {
    let text = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let account = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        Some((fields.nth(1)?.parse().ok()?, name))
    };
    text.lines().filter_map(account).collect()
}

fn owner(pid: i32, names: &HashMap<u32, String>) -> String {
    use std::os::unix::fs::MetadataExt;
    match fs::metadata(format!("/proc/{pid}")) {
        Ok(data) => names.get(&data.uid()).cloned().unwrap_or_else(|| data.uid().to_string()),
        Err(_) => String::new(),
    }
}

fn open_files(pid: i32) -> Option<u32> {
    let entries = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")).ok()?;
    u32::try_from(entries.count()).ok()
}

fn tenths(figure: f64) -> f64 {
    (figure * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let text = "42 (a) b (c)) S 1 42 42 0 -1 4194304 100 0 0 0 7 5 0 0 20 0 3 0 1234 1000000 250 184467";
        let stat = Stat::parse(42, text).unwrap();
        assert_eq!((stat.comm.as_str(), stat.state.as_str(), stat.ppid), ("a) b (c)", "S", 1));
        assert_eq!((stat.ticks, stat.threads, stat.began, stat.rss_pages), (12, 3, 1234, 250));
        assert!(Stat::parse(1, "").is_none() && Stat::parse(1, "1 (x) S").is_none());
    }

    #[test]
    fn this_process_is_among_those_of_this_machine() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut processes = Processes::default();
        let first = processes.look(MOST);
        let found = first.iter().find(|row| row.pid == own).expect("this process");
        assert!(found.cpu_pct.is_none() && found.rss_bytes > 0 && found.threads > 0);
        assert!(found.fds.is_some() && !found.user.is_empty());
        // Work until the kernel has counted some: ticks are coarse.
        let mut work = 0_u64;
        loop {
            for _ in 0..10_000_000 {
                work = std::hint::black_box(work.wrapping_mul(31).wrapping_add(7));
            }
            let row = processes.look(MOST).into_iter().find(|row| row.pid == own);
            if row.and_then(|row| row.cpu_pct).is_some_and(|cpu| cpu > 0.0) {
                break;
            }
        }
    }

    #[test]
    fn the_busy_and_the_large_are_both_shown() {
        let row = |pid: i32, rss_bytes: u64| ProcessRow {
            pid,
            ppid: 1,
            user: String::new(),
            comm: String::new(),
            rss_bytes,
            cpu_pct: None,
            threads: 1,
            fds: None,
            state: "S".to_owned(),
            uptime_sec: 0.0,
        };
        let rows = vec![(row(1, 10), 0.0), (row(2, 1), 90.0), (row(3, 30), 0.0), (row(4, 20), 0.0)];
        let chosen: Vec<_> = choose(rows, 2).into_iter().map(|row| row.pid).collect();
        assert_eq!(chosen, [3, 2]);
    }
}
