//! An archive on its way in: bytes collected in a file that nobody sees and that is gone when it is let go of.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use atoll_operation::ByteStream;
use bytes::Bytes;
use futures::StreamExt;
use tokio::task::{JoinHandle, spawn_blocking};

/// Bytes that are written together.
const BATCH: usize = 1 << 20;

/// Why an archive did not come in.
#[derive(Debug)]
pub(super) enum Fault {
    /// It broke off, or could not be written.
    Io(io::Error),
    /// It is longer than it may be.
    TooLong,
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Begins such a file in the first of these directories that takes one.
pub(super) fn begin(directories: &[&Path]) -> io::Result<File> {
    let mut outcome = Err(io::ErrorKind::NotFound.into());
    for directory in directories {
        outcome = tempfile::tempfile_in(directory);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// Takes all bytes. While some are written, away from the threads that serve connections, the next ones come in.
pub(super) async fn fill(file: File, mut bytes: ByteStream, limit: u64) -> Result<File, Fault> {
    let mut writing = Writing::Idle(file);
    let mut length = 0_u64;
    loop {
        let batch = gather(&mut bytes).await?;
        let mut file = writing.finish().await?;
        if batch.is_empty() {
            return Ok(file);
        }
        length += batch.iter().map(|piece| piece.len() as u64).sum::<u64>();
        if length > limit {
            return Err(Fault::TooLong);
        }
        writing = Writing::Busy(spawn_blocking(move || {
            batch.iter().try_for_each(|piece| file.write_all(piece))?;
            Ok(file)
        }));
    }
}

enum Writing {
    Idle(File),
    Busy(JoinHandle<io::Result<File>>),
}

impl Writing {
    async fn finish(self) -> io::Result<File> {
        match self {
            Self::Idle(file) => Ok(file),
            Self::Busy(writing) => writing.await.map_err(io::Error::other).flatten(),
        }
    }
}

/// Collects enough to be worth writing, or what is left.
async fn gather(bytes: &mut ByteStream) -> io::Result<Vec<Bytes>> {
    let mut batch = Vec::new();
    let mut length = 0;
    while length < BATCH {
        let Some(piece) = bytes.next().await else { break };
        let piece = piece?;
        length += piece.len();
        if !piece.is_empty() {
            batch.push(piece);
        }
    }
    Ok(batch)
}
