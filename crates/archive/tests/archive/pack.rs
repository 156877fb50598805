//! Packed trees, read back by others and by ourselves.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Cursor, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_archive::{Existing, Format, PackError, Tree};

use crate::make::noise;
use crate::scene::{ROOMY, extract, pack, quick_directory, set_mode, snapshot};

const FORMATS: [Format; 3] = [Format::Tar, Format::TarGz, Format::Zip];

/// A tree with all that trees have.
fn plant(root: &Path) -> PathBuf {
    let project = root.join("project");
    let deep = project.join("very/".repeat(30)).join("long".repeat(63));
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir_all(project.join("empty/inside")).unwrap();
    fs::write(deep.join("x".repeat(255)), "deep").unwrap();
    fs::write(project.join("größe 😀.txt"), "unicode").unwrap();
    fs::write(project.join("line\nbreak\\slash"), "odd").unwrap();
    fs::write(project.join("nothing"), "").unwrap();
    let noise = noise(700_001);
    fs::write(project.join("noise"), noise).unwrap();
    fs::write(project.join("zeros"), vec![0; 300_000]).unwrap();
    for (name, mode) in [("run.sh", 0o755), ("private", 0o600), ("shared", 0o664)] {
        fs::write(project.join(name), name).unwrap();
        set_mode(&project.join(name), mode);
    }
    set_mode(&project.join("empty"), 0o750);
    symlink("run.sh", project.join("link")).unwrap();
    symlink("../größe 😀.txt", project.join("empty/up")).unwrap();
    symlink("nowhere/".repeat(30), project.join("dangling")).unwrap();
    project
}

#[test]
fn a_tree_makes_the_round_in_every_format() {
    let source = tempfile::tempdir().unwrap();
    let project = plant(source.path());
    let before = snapshot(source.path());
    for format in FORMATS {
        let (archive, packed) = pack(&project, format);
        assert_eq!(packed.entries, before.len() as u64);
        let target = tempfile::tempdir().unwrap();
        let extracted = extract(&archive, target.path(), Existing::Keep, ROOMY).unwrap();
        assert_eq!(extracted.format, format);
        assert_eq!((extracted.entries, extracted.bytes), (packed.entries, packed.bytes));
        assert!(snapshot(target.path()) == before, "{format}");
        for name in ["noise", "link"] {
            let modified = |root: &Path| {
                let metadata = fs::symlink_metadata(root.join("project").join(name)).unwrap();
                metadata.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap()
            };
            assert_eq!(
                modified(target.path()).as_secs(),
                modified(source.path()).as_secs(),
                "{format} {name}"
            );
        }
    }
}

#[test]
fn the_systems_tar_reads_what_is_packed() {
    let source = tempfile::tempdir().unwrap();
    let project = plant(source.path());
    for (format, option) in [(Format::Tar, "-xpf"), (Format::TarGz, "-xpzf")] {
        let target = tempfile::tempdir().unwrap();
        let archive = target.path().join("archive");
        fs::write(&archive, pack(&project, format).0).unwrap();
        let out = target.path().join("out");
        fs::create_dir(&out).unwrap();
        let output = Command::new("tar")
            .args([OsStr::new(option), archive.as_os_str()])
            .current_dir(&out)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(snapshot(&out) == snapshot(source.path()), "{format}");
    }
}

#[test]
fn what_the_systems_tar_packs_is_read() {
    let source = tempfile::tempdir().unwrap();
    plant(source.path());
    fs::hard_link(source.path().join("project/noise"), source.path().join("project/same")).unwrap();
    for format in ["v7", "oldgnu", "gnu", "ustar", "posix"] {
        let target = tempfile::tempdir().unwrap();
        let archive = target.path().join("archive");
        // The older formats cannot say everything: they leave out what is too long, and complain.
        Command::new("tar")
            .args(["-cf", archive.to_str().unwrap(), "--format", format, "project"])
            .current_dir(source.path())
            .output()
            .unwrap();
        let expected = target.path().join("expected");
        fs::create_dir(&expected).unwrap();
        let status = Command::new("tar")
            .args(["-xpf", archive.to_str().unwrap()])
            .current_dir(&expected)
            .status()
            .unwrap();
        assert!(status.success());
        let ours = target.path().join("ours");
        extract(&fs::read(&archive).unwrap(), &ours, Existing::Keep, ROOMY).unwrap();
        assert!(snapshot(&ours) == snapshot(&expected), "{format}");
    }
}

#[test]
fn others_read_our_zip_and_we_theirs() {
    let source = tempfile::tempdir().unwrap();
    let project = plant(source.path());
    let (archive, packed) = pack(&project, Format::Zip);
    let mut theirs = zip::ZipArchive::new(Cursor::new(&archive)).unwrap();
    assert_eq!(theirs.len() as u64, packed.entries);
    let mut rewritten = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for at in 0..theirs.len() {
        let mut entry = theirs.by_index(at).unwrap();
        let path = source.path().join(entry.name().unwrap().as_ref());
        let metadata = fs::symlink_metadata(&path).unwrap();
        assert_eq!(entry.is_dir(), metadata.is_dir());
        assert_eq!(entry.is_symlink(), metadata.is_symlink());
        if metadata.is_file() {
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            assert!(content == fs::read(&path).unwrap(), "{path:?}");
        }
        drop(entry);
        let entry = theirs.by_index_raw(at).unwrap();
        rewritten.raw_copy_file(entry).unwrap();
    }
    let rewritten = rewritten.finish().unwrap().into_inner();
    let target = tempfile::tempdir().unwrap();
    extract(&rewritten, target.path(), Existing::Keep, ROOMY).unwrap();
    assert!(snapshot(target.path()) == snapshot(source.path()));
}

