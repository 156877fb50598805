//! An upload that is not complete yet: a hidden file that goes away unless it is put in place.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use atoll_operation::Incoming;
use tempfile::NamedTempFile;

use crate::file::inflow::pour;
use crate::file::store::temporary;

/// Directories made for a file; those that are empty go again unless it came to be.
#[derive(Debug, Default)]
pub(super) struct Made(Vec<PathBuf>);

impl Made {
    /// Those that are missing on the way to a path, and that somebody is about to make.
    pub(super) fn for_path(path: &Path) -> Self {
        let above = path.parent().into_iter().flat_map(Path::ancestors);
        Self(above.take_while(|directory| !directory.exists()).map(Path::to_owned).collect())
    }

    pub(super) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for directory in &self.0 {
            // One that is not empty has become somebody's and stays.
            let _stays = fs::remove_dir(directory);
        }
    }
}

/// An unfinished file.
#[derive(Debug)]
pub(super) struct Spool {
    // First, since it is dropped first: a directory that holds it cannot go.
    pub(super) file: NamedTempFile,
    pub(super) made: Made,
    /// The mode that new files get here.
    pub(super) mode: u32,
    pub(super) length: u64,
}

impl Spool {
    /// Begins a file in this directory, by a name that begins like this. Nobody else can read it until it is in place.
    pub(super) fn begin(directory: &Path, prefix: &str) -> io::Result<Self> {
        let file = temporary(directory, prefix, "", 0o666)?;
        // As the process's mask has made it.
        let mode = file.as_file().metadata()?.mode() & 0o7777;
        file.as_file().set_permissions(Permissions::from_mode(0o600))?;
        Ok(Self { file, made: Made::default(), mode, length: 0 })
    }

    /// Takes all bytes.
    pub(super) async fn fill(mut self, incoming: Incoming) -> io::Result<Self> {
        if let Some(direct) = incoming.direct {
            self.length = direct(self.file.as_file().try_clone()?).await?;
            return Ok(self);
        }
        let (mut spool, length) = pour(self, incoming.bytes, u64::MAX).await?;
        spool.length = length;
        Ok(spool)
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Not by the temporary file itself: it would hide which error it was behind one of its own.
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::{StreamExt, stream};

    use super::*;
    use crate::file::store::FRESH;

    #[tokio::test]
    async fn what_arrived_is_counted_and_goes_unless_it_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let pieces = [Ok(Bytes::from_static(b"one ")), Ok(Bytes::from_static(b"two"))];
        let spool = Spool::begin(directory.path(), FRESH).unwrap();
        let spool = spool.fill(Incoming::new(None, stream::iter(pieces).boxed())).await.unwrap();
        assert_eq!(spool.length, 7);
        assert_eq!(std::fs::read(spool.file.path()).unwrap(), b"one two");
        drop(spool);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn nobody_else_can_read_what_is_not_finished() {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool::begin(directory.path(), FRESH).unwrap();
        assert_eq!(spool.file.as_file().metadata().unwrap().mode() & 0o7777, 0o600);
        let plain = std::fs::File::create(directory.path().join("plain")).unwrap();
        assert_eq!(spool.mode, plain.metadata().unwrap().mode() & 0o7777);
    }

    #[tokio::test]
    async fn what_breaks_off_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let pieces = [Ok(Bytes::from(vec![1; 2 << 20])), Err(io::Error::other("gone"))];
        let spool = Spool::begin(directory.path(), FRESH).unwrap();
        let broken =
            spool.fill(Incoming::new(None, stream::iter(pieces).boxed())).await.unwrap_err();
        assert_eq!(broken.to_string(), "gone");
        // The last write may still be under way; it takes the file with it.
        let names = || std::fs::read_dir(directory.path()).unwrap().count();
        let started = std::time::Instant::now();
        while names() > 0 {
            assert!(started.elapsed().as_secs() < 60, "left behind");
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_full_disk_is_told_as_such() {
        // Writing to this device fails as a full disk does.
        let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
        let directory = tempfile::tempdir().unwrap();
        let (_, path) = temporary(directory.path(), "", "", 0o600).unwrap().into_parts();
        let file = NamedTempFile::from_parts(full, path);
        let spool = Spool { file, made: Made::default(), mode: 0o644, length: 0 };
        let pieces = [Ok(Bytes::from_static(b"x"))];
        let broken =
            spool.fill(Incoming::new(None, stream::iter(pieces).boxed())).await.unwrap_err();
        assert_eq!(broken.kind(), io::ErrorKind::StorageFull);
    }
}
