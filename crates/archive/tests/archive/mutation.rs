//! Sound archives with a few bytes changed at random: whatever comes of it, it comes to an end, without a panic, and
//! lands in the destination or nowhere.

use std::fs;

use atoll_archive::{Existing, Limits};

use crate::make::{
    Numbers, attributes, file, gzip, hard_link, item, link, member, member_link, rounds, tar, zip,
};
use crate::scene::{Scene, extract};

/// Corrects the checksum of every header, so that a change behind it is not merely noticed there.
fn mend_tar(bytes: &mut [u8]) {
    for block in bytes.chunks_exact_mut(512) {
        if &block[257..262] == b"ustar" {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
}

fn survive(archive: &[u8], ordinary: usize, mend: impl Fn(Vec<u8>) -> Vec<u8>) {
    const LIMITS: Limits = Limits { entries: 100, bytes: 1 << 20, ratio: 100 };
    let scene = Scene::quick();
    let mut numbers = Numbers(archive.len() as u64);
    let around = |scene: &Scene| {
        let mut all = scene.snapshot();
        all.retain(|path, _| !path.starts_with("work/here"));
        all
    };
    let before = around(&scene);
    let count = rounds(ordinary);
    for round in 0..count {
        let mut changed = archive.to_vec();
        for _ in 0..=numbers.next(4) {
            let at = numbers.next(changed.len());
            match numbers.next(8) {
                0 => changed[at] = 0xff,
                1 => changed[at] = 0,
                2 => changed[at] = b'/',
                3 => changed[at] = b'.',
                4 => {
                    let from = numbers.next(changed.len());
                    let length = numbers.next(64).min(changed.len() - at.max(from));
                    changed.copy_within(from..from + length, at);
                }
                5 => changed.truncate(at.max(1)),
                _ => changed[at] ^= 1 << numbers.next(8),
            }
        }
        let changed = mend(changed);
        let inside = scene.snapshot();
        match extract(&changed, &scene.here(), Existing::Replace, LIMITS) {
            Ok(_) => {
                fs::remove_dir_all(scene.here()).unwrap();
                fs::create_dir(scene.here()).unwrap();
                fs::write(scene.here().join("old"), "old").unwrap();
            }
            Err(error) => assert_eq!(scene.snapshot(), inside, "round {round}: {error}"),
        }
        assert_eq!(around(&scene), before, "round {round}");
    }
    eprintln!("fuzzed damaged archives: {count} rounds");
}

fn entries() -> Vec<u8> {
    tar(&[
        item(b'5', "d/"),
        file("d/file", "content"),
        attributes(&[("path", "d/other"), ("mtime", "12.5")]),
        file("short", "x".repeat(600)),
        link("d/l", "../d/file"),
        link("m", "d/../d/file"),
        hard_link("h", "d/file"),
        attributes(&[("GNU.sparse.size", "100"), ("GNU.sparse.map", "0,4")]),
        file("sparse", "data"),
    ])
}

#[test]
fn changed_tars_do_no_harm() {
    survive(&entries(), 2000, |changed| changed);
    survive(&entries(), 2000, |mut changed| {
        mend_tar(&mut changed);
        changed
    });
}

#[test]
fn changed_gzips_do_no_harm() {
    survive(&gzip(&entries()), 2000, |changed| changed);
    survive(&entries(), 1000, |mut changed| {
        mend_tar(&mut changed);
        gzip(&changed)
    });
}

#[test]
fn changed_zips_do_no_harm() {
    let archive = zip(&[
        member("d/", b""),
        member("d/file", b"content"),
        member("d/other", &[7; 2000]),
        member_link("d/l", "../d/file"),
        member_link("m", "d/../d/file"),
    ]);
    survive(&archive, 4000, |changed| changed);
}