#[test]
fn a_single_file_is_packed_as_itself() {
    let source = tempfile::tempdir().unwrap();
    let path = source.path().join("one.txt");
    fs::write(&path, "one").unwrap();
    for format in FORMATS {
        let target = tempfile::tempdir().unwrap();
        let tree = Tree::open(&path).unwrap();
        assert_eq!(tree.name(), "one.txt");
        extract(&pack(&path, format).0, target.path(), Existing::Keep, ROOMY).unwrap();
        assert_eq!(fs::read_to_string(target.path().join("one.txt")).unwrap(), "one");
    }
}

#[test]
fn ten_thousand_files_make_the_round() {
    let source = quick_directory();
    let many = source.path().join("many");
    for directory in 0..10 {
        let directory = many.join(directory.to_string());
        fs::create_dir_all(&directory).unwrap();
        for file in 0..1000 {
            let content = if file % 100 == 0 { "content" } else { "" };
            fs::write(directory.join(format!("file-{file}.txt")), content).unwrap();
        }
    }
    for format in FORMATS {
        let (archive, packed) = pack(&many, format);
        assert_eq!(packed.entries, 10_011);
        let target = quick_directory();
        extract(&archive, target.path(), Existing::Keep, ROOMY).unwrap();
        assert!(snapshot(target.path()) == snapshot(source.path()), "{format}");
    }
}

#[test]
fn names_that_are_no_text_stay_as_they_are_in_tar() {
    let source = tempfile::tempdir().unwrap();
    let odd = source.path().join("odd");
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join(OsStr::from_bytes(b"a\xff\xfeb")), "odd").unwrap();
    let target = tempfile::tempdir().unwrap();
    extract(&pack(&odd, Format::TarGz).0, target.path(), Existing::Keep, ROOMY).unwrap();
    assert!(snapshot(target.path()) == snapshot(source.path()));
    let target = tempfile::tempdir().unwrap();
    extract(&pack(&odd, Format::Zip).0, target.path(), Existing::Keep, ROOMY).unwrap();
    assert!(target.path().join("odd/a\u{fffd}\u{fffd}b").exists());
}

#[test]
fn what_has_no_content_is_left_out_and_counted() {
    let source = tempfile::tempdir().unwrap();
    fs::write(source.path().join("file"), "file").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(source.path().join("socket")).unwrap();
    let status = Command::new("mkfifo").arg(source.path().join("pipe")).status().unwrap();
    assert!(status.success());
    for format in FORMATS {
        let (_, packed) = pack(source.path(), format);
        assert_eq!((packed.entries, packed.skipped), (2, 2));
    }
}

/// Lets something happen once the archive has grown to some length.
struct Trigger<F> {
    bytes: Vec<u8>,
    at: usize,
    action: Option<F>,
}

impl<F: FnOnce()> Write for Trigger<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() >= self.at
            && let Some(action) = self.action.take()
        {
            action();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes nothing.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_file_that_changes_its_length_does_not_harm_the_archive() {
    const SIZE: usize = 8 << 20;
    for format in FORMATS {
        for new_length in [1_000_000, SIZE as u64 * 2] {
            let source = tempfile::tempdir().unwrap();
            let tree = source.path().join("tree");
            fs::create_dir(&tree).unwrap();
            let noise = noise(SIZE);
            fs::write(tree.join("file"), &noise).unwrap();
            let action = || {
                let file = fs::File::options().write(true).open(tree.join("file")).unwrap();
                file.set_len(new_length).unwrap();
            };
            let mut sink = Trigger { bytes: Vec::new(), at: 200_000, action: Some(action) };
            let opened = Tree::open(&tree).unwrap();
            atoll_archive::pack(&opened, format, &mut sink, &AtomicBool::new(false)).unwrap();
            assert!(sink.action.is_none(), "the file was not changed in time");
            let archive = std::mem::take(&mut sink.bytes);
            let target = tempfile::tempdir().unwrap();
            extract(&archive, target.path(), Existing::Keep, ROOMY).unwrap();
            let read = fs::read(target.path().join("tree/file")).unwrap();
            assert!(read.len() <= SIZE, "{format}");
            if format != Format::Zip {
                assert_eq!(read.len(), SIZE, "{format}");
            }
            assert!(read[..200_000] == noise[..200_000]);
        }
    }
}

#[test]
fn packing_is_broken_off_when_told_and_when_nobody_takes_the_bytes() {
    let source = tempfile::tempdir().unwrap();
    let project = plant(source.path());
    let tree = Tree::open(&project).unwrap();
    for format in FORMATS {
        let cancel = AtomicBool::new(false);
        let mut sink = Trigger {
            bytes: Vec::new(),
            at: 1,
            action: Some(|| cancel.store(true, Ordering::Relaxed)),
        };
        let error = atoll_archive::pack(&tree, format, &mut sink, &cancel).unwrap_err();
        assert!(matches!(error, PackError::Cancelled), "{error}");

        let error =
            atoll_archive::pack(&tree, format, Closed, &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, PackError::Write(_)), "{error}");
    }
}

#[test]
fn what_cannot_be_read_ends_the_packing_with_its_name() {
    let source = tempfile::tempdir().unwrap();
    let tree = source.path().join("tree");
    // Deeper than is packed: unlike a missing permission, that also stops whoever may read everything.
    fs::create_dir_all(tree.join("d/".repeat(140))).unwrap();
    let opened = Tree::open(&tree).unwrap();
    let packed = atoll_archive::pack(&opened, Format::Tar, io::sink(), &AtomicBool::new(false));
    let PackError::Unfit { path, .. } = packed.unwrap_err() else { panic!("another error") };
    assert!(path.starts_with(tree.join("d/d/d")), "{path:?}");
}
