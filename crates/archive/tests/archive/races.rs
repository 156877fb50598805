//! Somebody who changes the destination while an archive is unpacked into it: what was a directory when it was looked at
//! is a link a moment later. Nothing may be written through it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use atoll_archive::Existing;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::make::{file, gzip, item, member, tar, zip};
use crate::scene::{ROOMY, Scene, extract, snapshot};

/// How often the two change places in all.
const SWAPS: u64 = 10_000;

/// Lets two names change places, again and again, until told to stop and often enough.
fn swap(one: &Path, other: &Path, stop: &AtomicBool, swaps: &AtomicU64) {
    while !stop.load(Ordering::Relaxed) {
        match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
            Ok(()) => drop(swaps.fetch_add(1, Ordering::Relaxed)),
            // One of them is away at this moment: it is being replaced or taken back.
            Err(_) => thread::yield_now(),
        }
    }
}

/// Unpacks while `inside` changes places with a link to a directory outside; nothing may arrive there.
fn unpack_while_swapping(inside: &str, archives: &[Vec<u8>]) {
    let scene = Scene::quick();
    let (outside, spare) = (scene.root().join("outside"), scene.root().join("spare"));
    let victim = scene.here().join(inside);
    fs::create_dir_all(&victim).unwrap();
    fs::write(victim.join("old"), "old").unwrap();
    symlink(&outside, &spare).unwrap();
    if renameat_with(CWD, &victim, CWD, &spare, RenameFlags::EXCHANGE).is_err() {
        eprintln!("not tested: this file system cannot let names change places");
        return;
    }
    let before = snapshot(&outside);
    let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| swap(&victim, &spare, &stop, &swaps));
        let mut unpacked = 0_u64;
        while swaps.load(Ordering::Relaxed) < SWAPS || unpacked < 20 {
            for archive in archives {
                for existing in [Existing::Replace, Existing::Keep] {
                    // Refused or not is a matter of the moment.
                    drop(extract(archive, &scene.here(), existing, ROOMY));
                    unpacked += 1;
                }
            }
            assert_eq!(snapshot(&outside), before, "after {unpacked} archives");
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(snapshot(&outside), before);
}

#[test]
fn nothing_is_written_through_a_link_that_takes_a_directorys_place() {
    let entries = [
        item(b'5', "d/"),
        file("d/evil", "evil"),
        file("d/old", "evil"),
        file("d/deep/evil", "evil"),
        file("d/file", "evil"),
    ];
    let members = [
        member("d/evil", b"evil"),
        member("d/old", b"evil"),
        member("d/deep/evil", b"evil"),
        member("d/file", b"evil"),
    ];
    unpack_while_swapping("d", &[tar(&entries), gzip(&tar(&entries)), zip(&members)]);
}

#[test]
fn nor_through_one_further_down() {
    let entries =
        [file("a/b/c/evil", "evil"), file("a/b/c/old", "evil"), file("a/b/c/file", "evil")];
    unpack_while_swapping("a/b", &[tar(&entries)]);
}
