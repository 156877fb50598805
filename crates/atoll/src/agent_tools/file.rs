//! A file of settings, written so that only its owner may read it, and only where nobody's changes are lost.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// It holds what it should.
    Written,
    /// It holds what somebody else wrote.
    Kept,
}

/// Writes a file. One that was changed since it was last written here stays, unless `whole`; then it is kept beside.
pub(super) fn put(path: &Path, content: &str, whole: bool) -> io::Result<Put> {
    let there = match std::fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mark = beside(path, "atoll");
    if let Some(there) = &there {
        let known = std::fs::read_to_string(&mark).unwrap_or_default();
        if there != content && known.trim() != fingerprint(there) {
            if !whole {
                return Ok(Put::Kept);
            }
            write(&beside(path, "before-atoll"), there)?;
        }
    }
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    write(path, content)?;
    write(&mark, &fingerprint(content))?;
    Ok(Put::Written)
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}

/// Whole or not at all, and never readable for others.
fn write(path: &Path, content: &str) -> io::Result<()> {
    let new = beside(path, "new");
    let _leftover = std::fs::remove_file(&new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(content.as_bytes())?;
    std::fs::rename(&new, path)
}

/// Tells whether a text was changed: 64 bits of FNV-1a, and its length. Nobody gains by making two texts alike.
fn fingerprint(text: &str) -> String {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    format!("{hash:016x} {}\n", text.len()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_private_and_follows_the_environment_until_somebody_changes_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(".tool/config");
        assert_eq!(put(&path, "one", false).unwrap(), Put::Written);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let directory = std::fs::metadata(path.parent().unwrap()).unwrap();
        assert_eq!(directory.permissions().mode() & 0o777, 0o700);
        assert_eq!(put(&path, "two", false).unwrap(), Put::Written);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");

        std::fs::write(&path, "mine").unwrap();
        assert_eq!(put(&path, "three", false).unwrap(), Put::Kept);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(put(&path, "four", true).unwrap(), Put::Written);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "four");
        let kept = home.path().join(".tool/config.before-atoll");
        assert_eq!(std::fs::read_to_string(kept).unwrap(), "mine");
    }

    #[test]
    fn a_file_that_was_there_first_is_somebodys() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config");
        std::fs::write(&path, "mine").unwrap();
        assert_eq!(put(&path, "ours", false).unwrap(), Put::Kept);
        assert_eq!(put(&path, "mine", false).unwrap(), Put::Written);
    }
}
