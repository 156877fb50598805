//! What is in a file.

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FAULTS;

/// Read a text file, or some of its lines.
///
/// Lines are counted from 0 and `end_line` is not included. A range past the end is empty, so that a loop of growing
/// ranges ends by itself. Read what is not UTF-8 with `base64`, or download it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReadFile {
    /// The file.
    pub file: String,
    /// First line, from 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub start_line: Option<u64>,
    /// Line to stop before.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub end_line: Option<u64>,
    /// Return the bytes in base64 instead of text; not with lines.
    #[serde(default)]
    pub base64: bool,
    /// Read as root, where the user may.
    #[serde(default)]
    pub sudo: bool,
}

/// A file's text.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileReadResult {
    /// The text, or base64.
    pub content: String,
    /// The file.
    pub file: String,
    /// Lines in the whole file; null for base64.
    pub line_count: Option<u64>,
}

impl Operation for ReadFile {
    type Output = FileReadResult;
    const SPEC: Spec = Spec::post("file_read", "/v1/file/read", "file:read")
        .sdk("file", "read_file")
        .mcp(Mcp::ReadOnly)
        .errors(FAULTS);
}

/// How content is given as JSON text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FileContentEncoding {
    /// Text, written as UTF-8.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// Bytes in base64.
    #[serde(rename = "base64")]
    Base64,
    /// One byte per character, U+0000 to U+00FF.
    #[serde(rename = "raw")]
    Raw,
}

/// Write a file, making the directories it lies in.
///
/// The content is replaced at once: readers see the old file or the new one, and a full disk leaves the old one. Mode
/// and owner of a file that exists are kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct WriteFile {
    /// The file.
    pub file: String,
    /// What to write.
    #[schemars(extend("x-allow-nul" = true))]
    pub content: String,
    /// How `content` is encoded.
    #[serde(default)]
    pub encoding: FileContentEncoding,
    /// Add to the end instead of replacing.
    #[serde(default)]
    pub append: bool,
    /// Put a line break before the content; text only.
    #[serde(default)]
    pub leading_newline: bool,
    /// Put a line break after the content; text only.
    #[serde(default)]
    pub trailing_newline: bool,
    /// Permission bits to give the file, as a number (420 is 0644); those of an existing file are kept when omitted.
    #[serde(default)]
    #[schemars(range(min = 0, max = 0o7777))]
    pub mode: Option<u32>,
    /// Wait until it is on the disk, so that it outlives a crash of the machine; slow.
    #[serde(default)]
    pub sync: bool,
    /// Write as root, where the user may.
    #[serde(default)]
    pub sudo: bool,
}

/// What was written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileWriteResult {
    /// The file.
    pub file: String,
    /// Bytes written, added line breaks included.
    pub bytes_written: Option<u64>,
}

impl Operation for WriteFile {
    type Output = FileWriteResult;
    const SPEC: Spec = Spec::post("file_write", "/v1/file/write", "file:write")
        .sdk("file", "write_file")
        .mcp(Mcp::Destructive)
        .errors(FAULTS)
        .large_body();
}

/// Add text to the end of a file, making it and its directories when they are missing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct AppendFile {
    /// The file.
    pub file: String,
    /// What to add.
    #[schemars(extend("x-allow-nul" = true))]
    pub content: String,
    /// How `content` is encoded.
    #[serde(default)]
    pub encoding: FileContentEncoding,
}

impl Operation for AppendFile {
    type Output = FileWriteResult;
    const SPEC: Spec = Spec::post("file_append", "/v1/file/append", "file:write")
        .mcp(Mcp::Mutating)
        .errors(FAULTS)
        .large_body();
}

/// Replace every occurrence of a text in a file.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReplaceInFile {
    /// The file.
    pub file: String,
    /// Text to look for, taken literally; not empty.
    pub old_str: String,
    /// Text to put in its place.
    pub new_str: String,
    /// Write as root, where the user may.
    #[serde(default)]
    pub sudo: bool,
}

/// What was replaced.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileReplaceResult {
    /// The file.
    pub file: String,
    /// Occurrences replaced; 0 leaves the file as it was.
    pub replaced_count: u64,
}

impl Operation for ReplaceInFile {
    type Output = FileReplaceResult;
    const SPEC: Spec = Spec::post("file_replace", "/v1/file/replace", "file:write")
        .sdk("file", "replace_in_file")
        .mcp(Mcp::Destructive)
        .errors(FAULTS)
        .large_body();
}

/// Find what matches a regular expression in one file, line by line.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SearchInFile {
    /// The file.
    pub file: String,
    /// The expression, in the syntax of Rust's `regex`: no look-around, no back-references, no runaway time.
    pub regex: String,
    /// Read as root, where the user may.
    #[serde(default)]
    pub sudo: bool,
}

/// What matched in a file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileSearchResult {
    /// The file.
    pub file: String,
    /// The matched texts in order; a line may hold several.
    pub matches: Vec<String>,
    /// The line of each match, from 0.
    pub line_numbers: Vec<u64>,
    /// Whether there were more matches than one answer carries.
    pub truncated: bool,
}

impl Operation for SearchInFile {
    type Output = FileSearchResult;
    const SPEC: Spec = Spec::post("file_search", "/v1/file/search", "file:read")
        .sdk("file", "search_in_file")
        .mcp(Mcp::ReadOnly)
        .errors(FAULTS);
}

/// Create a file with a name nobody uses yet.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CreateTempFile {
    /// Directory to create it in; the system's for temporary files when omitted or empty.
    #[serde(default)]
    pub dir: Option<String>,
    /// Its name; the last `*` becomes random, which is added to the end when there is none.
    #[serde(default)]
    pub pattern: Option<String>,
    /// What to write into it.
    #[serde(default)]
    #[schemars(extend("x-allow-nul" = true))]
    pub content: String,
    /// Whether `content` is base64.
    #[serde(default)]
    pub base64: bool,
    /// Permission bits as a number; 384 (0600) when omitted.
    #[serde(default)]
    #[schemars(range(min = 0, max = 0o7777))]
    pub mode: Option<u32>,
}

/// A file made for the caller.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TempFile {
    /// The file.
    pub file: String,
}

impl Operation for CreateTempFile {
    type Output = TempFile;
    const SPEC: Spec = Spec::post("file_create_temp", "/v1/file/create-temp", "file:write")
        .errors(FAULTS)
        .large_body();
}
