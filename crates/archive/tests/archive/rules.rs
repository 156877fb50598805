//! What unpacking does with what is there, with modes, and when it is broken off.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use atoll_archive::{Existing, ExtractError};

use crate::make::{Item, Member, file, gzip, item, link, member, noise, tar, zip};
use crate::scene::{ROOMY, Scene, extract, set_mode, snapshot, spool};

#[test]
fn directories_are_joined_and_other_files_stay() {
    let scene = Scene::new();
    let before = scene.snapshot();
    let archive = tar(&[item(b'5', "./"), file("kept/new", "new"), file("fresh/a/b", "b")]);
    let extracted = scene.extract(&archive).unwrap();
    assert_eq!((extracted.entries, extracted.bytes), (3, 4));
    let mut after = scene.snapshot();
    for added in ["kept/new", "fresh", "fresh/a", "fresh/a/b"] {
        assert!(after.remove(&Path::new("work/here").join(added)).is_some(), "{added}");
    }
    assert_eq!(after, before);
}

#[test]
fn a_file_that_is_there_refuses_the_archive_as_a_whole() {
    let scene = Scene::new();
    let before = scene.snapshot();
    let archive = tar(&[file("aaa", "a"), file("kept/old", "new"), file("zzz", "z")]);
    let ExtractError::Exists { path } = scene.extract(&archive).unwrap_err() else {
        panic!("another error")
    };
    assert_eq!(path, scene.here().join("kept/old"));
    assert_eq!(scene.snapshot(), before);
}

