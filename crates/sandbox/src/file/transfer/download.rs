//! Opening a file to be sent.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use atoll_api::file::{DownloadFile, FileDownloadChangePolicy};
use atoll_api::system::Limits;
use atoll_operation::{Content, Context, Error, Fetch, FileSource, Kind, Source, Version};
use bytes::Bytes;
use rustix::io::Errno;

use crate::file::content::{Source as Opened, read_all};
use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::{Files, blocking};

impl Fetch<DownloadFile> for Files {
    async fn fetch(&self, _: &Context, input: DownloadFile) -> Result<Content, Error> {
        let path = self.path("download", &input.path)?;
        let limits = Arc::clone(&self.limits);
        blocking(move || open(&path, input.change_policy, &limits)).await
    }
}

fn open(path: &Path, policy: FileDownloadChangePolicy, limits: &Limits) -> Result<Content, Error> {
    let attempt = Attempt::new("download", path);
    if fs::metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        let archive = "Directories are downloaded as archives, from /v1/file/archive";
        return Err(attempt.failed_with(&Errno::ISDIR.into(), archive));
    }
    let opened = Opened::open(attempt, path)?;
    let metadata = opened.file.metadata().map_err(|error| attempt.failed(&error))?;
    let stamp = Stamp::of(&metadata);
    let version = Some(stamp.version());
    // The files of `/proc` and `/sys` take no space on a disk and do not know how long they are.
    let (source, version) = if metadata.blocks() == 0 && stamp.size <= limits.file_read_bytes {
        let bytes = read_all(attempt, &opened, limits.file_read_bytes, "read it in the shell")?;
        let version = version.filter(|_| bytes.len() as u64 == stamp.size);
        if policy == FileDownloadChangePolicy::Abort && version.is_some() {
            stamp.check(&opened.file, path).map_err(|_| changed(path))?;
        }
        (Source::Bytes(Bytes::from(bytes)), version)
    } else {
        let file = Arc::new(opened.file);
        let source = FileSource { file: Arc::clone(&file), length: stamp.size, check: None };
        let source = match policy {
            FileDownloadChangePolicy::Ignore => source,
            FileDownloadChangePolicy::Abort => {
                stamp.check(&file, path).map_err(|_| changed(path))?;
                let path = path.to_owned();
                FileSource { check: Some(Arc::new(move || stamp.check(&file, &path))), ..source }
            }
        };
        (Source::File(source), version)
    };
    Ok(Content {
        media_type: "application/octet-stream".to_owned(),
        filename: path.file_name().map(|name| show(name.as_ref())),
        inline: false,
        version,
        headers: Vec::new(),
        source,
    })
}

fn changed(path: &Path) -> Error {
    let message =
        format!("{} changes at this moment; ask for it again when it is complete", show(path));
    Error::new(Kind::Conflict, "file.changed", message)
}

/// What tells a version of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
        }
    }

    fn version(self) -> Version {
        let Self { inode, size, seconds, nanoseconds, .. } = self;
        let tag = format!("{inode:x}-{size:x}-{seconds:x}-{nanoseconds:x}");
        Version { tag, modified: Some(seconds) }
    }

    /// Whether the open file still is what it was, and what the path leads to.
    fn check(self, file: &File, path: &Path) -> io::Result<()> {
        if Self::of(&file.metadata()?) == self && Self::of(&fs::metadata(path)?) == self {
            return Ok(());
        }
        Err(io::Error::other("the file changed while it was sent"))
    }
}

#[cfg(test)]
mod tests;
