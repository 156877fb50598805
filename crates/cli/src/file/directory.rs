//! A directory with all that is in it, in either direction, as an archive that is packed while it is sent.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;

use atoll_api::file::{ArchiveFormat, DownloadArchive, ExtractArchive};
use atoll_archive::{Existing, Format, Limits, Packed, Tree, extract, pack};
use atoll_client::Payload;
use atoll_operation::ByteStream;
use bytes::Bytes;
use futures::StreamExt;
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::program::Session;
use crate::progress::Progress;

/// Pieces of an archive that wait to be sent.
const WAITING: usize = 8;

/// What went over.
#[derive(Debug)]
pub(super) struct Copied {
    pub(super) entries: u64,
    pub(super) bytes: u64,
}

/// Uploads a directory, to be called `name` in the directory `parent`. What is there already is kept, but for files that
/// are in both.
pub(super) async fn upload(
    session: &Session,
    source: &Path,
    parent: &str,
    name: &str,
) -> Result<Copied, Failure> {
    let tree = Tree::open(source).map_err(Failure::failed)?.called(name);
    let (sender, receiver) = mpsc::channel(WAITING);
    let packing = thread::Builder::new().name("pack".to_owned()).spawn(move || {
        let packed = pack(&tree, Format::Tar, Sink(sender.clone()), &AtomicBool::new(false));
        if packed.is_err() {
            // Half an archive must not look like a whole one.
            let broken = io::Error::other("the directory could not be read to its end");
            let _gone = sender.blocking_send(Err(broken));
        }
        packed
    });
    let packing = packing.map_err(|error| Failure::failed(format!("cannot pack: {error}")))?;
    let progress = Progress::new(name, None);
    let bytes =
        futures::stream::unfold((receiver, progress), async |(mut receiver, mut progress)| {
            let piece: io::Result<Bytes> = receiver.recv().await?;
            progress.add(piece.as_ref().map_or(0, |piece| piece.len() as u64));
            Some((piece, (receiver, progress)))
        });
    let bytes: ByteStream = bytes.boxed();
    let extract = ExtractArchive { path: Some(parent.to_owned()), overwrite: true };
    let uploaded = session.client.upload(extract, "directory.tar", Payload::from(bytes)).await;
    let packed = packing.join().unwrap_or(Ok(Packed::default()));
    match (uploaded, packed) {
        (Ok(extracted), packed) => {
            if let Ok(Packed { skipped: 1.., .. }) = packed {
                eprintln!(
                    "atoll: devices, pipes and sockets in {} were left out",
                    source.display()
                );
            }
            Ok(Copied { entries: extracted.entries, bytes: extracted.bytes })
        }
        // A refusal ends the packing too: what the sandbox says is the reason then.
        (Err(error), _) if error.refusal().is_some() => Err(session.explain(error)),
        (Err(_), Err(error)) if !matches!(error, atoll_archive::PackError::Write(_)) => {
            Err(Failure::failed(error))
        }
        (Err(error), _) => Err(session.explain(error)),
    }
}

/// The end of a channel that an archive is written into.
struct Sink(mpsc::Sender<io::Result<Bytes>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Ok(Bytes::copy_from_slice(bytes));
        self.0.blocking_send(piece).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Downloads a directory to exactly this path.
pub(super) async fn download(
    session: &Session,
    source: &str,
    target: &Path,
) -> Result<Copied, Failure> {
    let unwritable = |error: io::Error| {
        Failure::failed(format!("{} cannot be written: {error}", target.display()))
    };
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or_else(|| Path::new("."));
    let mut archive = tempfile::tempfile_in(parent).map_err(unwritable)?;
    fetch(session, source, target, &mut archive).await?;
    // Unpacked beside its place and moved there: the archive calls it by the name it has in the sandbox.
    let stage =
        tempfile::Builder::new().prefix(".atoll-").tempdir_in(parent).map_err(unwritable)?;
    let unpacked = unpack(&mut archive, stage.path())?;
    let Some(root) = only_entry(stage.path()).map_err(unwritable)? else {
        return Err(Failure::failed(format!("the archive of {source} holds no directory")));
    };
    if target.is_dir() {
        if Some(root.as_os_str()) != target.file_name() {
            let renamed = stage.path().join(target.file_name().unwrap_or_default());
            std::fs::rename(stage.path().join(&root), renamed).map_err(unwritable)?;
        }
        merge(stage.path(), parent, target)?;
    } else {
        std::fs::rename(stage.path().join(&root), target).map_err(unwritable)?;
    }
    Ok(unpacked)
}

async fn fetch(
    session: &Session,
    source: &str,
    target: &Path,
    archive: &mut File,
) -> Result<(), Failure> {
    let request = DownloadArchive { path: source.to_owned(), format: ArchiveFormat::Tar };
    let download = session.client.download(request).await;
    let mut download = download.map_err(|error| session.explain(error))?;
    let name = target.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut progress = Progress::new(&name.unwrap_or_default(), download.length());
    while let Some(part) = download.next().await {
        let part = part.map_err(|error| session.explain(error))?;
        let kept = archive.write_all(&part);
        kept.map_err(|error| {
            Failure::failed(format!("there is no room for the archive: {error}"))
        })?;
        progress.add(part.len() as u64);
    }
    Ok(())
}

fn unpack(archive: &mut File, into: &Path) -> Result<Copied, Failure> {
    let limits = Limits { entries: u64::MAX, bytes: u64::MAX, ratio: u64::MAX };
    let unpacked = extract(archive, into, Existing::Replace, limits, &AtomicBool::new(false));
    let unpacked = unpacked.map_err(Failure::failed)?;
    Ok(Copied { entries: unpacked.entries, bytes: unpacked.bytes })
}

/// Moves a directory over one of the same name: files that are in both are replaced, the others stay.
fn merge(stage: &Path, parent: &Path, target: &Path) -> Result<(), Failure> {
    let name = target.file_name().unwrap_or_default();
    let tree = Tree::open(&stage.join(name)).map_err(Failure::failed)?;
    let mut archive = tempfile::tempfile_in(parent)
        .map_err(|error| Failure::failed(format!("{}: {error}", parent.display())))?;
    pack(&tree, Format::Tar, &mut archive, &AtomicBool::new(false)).map_err(Failure::failed)?;
    unpack(&mut archive, parent).map(|_| ())
}

fn only_entry(directory: &Path) -> io::Result<Option<PathBuf>> {
    let mut entries = std::fs::read_dir(directory)?;
    entries.next().map(|entry| entry.map(|entry| PathBuf::from(entry.file_name()))).transpose()
}
