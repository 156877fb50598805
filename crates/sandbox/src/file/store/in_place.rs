//! Writing over a file's own bytes, where it cannot be replaced by another.
//!
//! Readers may see the change happen. The space is reserved before the first byte changes, so that a full disk leaves
//! the old content wherever the file system can reserve; only a disk that fails half-way leaves a mixture.

use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::NEVER_WAIT;
use super::replace::{Fill, Replacement};

pub(super) fn write(order: &Replacement<'_>, fill: Fill<'_>) -> io::Result<()> {
    let mut file = File::options().write(true).custom_flags(NEVER_WAIT).open(order.target)?;
    let before = file.metadata()?.size();
    reserve(&file, before, order.length)?;
    if let Err(error) = fill(&mut file) {
        // Gives back what is reserved past the end.
        let _already_failing = file.metadata().and_then(|at| file.set_len(at.size()));
        return Err(error);
    }
    let written = file.stream_position()?;
    if before > written {
        file.set_len(written)?;
    }
    if let Some(mode) = order.mode {
        file.set_permissions(PermissionsExt::from_mode(mode))?;
    }
    if order.sync { file.sync_all() } else { Ok(()) }
}

fn reserve(file: &File, before: u64, length: u64) -> io::Result<()> {
    if length <= before {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, length) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => {
            // Gives back what was reserved past the end before the space ran out.
            let _already_failing = file.set_len(before);
            Err(error.into())
        }
        // Not every file system can reserve.
        _ => Ok(()),
    }
}
