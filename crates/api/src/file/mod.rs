//! Files: read, write, edit, search, watch and move them, in and out of the sandbox.
//!
//! Paths may be absolute, begin with `~`, or be relative to the workspace. What the file system refuses is reported as
//! a [`FileOperationError`] in the error's details.

mod content;
mod editor;
mod jsonl;
mod search;
mod transfer;
mod tree;
mod watch;

use atoll_operation::Declaration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use content::{
    AppendFile, CreateTempFile, FileContentEncoding, FileReadResult, FileReplaceResult,
    FileSearchResult, FileWriteResult, ReadFile, ReplaceInFile, SearchInFile, TempFile, WriteFile,
};
pub use editor::{
    EditFile, EditFileResult, EditMatch, EditorCommand, ReplaceMode, StrReplaceEditor,
    StrReplaceEditorResult,
};
pub use jsonl::{
    AppendJsonLines, AppendedJsonLines, CountJsonLines, JsonLineCount, JsonLines, OneOrMany,
    ReadJsonLines,
};
pub use search::{
    FileFindResult, FileGlobResult, FileGrepResult, FindFiles, GlobFileInfo, GlobFiles, GlobSort,
    GrepFiles, GrepMatch, GrepText, GrepTextMode, GrepTextResult,
};
pub use transfer::{
    ArchiveFormat, DownloadArchive, DownloadFile, ExtractArchive, ExtractedArchive,
    FileDownloadChangePolicy, FileUploadResult, UploadFile,
};
pub use tree::{
    CopyPath, CopyResult, DeletePath, DeleteResult, FileExists, FileInfo, FileListResult, FileStat,
    FileType, GetHomeDirectory, GetTempDirectory, KnownDirectory, ListPath, ListSort,
    MakeDirectory, MakeDirectoryResult, MovePath, MoveResult, PathExists, ResolvePath,
    ResolvedPath, StatPath,
};
pub use watch::{
    CreateWatch, FileEvent, FileEventKind, FollowWatch, ListWatches, PollWatch, StopWatch,
    StoppedWatch, WaitForFile, WaitedEvent, WatchEvents, Watcher, Watchers,
};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of::<ReadFile>(),
    Declaration::of::<WriteFile>(),
    Declaration::of::<AppendFile>(),
    Declaration::of::<ReplaceInFile>(),
    Declaration::of::<SearchInFile>(),
    Declaration::of::<CreateTempFile>(),
    Declaration::of::<FindFiles>(),
    Declaration::of::<GrepFiles>(),
    Declaration::of::<GrepText>(),
    Declaration::of::<GlobFiles>(),
    Declaration::of::<CountJsonLines>(),
    Declaration::of::<ReadJsonLines>(),
    Declaration::of::<AppendJsonLines>(),
    Declaration::of_upload::<UploadFile>(),
    Declaration::of_download::<DownloadFile>(),
    Declaration::of_download::<DownloadArchive>(),
    Declaration::of_upload::<ExtractArchive>(),
    Declaration::of::<ListPath>(),
    Declaration::of::<StatPath>(),
    Declaration::of::<FileExists>(),
    Declaration::of::<ResolvePath>(),
    Declaration::of::<MakeDirectory>(),
    Declaration::of::<DeletePath>(),
    Declaration::of::<MovePath>(),
    Declaration::of::<CopyPath>(),
    Declaration::of::<GetTempDirectory>(),
    Declaration::of::<GetHomeDirectory>(),
    Declaration::of::<StrReplaceEditor>(),
    Declaration::of::<EditFile>(),
    Declaration::of::<ListWatches>(),
    Declaration::of::<CreateWatch>(),
    Declaration::of::<FollowWatch>(),
    Declaration::of::<PollWatch>(),
    Declaration::of::<WaitForFile>(),
    Declaration::of::<StopWatch>(),
];

/// The codes of what a file system may refuse: `file.` and the [`FileOperationError::error_type`].
const FAULTS: &[&str] = &[
    "file.not_found",
    "file.permission_denied",
    "file.invalid_target",
    "file.already_exists",
    "file.invalid_path",
    "file.read_only_filesystem",
    "file.no_space_left",
    "file.decode_error",
    "file.too_large",
    "file.io_error",
];

/// What a file system refused, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileOperationError {
    /// The path it was about.
    pub path: String,
    /// What was attempted: `read`, `write`, `list`, …
    pub operation: String,
    /// The failure in words.
    pub message: String,
    /// Its kind: `not_found`, `permission_denied`, `invalid_target`, `already_exists`, `invalid_path`,
    /// `read_only_filesystem`, `no_space_left`, `decode_error`, `too_large` or `io_error`.
    pub error_type: String,
    /// Whether the same call may succeed later.
    #[serde(default)]
    pub retryable: bool,
    /// The system's error number.
    #[serde(default)]
    pub errno: Option<i32>,
    /// The system's name for it.
    #[serde(default)]
    pub errno_name: Option<String>,
    /// The exception Python would raise.
    #[serde(default)]
    pub exception_type: Option<String>,
}

fn yes() -> bool {
    true
}
