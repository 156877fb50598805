//! An upload that is not complete yet: a hidden file that goes away unless it is put in place.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use atoll_operation::ByteStream;
use bytes::Bytes;
use futures::StreamExt;
use tempfile::NamedTempFile;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::file::store::temporary;

/// Unfinished files are named so, with random letters behind it.
const UNFINISHED: &str = ".atoll-upload-";
/// Bytes that are written together.
const BATCH_BYTES: usize = 1 << 20;

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
    /// Begins a file in this directory. Nobody else can read it until it is in place.
    pub(super) fn begin(directory: &Path) -> io::Result<Self> {
        let file = temporary(directory, UNFINISHED, "", 0o666)?;
        // As the process's mask has made it.
        let mode = file.as_file().metadata()?.mode() & 0o7777;
        file.as_file().set_permissions(Permissions::from_mode(0o600))?;
        Ok(Self { file, made: Made::default(), mode, length: 0 })
    }

    /// Takes all bytes. While some are written, away from the threads that serve connections, the next ones come in:
    /// two buffers take turns, so that however much passes, no memory is asked for or given back.
    pub(super) async fn fill(self, mut bytes: ByteStream) -> io::Result<Self> {
        let mut writing = Writing::Idle(self, Vec::with_capacity(BATCH_BYTES));
        let mut batch = Vec::with_capacity(BATCH_BYTES);
        let mut rest = Bytes::new();
        loop {
            gather(&mut batch, &mut rest, &mut bytes).await?;
            let (mut spool, mut written) = writing.finish().await?;
            if batch.is_empty() {
                return Ok(spool);
            }
            written.clear();
            std::mem::swap(&mut batch, &mut written);
            writing = Writing::Busy(spawn_blocking(move || {
                spool.file.as_file_mut().write_all(&written)?;
                spool.length += written.len() as u64;
                Ok((spool, written))
            }));
        }
    }
}

/// The file and the buffer that was last written to it.
enum Writing {
    Idle(Spool, Vec<u8>),
    Busy(JoinHandle<io::Result<(Spool, Vec<u8>)>>),
}

impl Writing {
    async fn finish(self) -> io::Result<(Spool, Vec<u8>)> {
        match self {
            Self::Idle(spool, buffer) => Ok((spool, buffer)),
            Self::Busy(writing) => writing.await.map_err(io::Error::other).flatten(),
        }
    }
}

/// Fills a buffer, or takes what is left. `rest` is what the last piece has too much.
async fn gather(batch: &mut Vec<u8>, rest: &mut Bytes, bytes: &mut ByteStream) -> io::Result<()> {
    while batch.len() < BATCH_BYTES {
        if rest.is_empty() {
            let Some(piece) = bytes.next().await else { break };
            *rest = piece?;
        }
        let count = rest.len().min(BATCH_BYTES - batch.len());
        batch.extend_from_slice(&rest.split_to(count));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;

    #[tokio::test]
    async fn bytes_in_pieces_of_any_size_arrive_whole() {
        let directory = tempfile::tempdir().unwrap();
        let whole: Vec<u8> = (0u32..).flat_map(u32::to_le_bytes).take(3_000_000).collect();
        for size in [1_usize, 4096, 100_000, 1 << 20, 5_000_000] {
            let whole = if size == 1 { &whole[..5000] } else { &whole[..] };
            let pieces: Vec<_> =
                whole.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
            let spool = Spool::begin(directory.path()).unwrap();
            let spool = spool.fill(stream::iter(pieces).boxed()).await.unwrap();
            assert_eq!(spool.length, whole.len() as u64);
            assert!(std::fs::read(spool.file.path()).unwrap() == whole, "in pieces of {size}");
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn nobody_else_can_read_what_is_not_finished() {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool::begin(directory.path()).unwrap();
        assert_eq!(spool.file.as_file().metadata().unwrap().mode() & 0o7777, 0o600);
        let plain = std::fs::File::create(directory.path().join("plain")).unwrap();
        assert_eq!(spool.mode, plain.metadata().unwrap().mode() & 0o7777);
    }

    #[tokio::test]
    async fn what_breaks_off_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let pieces = [Ok(Bytes::from(vec![1; 2 << 20])), Err(io::Error::other("gone"))];
        let spool = Spool::begin(directory.path()).unwrap();
        let broken = spool.fill(stream::iter(pieces).boxed()).await.unwrap_err();
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
        let broken = spool.fill(stream::iter(pieces).boxed()).await.unwrap_err();
        assert_eq!(broken.kind(), io::ErrorKind::StorageFull);
    }
}
