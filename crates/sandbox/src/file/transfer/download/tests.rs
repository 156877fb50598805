use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, Mode, mkfifoat};

use super::*;

fn fetch(path: &Path) -> Result<Content, Error> {
    open(path, FileDownloadChangePolicy::Ignore, &Limits::default())
}

fn check_of(path: &Path) -> (Content, Arc<dyn Fn() -> io::Result<()> + Send + Sync>) {
    let content = open(path, FileDownloadChangePolicy::Abort, &Limits::default()).unwrap();
    let Source::File(FileSource { check: Some(check), .. }) = &content.source else {
        panic!("{content:?}");
    };
    let check = Arc::clone(check);
    (content, check)
}

#[test]
fn a_file_is_handed_out_open_with_its_name_and_version() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a b.txt");
    fs::write(&path, "content").unwrap();
    let content = fetch(&path).unwrap();
    let Source::File(source) = &content.source else { panic!("{content:?}") };
    assert_eq!((source.length, source.check.is_none()), (7, true));
    assert_eq!(content.filename.as_deref(), Some("a b.txt"));
    assert_eq!(content.media_type, "application/octet-stream");
    let version = content.version.unwrap();
    assert_eq!(version.modified, Some(fs::metadata(&path).unwrap().mtime()));
    assert!(version.tag.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"'));
    assert_eq!(fetch(&path).unwrap().version, Some(version.clone()), "while it does not change");

    let link = directory.path().join("link");
    symlink(&path, &link).unwrap();
    assert_eq!(fetch(&link).unwrap().version, Some(version.clone()));
    File::options().write(true).open(&path).unwrap().set_len(3).unwrap();
    assert_ne!(fetch(&path).unwrap().version, Some(version));
}

#[test]
fn what_is_no_file_is_refused_without_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    mkfifoat(CWD, &pipe, Mode::RWXU).unwrap();
    for path in [&pipe, Path::new("/dev/zero")] {
        let error = fetch(path).unwrap_err();
        assert_eq!((error.kind(), error.code()), (Kind::InvalidArgument, "file.invalid_target"));
    }
    let error = fetch(directory.path()).unwrap_err();
    assert_eq!((error.kind(), error.code()), (Kind::InvalidArgument, "file.invalid_target"));
    assert!(error.message().contains("/v1/file/archive"), "{error}");
    let error = fetch(&directory.path().join("missing")).unwrap_err();
    assert_eq!((error.kind(), error.code()), (Kind::NotFound, "file.not_found"));
}

#[test]
fn files_without_a_length_are_read() {
    let content = fetch(Path::new("/proc/self/status")).unwrap();
    let Source::Bytes(bytes) = &content.source else { panic!("{content:?}") };
    assert!(bytes.starts_with(b"Name:"));
    assert_eq!(content.version, None, "nobody can tell when it changes");
    let limits = Limits { file_read_bytes: 3, ..Limits::default() };
    let error = open(Path::new("/proc/self/status"), FileDownloadChangePolicy::Ignore, &limits);
    assert_eq!(error.unwrap_err().code(), "file.too_large");

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty");
    fs::write(&path, "").unwrap();
    let content = fetch(&path).unwrap();
    assert!(matches!(&content.source, Source::Bytes(bytes) if bytes.is_empty()));
    assert!(content.version.is_some());
}

#[test]
fn a_change_is_noticed_whichever_way_it_happens() {
    type Change = fn(&PathBuf);
    let changes: [(&str, Change); 4] = [
        ("longer", |path| fs::write(path, "longer than before").unwrap()),
        ("touched", |path| {
            let then = SystemTime::now() - Duration::from_secs(1000);
            File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
        }),
        ("replaced", |path| {
            let other = path.with_extension("other");
            fs::write(&other, "before").unwrap();
            fs::rename(other, path).unwrap();
        }),
        ("removed", |path| fs::remove_file(path).unwrap()),
    ];
    for (what, change) in changes {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "before").unwrap();
        let (_content, check) = check_of(&path);
        check().unwrap();
        change(&path);
        assert!(check().is_err(), "{what}");
    }
    let error = changed(Path::new("/a"));
    assert_eq!((error.kind(), error.code()), (Kind::Conflict, "file.changed"));
}
