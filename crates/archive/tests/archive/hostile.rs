//! Archives made to do harm. Each must be refused, for the right reason, and change nothing anywhere.

use std::fs;
use std::io::Write;

use atoll_archive::{Existing, ExtractError, Limit, Limits};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::make::{
    Item, Member, attributes, deflate, end, file, gzip, hard_link, item, link, member, member_link,
    tar, zip,
};
use crate::scene::{ROOMY, Scene, extract};

fn is_unsafe(error: &ExtractError) -> bool {
    matches!(error, ExtractError::Unsafe { .. })
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let long = "a/".repeat(1500) + &"x".repeat(1200);
    let names = [
        ("../evil", "`..`"),
        ("a/../../evil", "`..`"),
        ("a/b/..", "`..`"),
        ("..", "`..`"),
        ("/tmp/evil", "absolute"),
        ("//evil", "absolute"),
        ("..\\evil", "`..`"),
        ("a\\..\\..\\evil", "`..`"),
        ("\\evil", "absolute"),
        ("C:\\evil", "drive letter"),
        ("c:/evil", "drive letter"),
        ("", "no name"),
        (&"x".repeat(256), "255 bytes"),
        (&long, "4096 bytes"),
        (&"d/".repeat(200), "too many directories"),
    ];
    for (name, reason) in names {
        let scene = Scene::new();
        let entries = [file("good", "good"), attributes(&[("path", name)]), file("short", "evil")];
        if !name.is_empty() {
            assert!(is_unsafe(&scene.refuse_saying(&tar(&entries), &[reason])), "{name}");
            assert!(is_unsafe(&scene.refuse_saying(&gzip(&tar(&entries)), &[reason])), "{name}");
        }
        let members = [member("good", b"good"), member(name, b"evil")];
        assert!(is_unsafe(&scene.refuse_saying(&zip(&members), &[reason])), "{name}");
    }
}

#[test]
fn names_with_nul_bytes_are_refused() {
    let scene = Scene::new();
    let entries = [attributes(&[("path", "a\0/../evil")]), file("short", "evil")];
    scene.refuse_saying(&tar(&entries), &["NUL"]);
    scene.refuse_saying(&zip(&[member("a\0b", b"evil")]), &["NUL"]);
}

#[test]
fn names_from_dos_are_parted_before_they_are_judged() {
    let scene = Scene::new();
    let evil = Member { host: 0, mode: 0, ..member("a\\..\\..\\evil", b"evil") };
    scene.refuse_saying(&zip(&[evil]), &["`..`"]);
    let good = Member { host: 0, mode: 0, ..member("dir\\good", b"good") };
    scene.extract(&zip(&[good])).unwrap();
    assert_eq!(fs::read(scene.here().join("dir/good")).unwrap(), b"good");
}

#[test]
fn long_names_in_gnus_way_are_judged_too() {
    let scene = Scene::new();
    let long = Item { data: b"../evil\0".to_vec(), ..item(b'L', "././@LongLink") };
    scene.refuse_saying(&tar(&[long.clone(), file("x", "evil")]), &["'../evil'", "`..`"]);
    let long = Item { data: b"/etc/passwd\0".to_vec(), ..item(b'K', "././@LongLink") };
    scene.refuse_saying(&tar(&[long, link("x", "inside")]), &["'x'", "absolute"]);
}

#[test]
fn links_that_lead_outside_are_refused() {
    for target in ["/etc", "..", "../x", "a/../../x", "./../x", "d/../../../secret"] {
        let scene = Scene::new();
        let error = scene.refuse_saying(&tar(&[link("l", target)]), &["'l'"]);
        assert!(is_unsafe(&error), "{error}");
        let error = scene.refuse_saying(&zip(&[member_link("l", target)]), &["'l'"]);
        assert!(is_unsafe(&error), "{error}");
    }
    let scene = Scene::new();
    scene.refuse_saying(&tar(&[link("d/l", "../..")]), &["outside"]);
    scene.refuse_saying(&tar(&[link("l", "")]), &["nothing"]);
}

#[test]
fn links_that_lead_outside_through_others_are_refused() {
    let scene = Scene::new();
    // Each by itself looks harmless: `up` leads to the destination, and its parent lies outside.
    let entries = [link("a/b/up", "../.."), link("out", "a/b/up/..")];
    scene.refuse_saying(&tar(&entries), &["'out'", "outside"]);
    // In either order, since it is the finished tree that counts.
    let entries = [link("out", "a/b/up/.."), link("a/b/up", "../..")];
    scene.refuse_saying(&tar(&entries), &["'out'", "outside"]);
    let members = [member_link("a/b/up", "../.."), member_link("out", "a/b/up/../x")];
    scene.refuse_saying(&zip(&members), &["'out'", "outside"]);
    // Through what is not in the archive nobody can tell.
    scene.refuse_saying(&tar(&[link("out", "exit/../x")]), &["not in the archive"]);
    scene.refuse_saying(&tar(&[link("out", "out/..")]), &["circles"]);
}

