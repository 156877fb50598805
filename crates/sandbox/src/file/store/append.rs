//! Adding to the end of a file.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::NEVER_WAIT;

/// Adds bytes in one piece, so that appends of other programs come before or after them. What could not be added
/// completely is taken back, unless somebody else has added to the file meanwhile.
pub(in crate::file) fn append(
    target: &Path,
    is_new: bool,
    bytes: &[u8],
    mode: Option<u32>,
    sync: bool,
) -> io::Result<()> {
    let mut file =
        File::options().append(true).create(true).custom_flags(NEVER_WAIT).open(target)?;
    if let Err(error) = add(&mut file, bytes) {
        if is_new && file.metadata().is_ok_and(|metadata| metadata.size() == 0) {
            let _already_failing = std::fs::remove_file(target);
        }
        return Err(error);
    }
    if let Some(mode) = mode {
        file.set_permissions(PermissionsExt::from_mode(mode))?;
    }
    if sync { file.sync_all() } else { Ok(()) }
}

fn add(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                take_back(file, (bytes.len() - rest.len()) as u64)?;
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Removes the last `count` bytes, if they are the ones just written.
fn take_back(file: &mut File, count: u64) -> io::Result<()> {
    let end = file.stream_position()?;
    if count > 0 && file.metadata()?.size() == end {
        file.set_len(end - count)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_what_was_appended_is_taken_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "kept").unwrap();
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"half").unwrap();
        take_back(&mut file, 4).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"kept");

        file.write_all(b"half").unwrap();
        File::options().append(true).open(&path).unwrap().write_all(b"other").unwrap();
        take_back(&mut file, 4).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"kepthalfother");
    }
}
