//! Finding files by name and by content.

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::yes;

/// What a file system may refuse here, and a search that finds no turn.
const FAULTS: &[&str] = &[
    "file.not_found",
    "file.permission_denied",
    "file.invalid_target",
    "file.invalid_path",
    "file.io_error",
    "file.too_many_searches",
];

/// Find paths below a directory by a pattern, as Python's `glob` does.
///
/// `*.py` matches in the directory itself, `**/*.py` at any depth. Names that begin with a dot match only patterns that
/// say so.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FindFiles {
    /// Directory to look in.
    pub path: String,
    /// The pattern: `*`, `?`, `[…]`, and `**` for any depth.
    pub glob: String,
}

/// Paths found.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileFindResult {
    /// Directory looked in.
    pub path: String,
    /// Absolute paths, in order.
    pub files: Vec<String>,
    /// Whether there was more than one answer carries.
    pub truncated: bool,
}

impl Operation for FindFiles {
    type Output = FileFindResult;
    const SPEC: Spec = Spec::post("file_find", "/v1/file/find", "file:read")
        .sdk("file", "find_files")
        .errors(FAULTS);
}

/// Search the content of files with a regular expression, as ripgrep does.
///
/// Results are ordered by path and line, so that `offset` pages through them. Binary files and links are passed over.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GrepFiles {
    /// Directory or file to search.
    pub path: String,
    /// The expression, in the syntax of Rust's `regex`.
    pub pattern: String,
    /// Only files matching one of these globs: `*.py`, `src/**`.
    #[serde(default)]
    pub include: Option<Vec<String>>,
    /// No files or directories of these names or globs: `node_modules`, `*.min.js`.
    #[serde(default)]
    pub exclude: Option<Vec<String>>,
    /// Take upper and lower case for the same.
    #[serde(default)]
    pub case_insensitive: bool,
    /// Take the pattern literally.
    #[serde(default)]
    pub fixed_strings: bool,
    /// Lines to show before each match.
    #[serde(default)]
    #[schemars(range(min = 0, max = 20))]
    pub context_before: u64,
    /// Lines to show after each match.
    #[serde(default)]
    #[schemars(range(min = 0, max = 20))]
    pub context_after: u64,
    /// Matches to return at most.
    #[serde(default = "max_matches")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_results: u64,
    /// Pass over files larger than this: `500K`, `1M`, `2G`, or bytes.
    #[serde(default = "max_file_size")]
    pub max_file_size: String,
    /// Let a match span lines; `.` then matches line breaks too.
    #[serde(default)]
    pub multiline: bool,
    /// Matches to skip: the number already seen.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub offset: u64,
    /// Only files of this type, by ripgrep's names: `py`, `rust`, `js`, `md`.
    #[serde(default, rename = "type")]
    pub file_type: Option<String>,
    /// Go into directories.
    #[serde(default = "yes")]
    pub recursive: bool,
    /// Search names that begin with a dot too.
    #[serde(default)]
    pub include_hidden: bool,
    /// Pass over what `.gitignore` and `.ignore` files name.
    #[serde(default)]
    pub gitignore: bool,
    /// Characters of a line to return at most; the part round the match is kept.
    #[serde(default = "max_line_length")]
    #[schemars(range(min = 1, max = 100_000))]
    pub max_line_length: u64,
    /// Seconds to search at most; what was found by then is returned.
    #[serde(default = "search_timeout")]
    #[schemars(range(min = 1, max = 300))]
    pub timeout: u64,
}

/// A line that matched.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GrepMatch {
    /// Absolute path of the file.
    pub file: String,
    /// The line, from 1; the first one when the match spans several.
    pub line_number: u64,
    /// The line without its line break; all lines of a match that spans several.
    pub line_content: String,
    /// Lines before it, when asked for.
    pub context_before: Option<Vec<String>>,
    /// Lines after it, when asked for.
    pub context_after: Option<Vec<String>>,
}

/// What matched in files.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileGrepResult {
    /// What was searched.
    pub path: String,
    /// What for.
    pub pattern: String,
    /// The matches, by path and line.
    pub matches: Vec<GrepMatch>,
    /// Matches returned.
    pub match_count: u64,
    /// Files searched.
    pub files_searched: Option<u64>,
    /// Files with a match among those returned.
    pub files_matched: Option<u64>,
    /// Whether there are more matches: go on with a larger `offset`.
    pub truncated: bool,
}

impl Operation for GrepFiles {
    type Output = FileGrepResult;
    const SPEC: Spec = Spec::post("file_grep", "/v1/file/grep", "file:read")
        .sdk("file", "grep_files")
        .mcp(Mcp::ReadOnly)
        .errors(FAULTS);
}

