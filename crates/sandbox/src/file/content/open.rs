//! Opening a file to read, and reading all of it within bounds.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use atoll_operation::Error;

use crate::file::desk::length;
use crate::file::fault::Attempt;
use crate::file::store::{NEVER_WAIT, regular};

/// A regular file, open for reading.
#[derive(Debug)]
pub(in crate::file) struct Source {
    pub(in crate::file) file: File,
    pub(in crate::file) size: u64,
}

impl Source {
    /// Opens a file; looks at it first, since opening alone can wait, or rewind a tape.
    pub(in crate::file) fn open(attempt: Attempt<'_>, path: &Path) -> Result<Self, Error> {
        let failed = |error| attempt.failed(&error);
        regular(attempt, &fs::metadata(path).map_err(failed)?)?;
        let file =
            File::options().read(true).custom_flags(NEVER_WAIT).open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        regular(attempt, &metadata)?;
        Ok(Self { file, size: metadata.size() })
    }
}

/// All of a file, or what to do when it is over the limit. The files of `/proc` say that they are empty, so that only
/// reading tells.
pub(in crate::file) fn read_all(
    attempt: Attempt<'_>,
    source: &Source,
    limit: u64,
    advice: &str,
) -> Result<Vec<u8>, Error> {
    let too_large = |size: &str| {
        let reason = format!("it has {size}, and the limit is {limit} bytes; {advice}");
        Err(attempt.too_large(&reason))
    };
    if source.size > limit {
        return too_large(&format!("{} bytes", source.size));
    }
    let mut bytes = Vec::with_capacity(length(source.size) + 1);
    (&source.file)
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| attempt.failed(&error))?;
    if bytes.len() as u64 > limit {
        return too_large(&format!("more than {limit} bytes"));
    }
    Ok(bytes)
}
