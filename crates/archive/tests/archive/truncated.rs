//! Archives that break off.

use std::fs;

use atoll_archive::{ExtractError, Format};

use crate::make::{attributes, file, gzip, item, link, member, tar, zip};
use crate::scene::{ROOMY, Scene, pack};

fn refuse_every_cut(archive: &[u8], step: usize) {
    let scene = Scene::quick();
    for cut in (0..archive.len()).step_by(step) {
        let error = scene.refuse(&archive[..cut], ROOMY);
        assert!(
            matches!(error, ExtractError::Broken { .. } | ExtractError::Format { .. }),
            "cut at {cut}: {error}"
        );
    }
}

#[test]
fn a_tar_that_is_cut_anywhere_is_refused() {
    let entries = [
        item(b'5', "d"),
        attributes(&[("path", "d/long name")]),
        file("short", "x".repeat(700)),
        link("l", "d"),
    ];
    let whole = tar(&entries);
    // One of the two empty blocks at the end is enough.
    refuse_every_cut(&whole[..whole.len() - 1024], 7);
    refuse_every_cut(&whole[..whole.len() - 1023], whole.len() - 1024);
}

#[test]
fn a_gzip_that_is_cut_anywhere_is_refused() {
    refuse_every_cut(&gzip(&tar(&[file("a", "content"), file("b", "x".repeat(5000))])), 1);
}

#[test]
fn a_zip_that_is_cut_anywhere_is_refused() {
    refuse_every_cut(&zip(&[member("a", b"content"), member("b", &[7; 5000])]), 1);
}

#[test]
fn packed_trees_that_are_cut_are_refused() {
    let source = tempfile::tempdir().unwrap();
    let tree = source.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for at in 0..20 {
        fs::write(tree.join(at.to_string()), "content ".repeat(at * 50)).unwrap();
    }
    for format in [Format::TarGz, Format::Zip] {
        refuse_every_cut(&pack(&tree, format).0, 13);
    }
}
