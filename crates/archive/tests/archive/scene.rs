//! A directory to unpack into, with things around it that must stay as they are.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use atoll_archive::{Existing, ExtractError, Extracted, Format, Limits, Packed, Tree};

pub(crate) const ROOMY: Limits = Limits { entries: 20_000, bytes: 1 << 30, ratio: 200 };

/// Everything below a directory: what it is, its mode, and its content or target.
pub(crate) type Snapshot = BTreeMap<PathBuf, (char, u32, Vec<u8>)>;

pub(crate) fn snapshot(root: &Path) -> Snapshot {
    fn visit(root: &Path, directory: &Path, found: &mut Snapshot) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let inner = path.strip_prefix(root).unwrap().to_owned();
            let mode = metadata.mode() & 0o7777;
            let known = if metadata.is_dir() {
                visit(root, &path, found);
                ('d', mode, Vec::new())
            } else if metadata.is_symlink() {
                ('l', 0, fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
            } else {
                ('f', mode, fs::read(&path).unwrap())
            };
            found.insert(inner, known);
        }
    }
    let mut found = Snapshot::new();
    visit(root, root, &mut found);
    found
}

/// `outside/` and `secret` around `work/here`, the destination.
pub(crate) struct Scene {
    root: tempfile::TempDir,
}

/// A directory in memory where there is such a place: a busy disk makes many small trees slow.
pub(crate) fn quick_directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    /// A scene for many small archives.
    pub(crate) fn quick() -> Self {
        Self::within(quick_directory())
    }

    fn within(root: tempfile::TempDir) -> Self {
        fs::create_dir_all(root.path().join("work/here/kept")).unwrap();
        fs::create_dir(root.path().join("outside")).unwrap();
        fs::write(root.path().join("secret"), "secret").unwrap();
        fs::write(root.path().join("outside/file"), "outside").unwrap();
        fs::write(root.path().join("work/here/kept/old"), "old").unwrap();
        symlink("../../outside", root.path().join("work/here/exit")).unwrap();
        symlink("../../secret", root.path().join("work/here/leak")).unwrap();
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn here(&self) -> PathBuf {
        self.root.path().join("work/here")
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        snapshot(self.root())
    }

    pub(crate) fn extract(&self, archive: &[u8]) -> Result<Extracted, ExtractError> {
        extract(archive, &self.here(), Existing::Keep, ROOMY)
    }

    /// Unpacks, which must be refused and change nothing, whether files may be replaced or not.
    pub(crate) fn refuse(&self, archive: &[u8], limits: Limits) -> ExtractError {
        let before = self.snapshot();
        let mut refusal = None;
        for existing in [Existing::Keep, Existing::Replace] {
            let error = extract(archive, &self.here(), existing, limits).unwrap_err();
            assert_eq!(self.snapshot(), before, "{error}");
            refusal = Some(error);
        }
        refusal.unwrap()
    }

    /// As [`Scene::refuse`]; the message must say these words.
    pub(crate) fn refuse_saying(&self, archive: &[u8], words: &[&str]) -> ExtractError {
        let error = self.refuse(archive, ROOMY);
        let message = error.to_string();
        for word in words {
            assert!(message.contains(word), "{word:?} is not in {message:?}");
        }
        error
    }
}

pub(crate) fn spool(archive: &[u8]) -> File {
    let small = archive.len() < 1 << 20;
    let directory = if small { Path::new("/dev/shm") } else { Path::new("/nowhere") };
    let mut file = tempfile::tempfile_in(directory).or_else(|_| tempfile::tempfile()).unwrap();
    file.write_all(archive).unwrap();
    file.rewind().unwrap();
    file
}

pub(crate) fn extract(
    archive: &[u8],
    into: &Path,
    existing: Existing,
    limits: Limits,
) -> Result<Extracted, ExtractError> {
    let cancel = AtomicBool::new(false);
    atoll_archive::extract(&mut spool(archive), into, existing, limits, &cancel)
}

pub(crate) fn pack(root: &Path, format: Format) -> (Vec<u8>, Packed) {
    let mut archive = Vec::new();
    let tree = Tree::open(root).unwrap();
    let packed = atoll_archive::pack(&tree, format, &mut archive, &AtomicBool::new(false)).unwrap();
    (archive, packed)
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