#[test]
fn harmless_links_are_kept() {
    let scene = Scene::new();
    let entries = [
        link("a/b/up", "../.."),
        link("a/b/file", "../../x"),
        link("self", "."),
        link("round", "a/b/../../x"),
        link("loop", "loop"),
        link("far", "a/b/up/a/b/up/x"),
        file("x", "x"),
    ];
    scene.extract(&tar(&entries)).unwrap();
    for name in ["a/b/file", "round", "far", "self/x", "a/b/up/x"] {
        assert_eq!(fs::read(scene.here().join(name)).unwrap(), b"x", "{name}");
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    for target in [".", "sub", "../here"] {
        let scene = Scene::new();
        let entries = [item(b'5', "d"), link("d/l", target), file("d/l/evil", "evil")];
        scene.refuse_saying(&tar(&entries), &["'d/l/evil'", "which is a link"]);
        let members = [member_link("d/l", target), member("d/l/evil", b"evil")];
        scene.refuse_saying(&zip(&members), &["'d/l/evil'", "which is a link"]);
    }
    let scene = Scene::new();
    scene.refuse_saying(&tar(&[file("f", ""), file("f/evil", "")]), &["which is a file"]);
    // Nor through one that is there already, be it replaced or kept.
    for name in ["exit/evil", "exit/file"] {
        let before = scene.snapshot();
        for existing in [Existing::Keep, Existing::Replace] {
            let archive = tar(&[file(name, "evil")]);
            let error = extract(&archive, &scene.here(), existing, ROOMY).unwrap_err();
            assert!(error.to_string().contains("exit"), "{error}");
            assert_eq!(scene.snapshot(), before);
        }
    }
}

#[test]
fn a_link_that_is_there_is_replaced_and_not_followed() {
    let scene = Scene::new();
    let archive = tar(&[file("leak", "mine")]);
    let error = extract(&archive, &scene.here(), Existing::Keep, ROOMY).unwrap_err();
    assert!(matches!(error, ExtractError::Exists { .. }), "{error}");
    extract(&archive, &scene.here(), Existing::Replace, ROOMY).unwrap();
    assert_eq!(fs::read(scene.root().join("secret")).unwrap(), b"secret");
    assert_eq!(fs::read(scene.here().join("leak")).unwrap(), b"mine");
    assert!(!fs::symlink_metadata(scene.here().join("leak")).unwrap().is_symlink());
}

#[test]
fn hard_links_reach_only_files_of_the_archive() {
    let scene = Scene::new();
    for target in ["/etc/passwd", "../../secret", "kept/old", "leak", "l", "d", "h", "none"] {
        let entries = [
            item(b'5', "d"),
            file("real", "real"),
            link("l", "real"),
            hard_link("h", target),
            file("h2", "after"),
        ];
        let error = scene.refuse_saying(&tar(&entries), &["'h'"]);
        assert!(is_unsafe(&error), "{target}: {error}");
    }
    scene.refuse_saying(&tar(&[link("l", "d"), hard_link("h", "l/x")]), &["'h'"]);
    scene.extract(&tar(&[file("real", "real"), hard_link("d/h", "./real")])).unwrap();
    assert_eq!(fs::read(scene.here().join("d/h")).unwrap(), b"real");
}

#[test]
fn two_entries_of_one_name_are_refused() {
    let scene = Scene::new();
    let kinds = [file("x", "1"), link("x", "y"), item(b'5', "x"), file("./x", "2")];
    for first in &kinds {
        for second in &kinds {
            let archive = tar(&[first.clone(), second.clone()]);
            if (first.kind, second.kind) == (b'5', b'5') {
                extract(&archive, &scene.here().join("fresh"), Existing::Keep, ROOMY).unwrap();
            } else {
                let error = scene.refuse_saying(&archive, &["'x'", "another entry"]);
                assert!(is_unsafe(&error), "{error}");
            }
        }
    }
    scene.refuse_saying(&zip(&[member("x", b"1"), member("x", b"2")]), &["another entry"]);
    scene.refuse_saying(&zip(&[member("x/", b""), member("x", b"2")]), &["another entry"]);
}

#[test]
fn devices_pipes_and_the_unknown_are_refused() {
    let scene = Scene::new();
    for (kind, word) in [
        (b'3', "device"),
        (b'4', "device"),
        (b'6', "pipe"),
        (b'M', "volume"),
        (b'D', "not known"),
        (b'!', "not known"),
    ] {
        let error = scene.refuse_saying(&tar(&[file("a", "a"), item(kind, "x")]), &["'x'", word]);
        assert!(is_unsafe(&error), "{error}");
    }
    for (mode, word) in [
        (0o020_644, "device"),
        (0o060_644, "device"),
        (0o010_644, "pipe"),
        (0o140_644, "not known"),
    ] {
        let error =
            scene.refuse_saying(&zip(&[Member { mode, ..member("x", b"") }]), &["'x'", word]);
        assert!(is_unsafe(&error), "{error}");
    }
}

#[test]
fn bombs_are_refused_before_they_have_grown() {
    let scene = Scene::new();
    let zeros = vec![0; 24 << 20];
    let bombs = [gzip(&tar(&[file("bomb", &zeros)])), zip(&[member("bomb", &zeros)])];
    for bomb in bombs {
        assert!(bomb.len() * 900 < zeros.len(), "{}", bomb.len());
        let error = scene.refuse(&bomb, ROOMY);
        assert!(
            matches!(error, ExtractError::TooLarge { limit: Limit::Ratio, allowed: 200 }),
            "{error}"
        );
        let limits = Limits { bytes: 24 << 20, ratio: 10_000, ..ROOMY };
        extract(&bomb, &scene.here().join("allowed"), Existing::Replace, limits).unwrap();
        fs::remove_dir_all(scene.here().join("allowed")).unwrap();
        let limits = Limits { bytes: (24 << 20) - 1, ..limits };
        let error = scene.refuse(&bomb, limits);
        assert!(matches!(error, ExtractError::TooLarge { limit: Limit::Bytes, .. }), "{error}");
    }
}

#[test]
fn zeros_after_the_end_are_a_bomb_too() {
    let scene = Scene::new();
    let mut archive = tar(&[file("a", "a")]);
    archive.resize(64 << 20, 0);
    let limits = Limits { entries: 10, ..ROOMY };
    let error = scene.refuse(&gzip(&archive), limits);
    assert!(matches!(error, ExtractError::TooLarge { limit: Limit::Ratio, .. }), "{error}");
}

#[test]
fn a_zip_that_lies_about_its_sizes_is_refused() {
    let scene = Scene::new();
    let data = vec![7; 100_000];
    for size in [0, 1, 99_999, 100_001, u32::MAX - 1] {
        let lying = Member { size, ..member("x", &data) };
        let error = scene.refuse_saying(&zip(&[lying]), &["'x'", "its size says"]);
        assert!(matches!(error, ExtractError::Broken { .. }), "{error}");
    }
    let wrong = Member { crc: 1, ..member("x", &data) };
    scene.refuse_saying(&zip(&[wrong]), &["'x'", "checksum"]);
    let mut trailing = member("x", &data);
    trailing.data.push(0);
    scene.refuse_saying(&zip(&[trailing]), &["'x'", "more follows"]);
    let stored = Member { method: 0, data: data[1..].to_vec(), ..member("x", &data) };
    scene.refuse_saying(&zip(&[stored]), &["'x'", "shorter"]);
    let renamed = Member { local_name: Some(b"y".to_vec()), ..member("x", &data) };
    scene.refuse_saying(&zip(&[renamed]), &["'x'", "another name"]);
}

#[test]
fn entries_that_share_their_data_are_refused() {
    let scene = Scene::new();
    let data = vec![0; 1 << 20];
    let mut members = vec![member("x", &data)];
    members.extend((0..100).map(|_| Member { offset: Some(0), ..member("x", &data) }));
    let error = scene.refuse_saying(&zip(&members), &["share data"]);
    assert!(matches!(error, ExtractError::Broken { .. }), "{error}");
}

#[test]
fn a_million_entries_are_too_many() {
    let scene = Scene::new();
    let headers = item(b'5', "d").bytes().repeat(1000);
    let mut archive = GzEncoder::new(Vec::new(), Compression::fast());
    (0..1000).for_each(|_| archive.write_all(&headers).unwrap());
    let error = scene.refuse(&archive.finish().unwrap(), ROOMY);
    assert!(
        matches!(error, ExtractError::TooLarge { limit: Limit::Entries, allowed: 20_000 }),
        "{error}"
    );

    // A table that is longer than the end record says, and an end record that says more than allowed.
    let members = vec![member("d/", b""); 60_000];
    let mut archive = zip(&members);
    let error = scene.refuse(&archive, ROOMY);
    assert!(matches!(error, ExtractError::TooLarge { limit: Limit::Entries, .. }), "{error}");
    let end_at = archive.len() - 22;
    archive[end_at + 8..end_at + 12].copy_from_slice(&[1, 0, 1, 0]);
    let error = scene.refuse(&archive, ROOMY);
    assert!(matches!(error, ExtractError::TooLarge { limit: Limit::Entries, .. }), "{error}");
}

#[test]
fn directories_that_only_paths_speak_of_count() {
    let scene = Scene::new();
    let names: Vec<_> = (0..30).map(|at| format!("{at}/{}file", "d/".repeat(9))).collect();
    let entries: Vec<_> = names.iter().map(|name| file(name, "")).collect();
    let error = scene.refuse(&tar(&entries), Limits { entries: 300, ..ROOMY });
    assert!(matches!(error, ExtractError::TooLarge { limit: Limit::Entries, .. }), "{error}");
    let limits = Limits { entries: 330, ..ROOMY };
    let extracted = extract(&tar(&entries), &scene.here(), Existing::Keep, limits).unwrap();
    assert_eq!(extracted.entries, 30);
}

#[test]
fn what_is_encrypted_or_compressed_otherwise_is_named() {
    let scene = Scene::new();
    let secret = Member { flags: 1, ..member("x", b"secret") };
    let error = scene.refuse_saying(&zip(&[secret]), &["'x'", "encrypted"]);
    assert!(matches!(error, ExtractError::Format { .. }), "{error}");
    for (method, name) in [(12, "bzip2"), (93, "zstd"), (14, "LZMA"), (77, "method 77")] {
        let other = Member { method, ..member("x", b"data") };
        let error = scene.refuse_saying(&zip(&[other]), &["'x'", name]);
        assert!(matches!(error, ExtractError::Format { .. }), "{error}");
    }
}

#[test]
fn what_is_no_archive_is_refused_as_such() {
    let scene = Scene::new();
    let inputs: [&[u8]; 7] = [
        b"",
        b"hello",
        b"BZh91AY&SY",
        &[b'x'; 5000],
        &gzip(b"hello"),
        &gzip(&[b'x'; 5000]),
        &gzip(b""),
    ];
    for input in inputs {
        let error = scene.refuse_saying(input, &["tar, tar.gz or zip"]);
        assert!(matches!(error, ExtractError::Format { .. }), "{error}");
    }
}

#[test]
fn names_longer_than_any_name_are_not_taken_into_memory() {
    let scene = Scene::new();
    for kind in *b"LKxg" {
        let long = Item { data: vec![b'a'; 2 << 20], ..item(kind, "long") };
        let error = scene.refuse_saying(&tar(&[long, file("x", "x")]), &["1 MiB"]);
        assert!(matches!(error, ExtractError::Broken { .. }), "{error}");
    }
}

#[test]
fn tars_that_programs_disagree_on_are_refused() {
    let scene = Scene::new();
    let two = [tar(&[file("a", "a")]), tar(&[file("b", "b")])].concat();
    scene.refuse_saying(&two, &["more data follows its end"]);
    let joined = [gzip(&tar(&[file("a", "a")])), gzip(&tar(&[file("b", "b")]))].concat();
    scene.refuse_saying(&joined, &["more data follows its end"]);
    let all = Item { kind: b'g', ..attributes(&[("path", "same")]) };
    scene.refuse_saying(&tar(&[all, file("a", "a")]), &["one name or size"]);
    let full = Item { data: b"content".to_vec(), ..item(b'0', "directory/") };
    scene.refuse_saying(&tar(&[full]), &["directory with content"]);
    let orphan = attributes(&[("path", "nothing")]);
    scene.refuse_saying(&tar(&[file("a", "a"), orphan]), &["where an entry should begin"]);
}

#[test]
fn a_table_of_contents_that_lies_is_refused() {
    let scene = Scene::new();
    let good = zip(&[member("x", b"content"), member("y", b"content")]);
    let table = good.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let length = good.len() - 22 - table;
    for (entries, length, start) in [
        (1, length, table),
        (3, length, table),
        (2, length - 1, table),
        (2, length, table + 1),
        (2, length + 1, table),
        (2, 0, table),
        (2, length, 0xffff_fffe),
    ] {
        let archive =
            [&good[..table + length.min(good.len() - 22 - table)], &end(entries, length, start)]
                .concat();
        let error = scene.refuse(&archive, ROOMY);
        assert!(matches!(error, ExtractError::Broken { .. }), "{error}");
    }
    let misplaced = Member { offset: Some(3), ..member("z", b"content") };
    scene.refuse_saying(&zip(&[member("x", b"content"), misplaced]), &["'z'", "not where"]);
    let beyond = Member { offset: Some(0x7fff_ffff), data: deflate(b""), ..member("z", b"") };
    scene.refuse_saying(&zip(&[member("x", b"content"), beyond]), &["'z'", "not where"]);
}
