//! What lies where, and moving it about.

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FAULTS, yes};

/// What a list of files is ordered by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListSort {
    /// Name, directories and files mixed.
    #[default]
    Name,
    /// Size.
    Size,
    /// Time of the last change.
    Modified,
    /// Directories first, then by extension.
    Type,
}

/// List a directory.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListPath {
    /// The directory.
    pub path: String,
    /// Go into directories, but not through symbolic links.
    #[serde(default)]
    pub recursive: bool,
    /// Include names that begin with a dot.
    #[serde(default = "yes")]
    pub show_hidden: bool,
    /// Only files with one of these extensions (`.py`); directories are then left out.
    #[serde(default)]
    pub file_types: Option<Vec<String>>,
    /// Levels to go down with `recursive`; 1 is the directory itself.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_depth: Option<u64>,
    /// Include sizes.
    #[serde(default = "yes")]
    pub include_size: bool,
    /// Include permissions.
    #[serde(default)]
    pub include_permissions: bool,
    /// What to order by.
    #[serde(default)]
    pub sort_by: ListSort,
    /// Turn the order round.
    #[serde(default)]
    pub sort_desc: bool,
}

/// Something in a directory.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileInfo {
    /// Its name.
    pub name: String,
    /// Its absolute path.
    pub path: String,
    /// Whether it is a directory, or a link to one.
    pub is_directory: bool,
    /// Bytes; null for directories.
    pub size: Option<u64>,
    /// When its content last changed.
    #[schemars(extend("format" = "date-time"))]
    pub modified_time: Option<String>,
    /// Permission bits in octal (`644`), when asked for.
    pub permissions: Option<String>,
    /// The part of a file's name from its last dot on.
    pub extension: Option<String>,
    /// Whether it is a symbolic link.
    pub is_symlink: bool,
}

/// A directory's content.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileListResult {
    /// The directory.
    pub path: String,
    /// What is in it.
    pub files: Vec<FileInfo>,
    /// Entries listed.
    pub total_count: u64,
    /// Directories among them.
    pub directory_count: u64,
    /// Files among them.
    pub file_count: u64,
    /// Whether there was more than one answer carries.
    pub truncated: bool,
}

impl Operation for ListPath {
    type Output = FileListResult;
    const SPEC: Spec = Spec::post("file_list", "/v1/file/list", "file:read")
        .sdk("file", "list_path")
        .mcp(Mcp::ReadOnly)
        .errors(FAULTS);
}

/// Look at a path without reading it. What does not exist is an answer, not an error.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StatPath {
    /// The path.
    pub path: String,
    /// Look at what a symbolic link points to.
    #[serde(default = "yes")]
    pub follow: bool,
}

/// What kind of thing a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
}

/// What is known of a path.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileStat {
    /// Its absolute path.
    pub path: String,
    /// Whether there is something; the fields after it are empty when there is not.
    pub exists: bool,
    /// What it is.
    pub file_type: Option<FileType>,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Bytes.
    pub size: u64,
    /// Type and permissions as `ls -l` shows them (`-rw-r--r--`).
    pub mode: String,
    /// Permission bits in octal (`644`).
    pub permissions: String,
    /// When its content last changed, in seconds since 1970.
    pub mod_time_unix: i64,
    /// The same as text.
    #[schemars(extend("format" = "date-time"))]
    pub modified_time: Option<String>,
    /// Owner: its name, or its number when it has none.
    pub owner: String,
    /// Group: its name, or its number when it has none.
    pub group: String,
    /// Where a symbolic link points to.
    pub link_target: Option<String>,
}

impl Operation for StatPath {
    type Output = FileStat;
    const SPEC: Spec =
        Spec::post("file_stat", "/v1/file/stat", "file:read").mcp(Mcp::ReadOnly).errors(FAULTS);
}

/// Ask whether a path exists. A symbolic link that points nowhere does not.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FileExists {
    /// The path.
    pub path: String,
}

/// Whether a path exists.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PathExists {
    /// Whether it does.
    pub exists: bool,
}

