//! Looking at directories on disk.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Dir, DirEntry, FileType, Mode, OFlags, PROC_SUPER_MAGIC, fstat, open, statfs};
use rustix::io::Errno;

const SYSFS_MAGIC: u64 = 0x6265_6572;

/// What tells one directory from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl Identity {
    /// Of what lies at this path; a symbolic link counts as itself.
    pub(crate) fn at(path: &Path) -> Result<Self, Errno> {
        match std::fs::symlink_metadata(path) {
            Ok(metadata) => Ok(Self { device: metadata.dev(), inode: metadata.ino() }),
            Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL)),
        }
    }
}

/// Opens this very directory for reading; another one at its path is none.
pub(crate) fn open_directory(path: &Path, identity: Identity) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let descriptor = open(path, flags, Mode::empty())?;
    let found = fstat(&descriptor)?;
    if (Identity { device: found.st_dev, inode: found.st_ino }) != identity {
        return Err(Errno::NOENT);
    }
    Dir::new(descriptor)
}

/// The name of an entry, unless it is `.` or `..`.
pub(crate) fn name_of(entry: &DirEntry) -> Option<&OsStr> {
    let name = OsStr::from_bytes(entry.file_name().to_bytes());
    (name != "." && name != "..").then_some(name)
}

/// Whether an entry is a directory. Some file systems do not say; then it is looked at.
pub(crate) fn is_directory(entry: &DirEntry, path: &Path) -> bool {
    match entry.file_type() {
        FileType::Unknown => {
            std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
        }
        known => known == FileType::Directory,
    }
}

/// Whether a file system begins here, in a directory of `device`, that shows the kernel's own affairs: it has
/// directories without end and tells of no change.
pub(crate) fn is_of_the_kernel(path: &Path, device: u64) -> bool {
    if Identity::at(path).is_ok_and(|identity| identity.device == device) {
        return false;
    }
    statfs(path).is_ok_and(|found| {
        let magic = u64::try_from(found.f_type).unwrap_or_default();
        magic == SYSFS_MAGIC || u64::try_from(PROC_SUPER_MAGIC) == Ok(magic)
    })
}
