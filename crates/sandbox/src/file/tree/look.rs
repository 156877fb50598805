//! Looking at a path without reading it.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use atoll_api::file::{
    FileExists, FileStat, FileType, PathExists, ResolvePath, ResolvedPath, StatPath,
};
use atoll_operation::{Context, Error, Handle};
use rustix::io::Errno;

use super::names::{Names, octal, symbolic};
use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::Files;

impl Handle<StatPath> for Files {
    async fn handle(&self, cx: &Context, input: StatPath) -> Result<FileStat, Error> {
        let path = self.path("stat", &input.path)?;
        self.at_desk(cx, move |_| {
            stat(&path, input.follow).map_err(|error| Attempt::new("stat", &path).failed(&error))
        })
        .await
    }
}

impl Handle<FileExists> for Files {
    async fn handle(&self, cx: &Context, input: FileExists) -> Result<PathExists, Error> {
        let path = self.path("exists", &input.path)?;
        self.at_desk(cx, move |_| match fs::metadata(&path) {
            Ok(_) => Ok(PathExists { exists: true }),
            Err(error) if leads_nowhere(&error) => Ok(PathExists { exists: false }),
            Err(error) => Err(Attempt::new("exists", &path).failed(&error)),
        })
        .await
    }
}

impl Handle<ResolvePath> for Files {
    async fn handle(&self, cx: &Context, input: ResolvePath) -> Result<ResolvedPath, Error> {
        let path = self.path("resolve", &input.path)?;
        self.at_desk(cx, move |_| match fs::canonicalize(&path) {
            Ok(resolved) => Ok(ResolvedPath { resolved_path: show(&resolved) }),
            Err(error) => Err(Attempt::new("resolve", &path).failed(&error)),
        })
        .await
    }
}

/// Whether an error says that there is nothing at a path.
pub(super) fn leads_nowhere(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

fn stat(path: &Path, follow: bool) -> io::Result<FileStat> {
    let nothing =
        |error: io::Error| if leads_nowhere(&error) { Ok(missing(path)) } else { Err(error) };
    let itself = match fs::symlink_metadata(path) {
        Ok(itself) => itself,
        Err(error) => return nothing(error),
    };
    let link_target = if itself.is_symlink() { Some(show(&fs::read_link(path)?)) } else { None };
    let metadata = match &link_target {
        Some(_) if follow => match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => return nothing(error),
        },
        _ => itself,
    };
    let names = Names::default();
    Ok(FileStat {
        path: show(path),
        exists: true,
        file_type: Some(kind(&metadata)),
        is_dir: metadata.is_dir(),
        size: metadata.size(),
        mode: symbolic(metadata.mode()),
        permissions: octal(metadata.mode()),
        mod_time_unix: metadata.mtime(),
        modified_time: modified(&metadata),
        owner: names.user(metadata.uid()),
        group: names.group(metadata.gid()),
        link_target,
    })
}

fn missing(path: &Path) -> FileStat {
    FileStat {
        path: show(path),
        exists: false,
        file_type: None,
        is_dir: false,
        size: 0,
        mode: String::new(),
        permissions: String::new(),
        mod_time_unix: 0,
        modified_time: None,
        owner: String::new(),
        group: String::new(),
        link_target: None,
    }
}

fn kind(metadata: &Metadata) -> FileType {
    match metadata.file_type() {
        kind if kind.is_file() => FileType::File,
        kind if kind.is_dir() => FileType::Directory,
        kind if kind.is_symlink() => FileType::Symlink,
        kind if kind.is_fifo() => FileType::Fifo,
        kind if kind.is_socket() => FileType::Socket,
        _ => FileType::Device,
    }
}

/// When something last changed, in the form of RFC 3339.
pub(super) fn modified(metadata: &Metadata) -> Option<String> {
    let nanoseconds = i32::try_from(metadata.mtime_nsec()).unwrap_or_default();
    let moment = jiff::Timestamp::new(metadata.mtime(), nanoseconds).ok()?;
    Some(moment.to_string())
}
