//! Archives made up by the thousand from what archives are made of: hostile names, links to everywhere, kinds that
//! nobody expects, sizes that lie. Seeded, so that a failure comes again. Whatever is unpacked lies within the
//! destination and leads nowhere else; what is refused changes nothing.
//!
//! `ATOLL_FUZZ_ROUNDS` asks for a longer run, `ATOLL_FUZZ_SEED` for another one.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use atoll_archive::{Existing, Limits};

use crate::make::{
    Item, Member, Numbers, attributes, file, gzip, hard_link, item, link, member, member_link,
    rounds, tar, zip,
};
use crate::scene::{Scene, extract};

const LIMITS: Limits = Limits { entries: 60, bytes: 1 << 20, ratio: 100 };
const NAMES: [&str; 34] = [
    "a",
    "a",
    "b",
    "d",
    "d/",
    "d/a",
    "d/b",
    "d/e/f",
    "l",
    "l/a",
    "d/l",
    "d/l/a",
    "h",
    "kept/old",
    "kept",
    "exit",
    "exit/evil",
    "leak",
    "../evil",
    "d/../../evil",
    "/tmp/evil",
    "//evil",
    ".",
    "./a",
    "./",
    "..",
    "a//b",
    "d/./a",
    "A",
    "é",
    "a\\..\\evil",
    "C:\\a",
    "x y",
    "\u{202e}a",
];
const TARGETS: [&str; 20] = [
    "a",
    "d",
    "d/a",
    ".",
    "..",
    "../a",
    "../..",
    "../../secret",
    "/etc/passwd",
    "/",
    "l",
    "d/l",
    "d/l/..",
    "l/../..",
    "exit",
    "exit/../x",
    "leak",
    "kept/old",
    "./d/../d/a",
    "",
];
const KINDS: [u8; 14] = *b"0000111222555x";

fn pick<'a, T: ?Sized>(numbers: &mut Numbers, choices: &[&'a T]) -> &'a T {
    choices[numbers.next(choices.len())]
}

fn data(numbers: &mut Numbers) -> Vec<u8> {
    let length = [0, 1, 7, 511, 512, 513, 3000][numbers.next(7)];
    vec![b'x'; length]
}

fn tar_entry(numbers: &mut Numbers) -> Item {
    let (name, target) = (pick(numbers, &NAMES), pick(numbers, &TARGETS));
    let mut entry = match KINDS[numbers.next(KINDS.len())] {
        b'0' => file(name, data(numbers)),
        b'1' => hard_link(name, target),
        b'2' => link(name, target),
        b'5' => item(b'5', name),
        _ => {
            let key = pick(
                numbers,
                &[
                    "path",
                    "linkpath",
                    "size",
                    "mtime",
                    "GNU.sparse.map",
                    "GNU.sparse.size",
                    "hdrcharset",
                ],
            );
            let value = match numbers.next(3) {
                0 => pick(numbers, &NAMES),
                1 => target,
                _ => pick(
                    numbers,
                    &["0", "5", "-1", "1e9", "99999999999999999999", "0,4,8,4", "nonsense"],
                ),
            };
            attributes(&[(key, value)])
        }
    };
    if numbers.next(10) == 0 {
        entry.kind = u8::try_from(numbers.next(256)).unwrap();
    }
    if numbers.next(4) == 0 {
        entry.mode = u32::try_from(numbers.next(0o10000)).unwrap();
    }
    entry
}

fn zip_entry(numbers: &mut Numbers) -> Member {
    let (name, target) = (pick(numbers, &NAMES), pick(numbers, &TARGETS));
    let mut entry =
        if numbers.next(3) == 0 { member_link(name, target) } else { member(name, &data(numbers)) };
    match numbers.next(12) {
        0 => entry.mode = u32::try_from(numbers.next(0o200_000)).unwrap(),
        1 => entry.local_name = Some(pick(numbers, &NAMES).into()),
        2 => entry.size = entry.size.wrapping_add(u32::try_from(numbers.next(3)).unwrap()),
        3 => entry.method = [0, 8, 12, 99][numbers.next(4)],
        4 => entry.flags ^= 1 << numbers.next(16),
        5 => entry.host = u8::try_from(numbers.next(256)).unwrap(),
        6 => entry.offset = Some(u32::try_from(numbers.next(200)).unwrap()),
        _ => {}
    }
    entry
}

fn archive(numbers: &mut Numbers) -> Vec<u8> {
    let count = 1 + numbers.next(8);
    let mut bytes = match numbers.next(3) {
        0 => zip(&(0..count).map(|_| zip_entry(numbers)).collect::<Vec<_>>()),
        1 => gzip(&tar(&(0..count).map(|_| tar_entry(numbers)).collect::<Vec<_>>())),
        _ => tar(&(0..count).map(|_| tar_entry(numbers)).collect::<Vec<_>>()),
    };
    if numbers.next(4) == 0 {
        let at = numbers.next(bytes.len());
        bytes[at] ^= 1 << numbers.next(8);
    }
    bytes
}

/// The scene's own links lead outside, to see whether anything is written through them. A link of an archive may lead
/// to one of them: that is a name in the destination like any other.
fn remove_temptations(root: &Path) {
    for path in ["exit", "leak"].map(|name| root.join(name)) {
        if fs::read_link(&path).is_ok_and(|target| target.starts_with("../..")) {
            fs::remove_file(path).unwrap();
        }
    }
}

/// Everything below is what may be unpacked, and every link in it ends within `root` or nowhere.
fn check_tree(root: &Path, directory: &Path, round: usize) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let (kind, shown) = (metadata.file_type(), path.display());
        assert!(!kind.is_fifo() && !kind.is_socket(), "round {round}: {shown}");
        assert!(!kind.is_block_device() && !kind.is_char_device(), "round {round}: {shown}");
        if kind.is_symlink() {
            if let Ok(end) = fs::canonicalize(&path) {
                assert!(end.starts_with(root), "round {round}: {shown} leads to {}", end.display());
            }
        } else {
            assert_eq!(metadata.mode() & 0o7000, 0, "round {round}: {shown}");
        }
        if kind.is_dir() {
            check_tree(root, &path, round);
        }
    }
}

#[test]
fn no_archive_reaches_beyond_its_destination() {
    let seed = std::env::var("ATOLL_FUZZ_SEED").ok().and_then(|text| text.parse().ok());
    let mut numbers = Numbers(seed.unwrap_or(7));
    let (count, mut accepted) = (rounds(6000), 0);
    let mut scene = Scene::quick();
    let outside = |scene: &Scene| {
        let mut all = scene.snapshot();
        all.retain(|path, _| !path.starts_with("work/here"));
        all
    };
    let mut around = outside(&scene);
    for round in 0..count {
        let archive = archive(&mut numbers);
        let existing = if numbers.next(2) == 0 { Existing::Keep } else { Existing::Replace };
        let before = scene.snapshot();
        match extract(&archive, &scene.here(), existing, LIMITS) {
            Ok(extracted) => {
                accepted += 1;
                assert!(extracted.entries <= LIMITS.entries, "round {round}");
                assert_eq!(outside(&scene), around, "round {round}");
                let root = fs::canonicalize(scene.here()).unwrap();
                remove_temptations(&root);
                check_tree(&root, &root, round);
                scene = Scene::quick();
                around = outside(&scene);
            }
            Err(error) => assert_eq!(scene.snapshot(), before, "round {round}: {error}"),
        }
    }
    assert!(accepted > count / 50, "{accepted} of {count} were good: nothing is tested");
    eprintln!("fuzzed archives: {count} rounds, {accepted} unpacked");
}
