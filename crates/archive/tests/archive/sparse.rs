//! Sparse files, in each of the ways they are written.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use atoll_archive::{Existing, ExtractError, Limit, Limits};

use crate::make::{Item, attributes, file, item, tar};
use crate::scene::{ROOMY, Scene, extract};

const SIZE: u64 = 64 << 20;

/// A file with little in it, and that spread.
fn plant(path: &std::path::Path) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    let file = fs::File::create(path).unwrap();
    file.set_len(SIZE).unwrap();
    for at in 0..60 {
        file.write_all_at(&[at; 4096], u64::from(at) * (1 << 20)).unwrap();
    }
    fs::read(path).unwrap()
}

#[test]
fn sparse_files_of_gnu_tar_are_read_and_stay_sparse() {
    let source = tempfile::tempdir().unwrap();
    let content = plant(&source.path().join("sparse"));
    for options in [
        &["--format=gnu"][..],
        &["--format=posix", "--sparse-version=0.0"],
        &["--format=posix", "--sparse-version=0.1"],
        &["--format=posix", "--sparse-version=1.0"],
    ] {
        let archive = source.path().join("archive");
        let status = Command::new("tar")
            .args(["-S", "-cf", archive.to_str().unwrap()])
            .args(options)
            .arg("sparse")
            .current_dir(source.path())
            .status()
            .unwrap();
        assert!(status.success());
        let bytes = fs::read(&archive).unwrap();
        let target = tempfile::tempdir().unwrap();
        let limits = Limits { ratio: 10_000, ..ROOMY };
        let extracted = extract(&bytes, target.path(), Existing::Keep, limits).unwrap();
        assert_eq!(extracted.bytes, SIZE, "it counts whole");
        let path = target.path().join("sparse");
        assert!(fs::read(&path).unwrap() == content, "{options:?}");
        let original = fs::metadata(source.path().join("sparse")).unwrap();
        if original.blocks() * 512 < SIZE / 4 {
            assert!(fs::metadata(&path).unwrap().blocks() * 512 < SIZE / 4, "{options:?}");
        }
    }
}

fn sparse(lines: &[(&str, &str)], data: &[u8]) -> Vec<u8> {
    tar(&[attributes(lines), file("GNUSparseFile.0/x", data)])
}

#[test]
fn maps_that_do_not_fit_are_refused() {
    let scene = Scene::new();
    let size = ("GNU.sparse.size", "100");
    for lines in [
        &[size, ("GNU.sparse.map", "0,3")][..],
        &[size, ("GNU.sparse.map", "0,5")],
        &[size, ("GNU.sparse.map", "98,4")],
        &[size, ("GNU.sparse.map", "2,2,1,2")],
        &[size, ("GNU.sparse.map", "0,2,1,2")],
        &[size, ("GNU.sparse.map", "0")],
        &[size, ("GNU.sparse.map", "0,-1")],
        &[size, ("GNU.sparse.map", "18446744073709551615,4")],
        &[size, ("GNU.sparse.numbytes", "4")],
        &[("GNU.sparse.map", "0,4")],
        &[size, ("GNU.sparse.major", "1")],
    ] {
        let error = scene.refuse(&sparse(lines, b"data"), ROOMY);
        assert!(matches!(error, ExtractError::Broken { .. }), "{lines:?}: {error}");
    }
    for map in ["1\n0\n5\n", "2\n0\n4\n", "9999999999\n", "1\nx\n4\n", "", "111111111111111111111"]
    {
        let mut data = map.as_bytes().to_vec();
        data.resize(512, 0);
        data.extend(b"data");
        let lines = [size, ("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0")];
        let error = scene.refuse(&sparse(&lines, &data), ROOMY);
        assert!(matches!(error, ExtractError::Broken { .. }), "{map:?}: {error}");
    }
    // GNU's own kind with a header that is not GNU's.
    let mut bytes = Item { data: b"data".to_vec(), ..item(b'S', "x") }.bytes();
    bytes[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = bytes[..512]
        .iter()
        .enumerate()
        .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) })
        .sum();
    bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    bytes.resize(bytes.len() + 1024, 0);
    scene.refuse_saying(&bytes, &["map is damaged"]);
}

#[test]
fn holes_count_as_what_they_stand_for() {
    let scene = Scene::new();
    let lines = [("GNU.sparse.size", "1099511627776"), ("GNU.sparse.map", "0,4")];
    let error = scene.refuse(&sparse(&lines, b"data"), ROOMY);
    assert!(matches!(error, ExtractError::TooLarge { limit: Limit::Bytes, .. }), "{error}");
}

#[test]
fn sizes_past_what_a_header_can_say_are_believed_until_the_data_ends() {
    let scene = Scene::new();
    for size in [8_u64 << 30, 1 << 40, u64::MAX] {
        let mut bytes = file("x", "").header(size).to_vec();
        bytes.extend([0; 2048]);
        let error = scene.refuse(&bytes, Limits { ratio: u64::MAX, bytes: u64::MAX, ..ROOMY });
        assert!(matches!(error, ExtractError::Broken { .. }), "{error}");
        let size = size.to_string();
        let archive = tar(&[attributes(&[("size", &size)]), file("x", "data")]);
        let error = scene.refuse(&archive, ROOMY);
        assert!(matches!(error, ExtractError::Broken { .. }), "{error}");
    }
}
