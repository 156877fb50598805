//! Memory stays what it is, whatever an archive holds. Alone in its process, so that nothing else is measured.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use atoll_archive::{Existing, Format, Limits, Tree};
use flate2::Compression;
use flate2::write::GzEncoder;

const MORE: u64 = 32 << 20;
const LARGE: u64 = 256 << 20;
const LIMITS: Limits = Limits { entries: 200_000, bytes: 4 << 30, ratio: u64::MAX };

/// The most memory this process ever had in use, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn header(name: &str, kind: u8, size: u64) -> [u8; 512] {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.as_old_mut().linkflag = [kind];
    header.set_mode(0o755);
    header.set_mtime(0);
    header.set_size(size);
    header.set_cksum();
    *header.as_bytes()
}

fn zeros(sink: &mut impl Write, bytes: u64) {
    let chunk = vec![0; 1 << 20];
    (0..bytes >> 20).for_each(|_| sink.write_all(&chunk).unwrap());
}

/// A gzip of this tar, made as it is written.
fn gzip(make: impl FnOnce(&mut GzEncoder<File>)) -> File {
    let mut encoder = GzEncoder::new(tempfile::tempfile().unwrap(), Compression::fast());
    make(&mut encoder);
    encoder.write_all(&[0; 1024]).unwrap();
    encoder.finish().unwrap()
}

fn one_large_file() -> File {
    gzip(|sink| {
        sink.write_all(&header("large", b'0', LARGE)).unwrap();
        zeros(sink, LARGE);
    })
}

fn one_endless_name() -> File {
    gzip(|sink| {
        sink.write_all(&header("name", b'L', LARGE)).unwrap();
        zeros(sink, LARGE);
    })
}

fn many_directories() -> File {
    gzip(|sink| {
        let header = header("directory", b'5', 0);
        (0..200_000).for_each(|_| sink.write_all(&header).unwrap());
    })
}

/// A table of contents whose every line comes with the longest texts there can be.
fn large_table() -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"PK\x03\x04").unwrap();
    let mut line = b"PK\x01\x02".to_vec();
    line.resize(46, 0);
    line[5] = 3;
    line[28..34].copy_from_slice(&[2, 0, 0xff, 0xff, 0xff, 0xff]);
    line.extend(b"d/");
    line.resize(line.len() + 2 * 0xffff, 0);
    (0..1000).for_each(|_| file.write_all(&line).unwrap());
    let mut end = b"PK\x05\x06\0\0\0\0\xe8\x03\xe8\x03".to_vec();
    end.extend(u32::try_from(line.len() * 1000).unwrap().to_le_bytes());
    end.extend([4, 0, 0, 0, 0, 0]);
    file.write_all(&end).unwrap();
    file
}

fn unpack(mut archive: File, into: &Path) -> bool {
    archive.seek(SeekFrom::Start(0)).unwrap();
    let cancel = AtomicBool::new(false);
    let result = atoll_archive::extract(&mut archive, into, Existing::Replace, LIMITS, &cancel);
    result.is_ok()
}

#[test]
fn memory_does_not_grow_with_the_archive() {
    let directory = tempfile::tempdir().unwrap();
    // Many empty files: in memory where there is such a place, since a busy disk is slow at it.
    let quick = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let tree = quick.path().join("tree");
    for at in 0..30_000 {
        let parent = tree.join((at / 10_000).to_string());
        fs::create_dir_all(&parent).unwrap();
        File::create(parent.join(format!("{at:0>120}"))).unwrap();
    }
    let sparse = File::create(tree.join("large")).unwrap();
    sparse.set_len(LARGE).unwrap();
    let archives = [
        (one_large_file(), true),
        (one_endless_name(), false),
        (many_directories(), true),
        (large_table(), true),
    ];

    let before = peak();
    for (at, (archive, sound)) in archives.into_iter().enumerate() {
        let into = directory.path().join(at.to_string());
        assert_eq!(unpack(archive, &into), sound, "archive {at}");
        assert!(peak() - before < MORE, "archive {at}: {} more", peak() - before);
        let _not_made = fs::remove_dir_all(into);
    }
    let opened = Tree::open(&tree).unwrap();
    for format in [Format::Tar, Format::TarGz, Format::Zip] {
        atoll_archive::pack(&opened, format, io::sink(), &AtomicBool::new(false)).unwrap();
        assert!(peak() - before < MORE, "{format}: {} more", peak() - before);
    }
}
