//! One file, in either direction. What arrives appears when all of it is there.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use atoll_api::bash::ExecBash;
use atoll_api::file::{DownloadFile, FileDownloadChangePolicy, FileStat, UploadFile};
use atoll_client::Payload;
use atoll_operation::ByteStream;
use bytes::Bytes;
use futures::StreamExt;
use tokio::io::AsyncReadExt;

use crate::failure::Failure;
use crate::program::Session;
use crate::progress::Progress;

/// Bytes read at once.
const PIECE: usize = 256 << 10;

/// A file to upload.
pub(crate) async fn local_file(path: &Path) -> Result<Payload, Failure> {
    open(path, None).await
}

async fn open(path: &Path, progress: Option<Arc<Mutex<Progress>>>) -> Result<Payload, Failure> {
    let unreadable =
        |error: io::Error| Failure::failed(format!("{} cannot be read: {error}", path.display()));
    let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    let metadata = file.metadata().await.map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(Failure::usage(format!("{} is a directory", path.display())));
    }
    // A file that grows meanwhile is sent as long as it was; one that shrinks breaks the upload off.
    let regular = metadata.is_file() && metadata.len() > 0;
    let left = if regular { metadata.len() } else { u64::MAX };
    let pieces =
        futures::stream::unfold((file, left, progress), async |(mut file, left, progress)| {
            let mut buffer = vec![0; usize::try_from(left).unwrap_or(PIECE).min(PIECE)];
            match file.read(&mut buffer).await {
                Ok(0) => None,
                Ok(count) => {
                    buffer.truncate(count);
                    if let Some(progress) = &progress {
                        progress.lock().unwrap_or_else(PoisonError::into_inner).add(count as u64);
                    }
                    Some((Ok(Bytes::from(buffer)), (file, left - count as u64, progress)))
                }
                Err(error) => Some((Err(error), (file, 0, progress))),
            }
        });
    let pieces: ByteStream = pieces.boxed();
    Ok(if regular { Payload::of_length(pieces, metadata.len()) } else { Payload::from(pieces) })
}

/// Uploads a file to exactly this path; the answer is how many bytes it has.
pub(super) async fn upload(session: &Session, source: &Path, target: &str) -> Result<u64, Failure> {
    let metadata = std::fs::metadata(source).map_err(|error| {
        Failure::failed(format!("{} cannot be read: {error}", source.display()))
    })?;
    let name = source.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| "upload".to_owned());
    let progress = Arc::new(Mutex::new(Progress::new(&name, Some(metadata.len()))));
    let payload = open(source, Some(Arc::clone(&progress))).await?;
    let upload = UploadFile { path: Some(target.to_owned()) };
    let uploaded = session.client.upload(upload, &name, payload).await;
    let uploaded = uploaded.map_err(|error| session.explain(error))?;
    drop(progress);
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o111 != 0 {
        make_executable(session, &uploaded.file_path, mode).await;
    }
    Ok(uploaded.file_size)
}

/// An upload carries no rights; a program must stay one.
async fn make_executable(session: &Session, path: &str, mode: u32) {
    let command = format!("chmod {mode:o} -- \"$ATOLL_COPIED\"");
    let env = [("ATOLL_COPIED".to_owned(), path.to_owned())].into();
    let changed =
        session.client.call(ExecBash { command, env: Some(env), ..ExecBash::default() }).await;
    let done = changed.as_ref().is_ok_and(|result| result.exit_code == Some(0));
    if !done {
        let why = changed
            .map_or_else(|error| error.to_string(), |result| result.stderr.unwrap_or_default());
        eprintln!("atoll: {path} could not be made executable: {}", why.trim_end());
    }
}

/// Downloads a file to exactly this path; the answer is how many bytes it has.
pub(super) async fn download(
    session: &Session,
    source: &FileStat,
    target: &Path,
) -> Result<u64, Failure> {
    let unwritable = |error: io::Error| {
        Failure::failed(format!("{} cannot be written: {error}", target.display()))
    };
    let request =
        DownloadFile { path: source.path.clone(), change_policy: FileDownloadChangePolicy::Abort };
    let download = session.client.download(request).await;
    let mut download = download.map_err(|error| session.explain(error))?;
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or_else(|| Path::new("."));
    let mut file =
        tempfile::Builder::new().prefix(".atoll-").tempfile_in(directory).map_err(unwritable)?;
    let name = target.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut progress = Progress::new(&name.unwrap_or_default(), download.length());
    while let Some(part) = download.next().await {
        let part = part.map_err(|error| session.explain(error))?;
        file.write_all(&part).map_err(unwritable)?;
        progress.add(part.len() as u64);
    }
    let mode = u32::from_str_radix(&source.permissions, 8).unwrap_or(0o644) & 0o777;
    let rights = std::fs::Permissions::from_mode(mode);
    file.as_file().set_permissions(rights).map_err(unwritable)?;
    file.persist(target).map_err(|error| unwritable(error.error))?;
    Ok(progress.done())
}
