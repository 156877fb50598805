//! A directory packed while it is sent.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use atoll_api::file::{ArchiveFormat, DownloadArchive};
use atoll_archive::{Format, PackError, Tree};
use atoll_operation::{ByteStream, Content, Context, Error, Fetch, Source};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::abandon::Abandon;
use super::fault::not_packed;
use crate::file::paths::show;
use crate::file::service::{Files, blocking};

/// Bytes handed over at once.
const CHUNK: usize = 256 << 10;
/// Chunks that may wait to be sent; then packing waits.
const CHUNKS: usize = 4;

impl Fetch<DownloadArchive> for Files {
    async fn fetch(&self, _: &Context, input: DownloadArchive) -> Result<Content, Error> {
        let path = self.path("archive", &input.path)?;
        let tree = blocking(move || Tree::open(&path).map_err(|error| not_packed(&error))).await?;
        let (format, media_type) = match input.format {
            ArchiveFormat::Tar => (Format::Tar, "application/x-tar"),
            ArchiveFormat::TarGz => (Format::TarGz, "application/gzip"),
            ArchiveFormat::Zip => (Format::Zip, "application/zip"),
        };
        Ok(Content {
            media_type: media_type.to_owned(),
            filename: Some(format!("{}.{format}", show(tree.name().as_ref()))),
            inline: false,
            version: None,
            headers: Vec::new(),
            source: Source::Stream(packed(tree, format)),
        })
    }
}

/// The archive's bytes. Packing begins when the first are asked for and ends when nobody takes them any more.
fn packed(tree: Tree, format: Format) -> ByteStream {
    stream::once(async move { Packing::begin(tree, format) })
        .flat_map(|packing| stream::unfold(packing, Packing::next))
        .boxed()
}

struct Packing {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    /// `None` once its end is known.
    work: Option<JoinHandle<()>>,
    _abandon: Abandon,
}

impl Packing {
    fn begin(tree: Tree, format: Format) -> Self {
        let (sender, chunks) = mpsc::channel(CHUNKS);
        let abandon = Abandon::default();
        let flag = abandon.flag();
        let work = spawn_blocking(move || work(&tree, format, &sender, &flag));
        Self { chunks, work: Some(work), _abandon: abandon }
    }

    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        if let Some(chunk) = self.chunks.recv().await {
            return Some((chunk, self));
        }
        // Bytes that cease to come are the end only if the work came to its end.
        let ended = self.work.take()?.await;
        ended.err().map(|error| (Err(io::Error::other(error)), self))
    }
}

/// Packs, and says so when it could not: an archive that breaks off must not look like one that ends.
fn work(
    tree: &Tree,
    format: Format,
    sender: &mpsc::Sender<io::Result<Bytes>>,
    flag: &Arc<AtomicBool>,
) {
    let mut sink = Sink { sender, chunk: Vec::with_capacity(CHUNK) };
    let packed = atoll_archive::pack(tree, format, &mut sink, flag)
        .and_then(|packed| sink.flush().map(|()| packed).map_err(PackError::Write));
    match packed {
        Ok(packed) if packed.skipped > 0 => {
            tracing::debug!(packed.skipped, "devices, pipes and sockets were not packed");
        }
        Ok(_) => {}
        Err(error) => {
            tracing::debug!(%error, "an archive was not packed to its end");
            let error = io::Error::other(not_packed(&error).message().to_owned());
            let _nobody_waits = sender.blocking_send(Err(error));
        }
    }
}

/// Hands bytes over in chunks, and waits while too many wait to be sent.
struct Sink<'a> {
    sender: &'a mpsc::Sender<io::Result<Bytes>>,
    chunk: Vec<u8>,
}

impl Sink<'_> {
    fn send(&mut self) -> io::Result<()> {
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        let sent = self.sender.blocking_send(Ok(chunk.into()));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = CHUNK - self.chunk.len();
        let taken = &bytes[..room.min(bytes.len())];
        self.chunk.extend_from_slice(taken);
        if self.chunk.len() == CHUNK {
            self.send()?;
        }
        Ok(taken.len())
    }

    /// Called between and at the end: what was collected goes, however little.
    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() { Ok(()) } else { self.send() }
    }
}
