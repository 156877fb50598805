//! Renaming without replacing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use uuid::Uuid;

/// Renames, but only to a name that is free, so that nobody's file is lost to a race.
pub(super) fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => rename_in_steps(from, to),
        renamed => Ok(renamed?),
    }
}

/// For file systems that cannot: a second name is refused where there is one already. Directories have one name only;
/// renaming replaces an empty one at most.
fn rename_in_steps(from: &Path, to: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(from)?.is_dir() {
        fs::hard_link(from, to)?;
        return fs::remove_file(from);
    }
    match fs::symlink_metadata(to) {
        Ok(_) => Err(Errno::EXIST.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// A name beside a path that nobody uses.
pub(super) fn beside(path: &Path) -> PathBuf {
    path.with_file_name(format!(".atoll-{}", Uuid::new_v4().simple()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_stays_taken_either_way() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for (file, rename) in
            [("one", rename_to_free as fn(&Path, &Path) -> _), ("two", rename_in_steps)]
        {
            fs::write(at(file), file).unwrap();
            fs::write(at("taken"), "taken").unwrap();
            fs::create_dir_all(at("directory")).unwrap();
            for from in [file, "directory"] {
                let error: io::Error = rename(&at(from), &at("taken")).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            }
            assert_eq!(fs::read(at("taken")).unwrap(), b"taken");
            rename(&at(file), &at("free")).unwrap();
            assert_eq!(fs::read(at("free")).unwrap(), file.as_bytes());
            fs::remove_file(at("free")).unwrap();
            rename(&at("directory"), &at("free")).unwrap();
            fs::remove_dir(at("free")).unwrap();
        }
    }
}
