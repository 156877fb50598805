//! Files into the sandbox and out of it, whole.

use atoll_operation::{Download, Spec, Upload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FAULTS;

/// Upload a file of any size.
///
/// Send a form with the part `file` and, best before it, the field `path`; or the bare bytes as the body with `path` in
/// the query. The file appears when all of it has arrived: an upload that breaks off leaves nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct UploadFile {
    /// Where to put it; inside it when it is a directory or ends with `/`. The workspace when omitted.
    #[serde(default)]
    pub path: Option<String>,
}

/// An uploaded file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileUploadResult {
    /// Where it is.
    pub file_path: String,
    /// Its bytes.
    pub file_size: u64,
    /// Always true.
    pub success: bool,
}

impl Upload for UploadFile {
    type Output = FileUploadResult;
    const SPEC: Spec = Spec::upload("file_upload", "/v1/file/upload", "file:write")
        .sdk("file", "upload_file")
        .errors(FAULTS);
    const FILE_REQUIRED: bool = true;
}

/// What to do when a file changes while it is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileDownloadChangePolicy {
    /// Send what is there.
    #[default]
    Ignore,
    /// Break off, so that nobody takes a mixture for a file.
    Abort,
}

/// Download a file of any size.
///
/// `Range`, `If-Range`, `If-None-Match` and `HEAD` work as HTTP has them, so that a download can be resumed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DownloadFile {
    /// The file.
    pub path: String,
    /// What to do when it changes meanwhile.
    #[serde(default)]
    pub change_policy: FileDownloadChangePolicy,
}

impl Download for DownloadFile {
    const SPEC: Spec = Spec::download("file_download", "/v1/file/download", "file:read")
        .sdk("file", "download_file")
        .errors(FAULTS);
    const MEDIA_TYPES: &'static [&'static str] = &["application/octet-stream"];
}

/// How a directory is packed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ArchiveFormat {
    /// tar, not compressed.
    #[serde(rename = "tar")]
    Tar,
    /// tar, compressed with gzip.
    #[default]
    #[serde(rename = "tar.gz")]
    TarGz,
    /// zip.
    #[serde(rename = "zip")]
    Zip,
}

/// Download a directory as an archive, packed while it is sent.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DownloadArchive {
    /// The directory, or a file.
    pub path: String,
    /// How to pack it.
    #[serde(default)]
    pub format: ArchiveFormat,
}

impl Download for DownloadArchive {
    const SPEC: Spec =
        Spec::download("file_archive", "/v1/file/archive", "file:read").errors(FAULTS);
    const MEDIA_TYPES: &'static [&'static str] =
        &["application/x-tar", "application/gzip", "application/zip"];
}

/// Upload an archive (tar, tar.gz or zip) and unpack it into a directory.
///
/// It is unpacked beside the directory and moved in when all of it is sound: a refused archive changes nothing. Entries
/// that would land outside, links that lead outside, devices, and archives that grow past the limits are refused.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExtractArchive {
    /// Directory to unpack into; made when missing. The workspace when omitted.
    #[serde(default)]
    pub path: Option<String>,
    /// Replace files that are there already; refused as a whole otherwise.
    #[serde(default)]
    pub overwrite: bool,
}

/// An unpacked archive.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExtractedArchive {
    /// Directory it was unpacked into.
    pub path: String,
    /// Its form: `tar`, `tar.gz` or `zip`.
    pub format: ArchiveFormat,
    /// Files, directories and links in it.
    pub entries: u64,
    /// Bytes of its files.
    pub bytes: u64,
}

impl Upload for ExtractArchive {
    type Output = ExtractedArchive;
    const SPEC: Spec = Spec::upload("file_extract", "/v1/file/extract", "file:write").errors(&[
        "file.not_found",
        "file.permission_denied",
        "file.invalid_target",
        "file.already_exists",
        "file.invalid_path",
        "file.read_only_filesystem",
        "file.no_space_left",
        "file.io_error",
        "archive.format",
        "archive.unsafe",
        "archive.broken",
        "archive.too_large",
    ]);
    const FILE_REQUIRED: bool = true;
}
