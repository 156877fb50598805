//! The private directory of one server process: sockets, scripts, spilled output. It lives as long as the process.
//!
//! A lock on the directory says that its process is alive. A process that was killed leaves its directory behind
//! unlocked, and the next server to start removes it. A lock rather than a pid: pids mean nothing to a server in another
//! container that shares the parent directory.

use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FlockOperation, access, flock};

const PREFIX: &str = "atoll-run-";
/// Unix sockets below must fit into 108 bytes; this leaves half of it for their names.
const LONGEST_PARENT: usize = 40;
/// File systems kept in memory: `tmpfs` and `ramfs`.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// The private directory. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct RuntimeDir {
    path: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
}

impl RuntimeDir {
    /// Makes a directory for this process that no other user can enter.
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        if parent.as_os_str().len() > LONGEST_PARENT {
            let message = format!("its path is longer than {LONGEST_PARENT} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        loop {
            let unique = uuid::Uuid::new_v4().simple().to_string();
            let path = parent.join(format!("{PREFIX}{}", &unique[..12]));
            std::fs::DirBuilder::new().mode(0o700).create(&path)?;
            // Another server may find it before it is locked, take it for a leftover and remove it: then once more.
            if let Some(lock) = lock(&path) {
                return Ok(Self { path, _lock: lock });
            }
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RuntimeDir {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            let path = self.path.display();
            tracing::warn!(%path, %error, "the private directory could not be removed");
        }
    }
}

/// Removes what servers that were killed have left under `parent`.
pub(crate) fn remove_leftovers(parent: &Path) {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()).filter(|path| is_ours(path)) {
        if let Some(_lock) = lock(&path) {
            match std::fs::remove_dir_all(&path) {
                Ok(()) => tracing::debug!(path = %path.display(), "removed a leftover"),
                Err(error) => tracing::warn!(path = %path.display(), %error, "a leftover stays"),
            }
        }
    }
}

/// Named and owned as we do it: nothing else may ever be removed.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unique = name.strip_prefix(PREFIX).unwrap_or_default();
    let named = unique.len() == 12 && unique.bytes().all(|byte| byte.is_ascii_hexdigit());
    let user = rustix::process::geteuid().as_raw();
    let owned = |data: std::fs::Metadata| {
        data.is_dir() && data.uid() == user && data.mode() & 0o777 == 0o700
    };
    named && std::fs::symlink_metadata(path).is_ok_and(owned)
}

/// Locks the directory that stands at `path`; nothing when another process has it or it is gone.
fn lock(path: &Path) -> Option<File> {
    let directory = File::open(path).ok()?;
    flock(&directory, FlockOperation::NonBlockingLockExclusive).ok()?;
    let (locked, standing) = (directory.metadata().ok()?, std::fs::metadata(path).ok()?);
    let same = (locked.dev(), locked.ino()) == (standing.dev(), standing.ino());
    same.then_some(directory)
}

/// Where the directory goes when nothing is set: the first usual place that is on a disk, since spilled output may be
/// large; else the first that can be written. `XDG_RUNTIME_DIR` is no candidate: it is always kept in memory.
pub(crate) fn default_parent(temporary: Option<&str>) -> PathBuf {
    let candidates = temporary.into_iter().chain(["/tmp", "/var/tmp"]);
    let usable: Vec<_> = candidates
        .map(Path::new)
        .filter(|path| path.is_absolute() && path.as_os_str().len() <= LONGEST_PARENT)
        .filter(|path| path.is_dir() && access(*path, Access::WRITE_OK | Access::EXEC_OK).is_ok())
        .collect();
    let on_disk = usable.iter().find(|path| !is_in_memory(path));
    let chosen = on_disk.or(usable.first()).copied();
    chosen.unwrap_or(Path::new("/tmp")).to_owned()
}

fn is_in_memory(path: &Path) -> bool {
    let kind = rustix::fs::statfs(path).map(|data| data.f_type);
    kind.is_ok_and(|kind| IN_MEMORY.contains(&kind.cast_unsigned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_private_and_goes_with_its_process() {
        let parent = tempfile::tempdir().unwrap();
        let directory = RuntimeDir::create(parent.path()).unwrap();
        let path = directory.path().to_owned();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        std::fs::write(path.join("file"), "").unwrap();
        drop(directory);
        assert!(!path.exists());
    }

    #[test]
    fn only_leftovers_of_dead_servers_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = parent.path().join(name);
            std::fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
            path
        };
        let alive = RuntimeDir::create(parent.path()).unwrap();
        let leftover = make("atoll-run-0123456789ab");
        std::fs::write(leftover.join("output"), "x").unwrap();
        let foreign = [make("atoll-run-mine"), make("atoll-run-0123456789abc"), make("other")];
        let file = parent.path().join("atoll-run-ba9876543210");
        std::fs::write(&file, "").unwrap();

        remove_leftovers(parent.path());
        assert!(!leftover.exists());
        assert!(alive.path().exists() && file.exists());
        assert!(foreign.iter().all(|path| path.exists()), "{foreign:?}");
    }

    #[test]
    fn a_parent_too_long_for_sockets_is_refused() {
        let parent = format!("/{}", "x".repeat(LONGEST_PARENT));
        let error = RuntimeDir::create(Path::new(&parent)).unwrap_err();
        assert!(error.to_string().contains("longer than"), "{error}");
        assert_ne!(default_parent(Some(&parent)), Path::new(&parent));
    }

    #[test]
    fn a_given_directory_on_disk_comes_first() {
        let given = tempfile::tempdir_in("/var/tmp").unwrap();
        let text = given.path().to_str().unwrap();
        if !is_in_memory(given.path()) {
            assert_eq!(default_parent(Some(text)), given.path());
        }
        assert_ne!(default_parent(Some("relative")), Path::new("relative"));
    }
}