impl Operation for FileExists {
    type Output = PathExists;
    const SPEC: Spec = Spec::get("file_exists", "/v1/file/exists", "file:read").errors(FAULTS);
}

/// Follow every symbolic link of a path.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ResolvePath {
    /// The path; it must exist.
    pub path: String,
}

/// Where a path leads.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedPath {
    /// The absolute path without symbolic links.
    pub resolved_path: String,
}

impl Operation for ResolvePath {
    type Output = ResolvedPath;
    const SPEC: Spec =
        Spec::post("file_eval_symlinks", "/v1/file/eval-symlinks", "file:read").errors(FAULTS);
}

/// Make a directory, and those it lies in. One that exists is fine.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct MakeDirectory {
    /// The directory.
    pub path: String,
    /// Permission bits as a number (493 is 0755) for the last one.
    #[serde(default)]
    #[schemars(range(min = 0, max = 0o7777))]
    pub mode: Option<u32>,
}

/// A directory that is there now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MakeDirectoryResult {
    /// The directory.
    pub path: String,
    /// Whether it was made just now.
    pub created: bool,
}

impl Operation for MakeDirectory {
    type Output = MakeDirectoryResult;
    const SPEC: Spec =
        Spec::post("file_mkdir", "/v1/file/mkdir", "file:write").mcp(Mcp::Mutating).errors(FAULTS);
}

/// Delete a file, a link, or a directory with everything in it. What is gone already is fine.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DeletePath {
    /// The path. Symbolic links are deleted, not followed.
    pub path: String,
    /// Delete a directory that is not empty.
    #[serde(default = "yes")]
    pub recursive: bool,
}

/// What was deleted.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DeleteResult {
    /// The path.
    pub path: String,
    /// Whether there was something to delete.
    pub deleted: bool,
}

impl Operation for DeletePath {
    type Output = DeleteResult;
    const SPEC: Spec = Spec::post("file_delete", "/v1/file/delete", "file:write")
        .mcp(Mcp::Destructive)
        .errors(FAULTS);
}

/// Move or rename a file or directory, across file systems too.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MovePath {
    /// What to move.
    pub source: String,
    /// Its new path; inside it when it is a directory that exists, as with `mv`.
    pub destination: String,
    /// Replace a file that is there already.
    #[serde(default = "yes")]
    pub overwrite: bool,
}

/// What was moved.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MoveResult {
    /// Where it was.
    pub source: String,
    /// Where it is.
    pub destination: String,
}

impl Operation for MovePath {
    type Output = MoveResult;
    const SPEC: Spec =
        Spec::post("file_move", "/v1/file/move", "file:write").mcp(Mcp::Destructive).errors(FAULTS);
}

/// Copy a file, or a directory with everything in it. Modes and symbolic links are kept.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CopyPath {
    /// What to copy.
    pub source: String,
    /// Where to; inside it when it is a directory that exists, as with `cp`.
    pub destination: String,
    /// Replace files that are there already.
    #[serde(default = "yes")]
    pub overwrite: bool,
}

/// What was copied.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CopyResult {
    /// The original.
    pub source: String,
    /// The copy.
    pub destination: String,
    /// Files copied.
    pub files: u64,
    /// Bytes copied.
    pub bytes: u64,
}

impl Operation for CopyPath {
    type Output = CopyResult;
    const SPEC: Spec =
        Spec::post("file_copy", "/v1/file/copy", "file:write").mcp(Mcp::Destructive).errors(FAULTS);
}

/// Tell where temporary files belong.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetTempDirectory {}

/// Tell the home directory.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetHomeDirectory {}

/// A directory of the sandbox.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct KnownDirectory {
    /// Its absolute path.
    pub path: String,
}

impl Operation for GetTempDirectory {
    type Output = KnownDirectory;
    const SPEC: Spec = Spec::get("file_temp_dir", "/v1/file/temp-dir", "file:read");
}

impl Operation for GetHomeDirectory {
    type Output = KnownDirectory;
    const SPEC: Spec = Spec::get("file_home_dir", "/v1/file/home-dir", "file:read");
}