/// What a search in files tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrepTextMode {
    /// The lines that match.
    #[default]
    Content,
    /// The files that have some.
    FilesOnly,
    /// How many each file has.
    Count,
}

/// Search the content of files with a regular expression and tell what was found as text for an agent.
///
/// Files changed last come first. What `.gitignore` and `.ignore` files name, hidden files and binary ones are passed
/// over.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GrepText {
    /// The expression, in the syntax of Rust's `regex`.
    pub pattern: String,
    /// Directory or file to search; the workspace when omitted or empty.
    #[serde(default)]
    pub path: Option<String>,
    /// Only files matching this glob: `*.py`, `src/**`.
    #[serde(default)]
    pub glob: Option<String>,
    /// Take upper and lower case for the same.
    #[serde(default)]
    pub case_insensitive: bool,
    /// Lines to show before and after each match.
    #[serde(default)]
    #[schemars(range(min = 0, max = 20))]
    pub context_lines: u64,
    /// What to tell.
    #[serde(default)]
    pub output_mode: GrepTextMode,
    /// Lines or files to tell at most; 0 means 100.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10_000))]
    pub limit: u64,
    /// Characters of a line to tell at most; 0 means 2000.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub max_line_length: u64,
}

/// What was found, as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrepTextResult {
    /// The text.
    pub output: String,
    /// Lines or files told.
    pub count: u64,
    /// Whether there is more.
    pub truncated: bool,
}

impl Operation for GrepText {
    type Output = GrepTextResult;
    const SPEC: Spec = Spec::post("file_grep_text", "/v1/grep/search", "file:read").errors(FAULTS);
}

/// What found files are ordered by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GlobSort {
    /// Path.
    #[default]
    Path,
    /// Name.
    Name,
    /// Size.
    Size,
    /// Time of the last change.
    Modified,
}

/// Find files below a directory by a glob pattern.
///
/// A pattern without a slash matches names in the directory itself; `**/*.py` matches at any depth.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GlobFiles {
    /// Directory to look in.
    pub path: String,
    /// The pattern: `*`, `?`, `[…]`, `{a,b}`, and `**` for any depth.
    pub pattern: String,
    /// Leave out what has one of these names or matches one of these globs: `node_modules`, `build/**`.
    #[serde(default)]
    pub exclude: Option<Vec<String>>,
    /// Look at names that begin with a dot too.
    #[serde(default)]
    pub include_hidden: bool,
    /// Files only, no directories.
    #[serde(default = "yes")]
    pub files_only: bool,
    /// Include sizes and times.
    #[serde(default = "yes")]
    pub include_metadata: bool,
    /// Files to return at most.
    #[serde(default = "max_files")]
    #[schemars(range(min = 1, max = 50_000))]
    pub max_results: u64,
    /// What to order by.
    #[serde(default)]
    pub sort_by: GlobSort,
    /// Turn the order round.
    #[serde(default)]
    pub sort_desc: bool,
    /// Pass over what `.gitignore` and `.ignore` files name.
    #[serde(default)]
    pub gitignore: bool,
    /// Seconds to search at most; what was found by then is returned.
    #[serde(default = "search_timeout")]
    #[schemars(range(min = 1, max = 300))]
    pub timeout: u64,
}

/// A file found.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GlobFileInfo {
    /// Its absolute path.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Bytes; null for directories and when not asked for.
    pub size: Option<u64>,
    /// When its content last changed, when asked for.
    #[schemars(extend("format" = "date-time"))]
    pub modified_time: Option<String>,
}

/// Files found.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileGlobResult {
    /// Directory looked in.
    pub path: String,
    /// The pattern.
    pub pattern: String,
    /// The files, in the order asked for.
    pub files: Vec<GlobFileInfo>,
    /// Files that matched, those not returned included.
    pub total_count: u64,
    /// Whether there are more than were returned.
    pub truncated: bool,
}

impl Operation for GlobFiles {
    type Output = FileGlobResult;
    const SPEC: Spec = Spec::post("file_glob", "/v1/file/glob", "file:read")
        .sdk("file", "glob_files")
        .mcp(Mcp::ReadOnly)
        .errors(FAULTS);
}

fn max_matches() -> u64 {
    500
}

fn max_files() -> u64 {
    5000
}

fn max_file_size() -> String {
    "1M".to_owned()
}

fn max_line_length() -> u64 {
    2000
}

fn search_timeout() -> u64 {
    30
}
