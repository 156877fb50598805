//! The process tree below a keeper, read from `/proc`, and how to end it completely.
//!
//! A keeper is a child subreaper: whatever its command starts, however often it forks and detaches, stays below it.
//! So "everything the command started" is exactly the set of the keeper's descendants.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

/// A process that cannot be confused with a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ProcessKey {
    /// Process id.
    pub(crate) pid: i32,
    /// Start time in clock ticks since boot.
    pub(crate) started: u64,
}

struct Stat {
    zombie: bool,
    parent: i32,
    started: u64,
}

/// How long ending a tree may take before the rest is left to the kernel (a process in uninterruptible sleep).
const KILL_DEADLINE: Duration = Duration::from_secs(5);
/// The same while the command lives on, which may start new processes as fast as they are killed.
const PARTIAL_KILL_DEADLINE: Duration = Duration::from_secs(1);

/// The living descendants of `root`. The subtree of a process in `spare` is left out, but for `through`, which is left
/// out itself while its children count.
pub(crate) fn descendants(
    root: i32,
    spare: &[ProcessKey],
    through: Option<i32>,
) -> Vec<ProcessKey> {
    let mut found = Vec::new();
    let mut waiting = vec![root];
    let mut seen = HashSet::from([root]);
    loop {
        while let Some(pid) = waiting.pop() {
            for child in children(pid) {
                if !seen.insert(child) {
                    continue;
                }
                let Some(stat) = stat(child) else { continue };
                let key = ProcessKey { pid: child, started: stat.started };
                if Some(child) == through {
                    waiting.push(child);
                } else if !spare.contains(&key) {
                    waiting.push(child);
                    if !stat.zombie {
                        found.push(key);
                    }
                }
            }
        }
        // Who lost its parent while we looked has been adopted by the root meanwhile, which was looked at first.
        if children(root).iter().all(|child| seen.contains(child)) {
            return found;
        }
        waiting.push(root);
    }
}

/// Sends a signal to each process that is still the one meant.
pub(crate) fn signal(processes: &[ProcessKey], signal: i32) {
    for process in processes {
        if stat(process.pid).is_some_and(|stat| stat.started == process.started) {
            send(process.pid, signal);
        }
    }
}

/// Ends all descendants of `root` (but for the spared). They are frozen first, so that none can fork while the others
/// are killed; not so below a shell that lives on, which would take a frozen child for one stopped by Ctrl-Z. `reap` is
/// called between rounds to collect the caller's own dead children.
pub(crate) fn kill_all(
    root: i32,
    spare: &[ProcessKey],
    through: Option<i32>,
    mut reap: impl FnMut(),
) {
    let partial = through.is_some();
    let deadline = Instant::now() + if partial { PARTIAL_KILL_DEADLINE } else { KILL_DEADLINE };
    let mut frozen = HashSet::new();
    while !partial && Instant::now() < deadline {
        let fresh: Vec<_> = descendants(root, spare, through)
            .into_iter()
            .filter(|process| frozen.insert(*process))
            .collect();
        if fresh.is_empty() {
            break;
        }
        signal(&fresh, libc::SIGSTOP);
    }
    // The kernel's lists may miss one while others come and go: none is left when none is found twice.
    let mut none_before = false;
    while Instant::now() < deadline {
        let left = descendants(root, spare, through);
        if left.is_empty() && none_before {
            return;
        }
        none_before = left.is_empty();
        signal(&left, libc::SIGKILL);
        reap();
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Sends a signal; a process that is gone already is no mistake.
#[expect(unsafe_code, reason = "kill has no safe form that takes any pid")]
pub(crate) fn send(pid: i32, signal: i32) {
    // SAFETY: kill reads its two integers only.
    unsafe {
        libc::kill(pid, signal);
    }
}

fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for task in tasks.flatten() {
        match fs::read_to_string(task.path().join("children")) {
            Ok(text) => found
                .extend(text.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok())),
            // Kernels without this file: look at every process instead.
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound
                    && !fs::exists("/proc/self/task").is_ok_and(|_| has_children_files()) =>
            {
                return children_by_scan(pid);
            }
            Err(_) => {}
        }
    }
    found
}

fn has_children_files() -> bool {
    let pid = std::process::id();
    fs::exists(format!("/proc/{pid}/task/{pid}/children")).unwrap_or(false)
}

fn children_by_scan(parent: i32) -> Vec<i32> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| stat(*pid).is_some_and(|stat| stat.parent == parent))
        .collect()
}

fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, parentheses too: the fields begin after the last one.
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
    Some(Stat {
        zombie: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}
