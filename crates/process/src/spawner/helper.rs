//! The spawner: a small single-threaded process that keeps a few keepers waiting for commands.
//!
//! Forking from here is cheap (little memory to map) and safe (no threads), and it happens ahead of need: requests go
//! straight to a waiting keeper, one of which the kernel wakes. The spawner only makes more when few wait. It is a
//! subreaper too: should a keeper be killed, its orphans land here and are ended.

#![expect(unsafe_code, reason = "fork, prctl and shared memory have no safe interface")]

use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};

use super::keeper;
use super::pool::{Place, Pool};
use super::signals::{self, SignalSource};
use super::tree;
use crate::cgroup::Cgroups;

/// Serves until the server is gone and everything it started has ended.
pub(super) fn serve(socket: &OwnedFd, groups: &Cgroups) {
    // SAFETY: prctl and setsid with constant arguments.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_NAME, c"atoll-spawner".as_ptr());
    }
    signals::prepare();
    let (Ok(exits), Ok(pool)) = (SignalSource::child_exits(), Pool::new()) else { return };
    groups.sweep();
    let mut keepers = HashMap::new();
    let mut free = Pool::places();
    loop {
        while pool.wants_more()
            && let Some(place) = free.pop()
        {
            pool.made(place);
            // SAFETY: this process is single-threaded.
            match unsafe { libc::fork() } {
                0 => {
                    drop(exits);
                    keeper::run(socket, &pool, place, groups);
                    // SAFETY: ends the keeper without running the spawner's own clean-up.
                    unsafe { libc::_exit(0) }
                }
                pid if pid > 0 => {
                    keepers.insert(pid, place);
                }
                // Too many processes: those that are there must do.
                _ => {
                    pool.lost(place);
                    free.push(place);
                    break;
                }
            }
        }
        if pool.closed() && keepers.is_empty() {
            return;
        }
        let ready = exits.wait_with(pool.alarm().as_raw_fd());
        if ready.other {
            pool.silence();
        }
        if ready.signal {
            exits.clear();
            bury(&mut keepers, &mut free, &pool, groups);
        }
    }
}

/// Collects dead children. Whoever is a child of this process and no keeper is an orphan of a keeper that was killed.
fn bury(keepers: &mut HashMap<i32, Place>, free: &mut Vec<Place>, pool: &Pool, groups: &Cgroups) {
    let mut killed = Vec::new();
    loop {
        let mut status = 0;
        // SAFETY: waitpid writes the status into the integer it is given.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        if pid <= 0 {
            break;
        }
        if let Some(place) = keepers.remove(&pid) {
            pool.lost(place);
            free.push(place);
            if libc::WIFSIGNALED(status) {
                killed.push(place);
            }
        }
    }
    if !killed.is_empty() {
        // SAFETY: getpid cannot fail.
        let own = unsafe { libc::getpid() };
        let spare: Vec<_> = tree::descendants(own, &[], None)
            .into_iter()
            .filter(|process| keepers.contains_key(&process.pid))
            .collect();
        tree::kill_all(own, &spare, None, || {});
        for place in killed {
            groups.remove(place.number());
        }
    }
}