#[test]
fn a_file_that_is_there_is_replaced_when_that_is_asked_for() {
    let scene = Scene::new();
    let old = fs::File::open(scene.here().join("kept/old")).unwrap();
    set_mode(&scene.here().join("kept/old"), 0o400);
    let archive = tar(&[file("kept/old", "new"), link("leak", "kept/old")]);
    extract(&archive, &scene.here(), Existing::Replace, ROOMY).unwrap();
    assert_eq!(fs::read(scene.here().join("kept/old")).unwrap(), b"new");
    assert_eq!(fs::read_link(scene.here().join("leak")).unwrap(), Path::new("kept/old"));
    // It is another file: whoever has the old one open keeps it.
    assert_eq!(std::io::read_to_string(old).unwrap(), "old");
    assert_eq!(fs::read(scene.root().join("secret")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(scene.root().join("work")).unwrap().count(), 1, "nothing is left");
}

#[test]
fn what_is_of_another_kind_is_never_replaced() {
    let scene = Scene::new();
    let before = scene.snapshot();
    for (entry, words) in [
        (file("kept", "x"), "a directory is"),
        (file("kept/old/below", "x"), "a file is"),
        (item(b'5', "exit"), "a link is"),
        (link("kept", "x"), "a directory is"),
    ] {
        let archive = tar(&[file("aaa", "a"), entry]);
        let error = extract(&archive, &scene.here(), Existing::Replace, ROOMY).unwrap_err();
        assert!(matches!(error, ExtractError::InTheWay { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(scene.snapshot(), before);
    }
}

#[test]
fn the_destination_is_made_only_when_all_is_well() {
    let scene = Scene::new();
    let deep = scene.here().join("x/y/z");
    let before = scene.snapshot();
    extract(&tar(&[file("../evil", "")]), &deep, Existing::Keep, ROOMY).unwrap_err();
    assert_eq!(scene.snapshot(), before);
    extract(&tar(&[]), &deep, Existing::Keep, ROOMY).unwrap();
    assert!(deep.is_dir());
    extract(&zip(&[member("a", b"a")]), &deep, Existing::Keep, ROOMY).unwrap();
    assert_eq!(snapshot(&deep).len(), 1);
}

#[test]
fn a_destination_given_as_a_link_is_where_it_leads() {
    let scene = Scene::new();
    let door = scene.root().join("door");
    symlink("work/here", &door).unwrap();
    extract(&tar(&[file("kept/new", "new")]), &door, Existing::Keep, ROOMY).unwrap();
    assert!(scene.here().join("kept/new").exists());
    let error = extract(&tar(&[]), &scene.root().join("secret"), Existing::Keep, ROOMY);
    assert!(matches!(error, Err(ExtractError::Io { .. })));
}

#[test]
fn modes_are_made_sane() {
    let scene = Scene::new();
    let file = |name: &str, mode| Item { mode, ..file(name, "x") };
    let directory = |name: &str, mode| Item { mode, ..item(b'5', name) };
    let archive = tar(&[
        file("setuid", 0o6755),
        file("none", 0),
        file("other", 0o7),
        directory("closed", 0),
        directory("sticky", 0o1777),
        file("closed/inside", 0o444),
    ]);
    scene.extract(&archive).unwrap();
    let unix = |name, mode| Member { mode, ..member(name, b"x") };
    let archive = zip(&[
        unix("zip/setuid", 0o106_755),
        unix("zip/typeless", 0o640),
        Member { host: 0, mode: 0, ..member("zip/dos", b"x") },
        Member { host: 0, mode: 0, dos_attributes: 0x10, ..member("zip/dos-directory", b"") },
    ]);
    scene.extract(&archive).unwrap();
    for (name, mode) in [
        ("setuid", 0o755),
        ("none", 0o600),
        ("other", 0o607),
        ("closed", 0o700),
        ("sticky", 0o777),
        ("closed/inside", 0o644),
        ("zip/setuid", 0o755),
        ("zip/typeless", 0o640),
        ("zip/dos", 0o644),
    ] {
        let metadata = fs::metadata(scene.here().join(name)).unwrap();
        assert_eq!(metadata.mode() & 0o7777, mode, "{name}");
    }
    assert!(scene.here().join("zip/dos-directory").is_dir());
}

#[test]
fn moments_of_change_are_kept_and_nonsense_is_borne() {
    let scene = Scene::new();
    let archive = tar(&[
        crate::make::attributes(&[("mtime", "1234567890.25")]),
        file("pax", "x"),
        file("header", "x"),
        crate::make::attributes(&[("mtime", "9223372036854775807")]),
        file("late", "x"),
        crate::make::attributes(&[("mtime", "-9223372036854775808")]),
        file("early", "x"),
        crate::make::attributes(&[("mtime", "soon")]),
        file("never", "x"),
    ]);
    scene.extract(&archive).unwrap();
    let seconds = |name: &str| fs::metadata(scene.here().join(name)).unwrap().mtime();
    assert_eq!(seconds("pax"), 1_234_567_890);
    assert_eq!(seconds("header"), 1_700_000_000);
    assert_eq!(seconds("never"), 1_700_000_000);
}

#[test]
fn gzip_in_several_members_is_one() {
    let scene = Scene::new();
    let archive = tar(&[file("a", "a".repeat(3000)), file("b", "b".repeat(3000))]);
    let parts: Vec<u8> = archive.chunks(1000).flat_map(gzip).collect();
    scene.extract(&parts).unwrap();
    assert_eq!(fs::read(scene.here().join("b")).unwrap(), "b".repeat(3000).as_bytes());
}

#[test]
fn being_broken_off_changes_nothing() {
    let scene = Scene::new();
    let before = scene.snapshot();
    for archive in
        [tar(&[file("a", "a")]), gzip(&tar(&[file("a", "a")])), zip(&[member("a", b"a")])]
    {
        let cancel = AtomicBool::new(true);
        let error = atoll_archive::extract(
            &mut spool(&archive),
            &scene.here(),
            Existing::Keep,
            ROOMY,
            &cancel,
        );
        assert!(matches!(error, Err(ExtractError::Cancelled)), "{error:?}");
        assert_eq!(scene.snapshot(), before);
    }
}

/// A file system of its own, as small as wanted. Only those who may mount can have one.
struct Mounted(PathBuf);

impl Mounted {
    fn new(path: PathBuf, arguments: &[&str]) -> Option<Self> {
        let mut mount = Command::new("mount");
        let mounted =
            mount.args(arguments).arg(&path).output().is_ok_and(|output| output.status.success());
        if !mounted {
            eprintln!("not tested: mounting is not allowed here");
        }
        mounted.then(|| Self(path))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _reported_by_the_next_test = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_leaves_what_was_there() {
    let scene = Scene::new();
    let small = scene.root().join("small");
    fs::create_dir(&small).unwrap();
    let arguments = ["-t", "tmpfs", "-o", "size=1m", "tmpfs"];
    let Some(_mounted) = Mounted::new(small.clone(), &arguments) else { return };
    fs::write(small.join("old"), "old").unwrap();
    let before = snapshot(&small);
    let noise = noise(3_000_000);
    let archive = tar(&[file("old", "new"), file("noise", &noise)]);
    let error = extract(&archive, &small, Existing::Replace, ROOMY).unwrap_err();
    let ExtractError::Io { path, source } = error else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(path, small.join("noise"));
    assert_eq!(snapshot(&small), before);
    // A mounted directory has nothing of its own beside it: what is unpacked waits within.
    extract(&tar(&[file("old", "new")]), &small, Existing::Replace, ROOMY).unwrap();
    assert_eq!(snapshot(&small).len(), 1);
}

#[test]
fn a_file_system_within_the_destination_is_named() {
    let scene = Scene::new();
    let inner = scene.here().join("kept/mounted");
    fs::create_dir(&inner).unwrap();
    let arguments = ["-t", "tmpfs", "-o", "size=1m", "tmpfs"];
    let Some(_mounted) = Mounted::new(inner, &arguments) else { return };
    let before = scene.snapshot();
    let archive = tar(&[file("aaa", "a"), file("kept/mounted/file", "x")]);
    let error = extract(&archive, &scene.here(), Existing::Replace, ROOMY).unwrap_err();
    assert!(error.to_string().contains("mounted"), "{error}");
    assert_eq!(scene.snapshot(), before);
}

#[test]
fn a_move_that_fails_half_way_is_taken_back() {
    let scene = Scene::new();
    let busy = scene.here().join("busy");
    fs::write(&busy, "busy").unwrap();
    // A file that is mounted upon cannot be replaced, whoever tries, and does not show it.
    let source = scene.root().join("secret");
    let Some(_mounted) = Mounted::new(busy, &["--bind", source.to_str().unwrap()]) else { return };
    let before = scene.snapshot();
    let mut entries: Vec<_> = (0..100).map(|at| file(format!("kept/{at}"), "x")).collect();
    entries.push(file("kept/old", "new"));
    entries.push(file("busy", "new"));
    entries.extend((0..100).map(|at| file(at.to_string(), "x")));
    let error = extract(&tar(&entries), &scene.here(), Existing::Replace, ROOMY).unwrap_err();
    assert!(matches!(error, ExtractError::Io { .. }), "{error}");
    assert_eq!(scene.snapshot(), before);
}
