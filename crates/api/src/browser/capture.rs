//! Pictures of a page: screenshots, PDF, recordings.

use atoll_operation::{Download, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The form of a picture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    /// PNG, without loss.
    #[default]
    Png,
    /// JPEG, smaller.
    Jpeg,
    /// The same by its other name.
    Jpg,
    /// WebP, smaller still.
    Webp,
}

/// Take a picture of the page: what is in view, all of it, or one element.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct TakeScreenshot {
    /// All of the page instead of what is in view.
    #[serde(default)]
    pub full_page: bool,
    /// The form of the picture.
    #[serde(default)]
    pub format: ImageFormat,
    /// How exact a JPEG or WebP is, from 0 to 100.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub quality: Option<u32>,
    /// Only this element.
    #[serde(default)]
    pub selector: Option<String>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Download for TakeScreenshot {
    const SPEC: Spec =
        Spec::download("browser_screenshot", "/v1/browser/page/screenshot", "browser:read")
            .sdk("browser.page", "screenshot")
            .mcp(Mcp::ReadOnly)
            .errors(element!["browser.picture_failed"]);
    const MEDIA_TYPES: &'static [&'static str] = &["image/png", "image/jpeg", "image/webp"];
}

/// Print the page to a PDF.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PrintPage {
    /// Paper wider than high.
    #[serde(default)]
    pub landscape: bool,
    /// Print background colours and pictures too.
    #[serde(default = "yes")]
    pub background: bool,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Download for PrintPage {
    const SPEC: Spec = Spec::download("browser_pdf", "/v1/browser/page/pdf", "browser:read")
        .mcp(Mcp::ReadOnly)
        .errors(page!["browser.picture_failed"]);
    const MEDIA_TYPES: &'static [&'static str] = &["application/pdf"];
}

/// What to do with a recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RecordAction {
    /// Record for `duration` seconds and answer when it is done.
    #[default]
    Once,
    /// Begin one.
    Start,
    /// Hold it.
    Pause,
    /// Go on with it.
    Resume,
    /// End it and write the file.
    Stop,
    /// Ask how it stands.
    Status,
}

/// Record the page as a film (MP4). A tab has one recording at a time.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RecordPage {
    /// What to do.
    #[serde(default)]
    pub action: RecordAction,
    /// File to write; one in `Downloads` with the time in its name when omitted.
    #[serde(default)]
    pub save_path: Option<String>,
    /// Of `once`: seconds to record.
    #[serde(default = "duration")]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 3600))]
    pub duration: f64,
    /// Pictures per second at most.
    #[serde(default = "fps")]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 60))]
    pub fps: i64,
    /// How exact each picture is, from 0 to 100.
    #[serde(default = "quality")]
    #[schemars(range(min = 0, max = 100))]
    pub quality: i64,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

fn yes() -> bool {
    true
}

fn duration() -> f64 {
    10.0
}

fn fps() -> i64 {
    15
}

fn quality() -> i64 {
    80
}

/// How a recording stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RecordingState {
    /// There is none.
    Idle,
    /// It runs.
    Recording,
    /// It is held.
    Paused,
    /// It is done and written.
    Finished,
}

/// A recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recording {
    /// How it stands.
    pub status: RecordingState,
    /// The file, once it is written.
    pub path: Option<String>,
    /// Its media type.
    pub media_type: Option<String>,
    /// Pictures in it.
    pub frames: u64,
    /// Seconds it covers.
    pub duration: f64,
    /// Bytes of the file.
    pub size_bytes: u64,
}

impl Operation for RecordPage {
    type Output = Recording;
    const SPEC: Spec = Spec::post("browser_record", "/v1/browser/page/record", "browser:write")
        .sdk("browser.page", "record")
        .mcp(Mcp::Mutating)
        .errors(page![
            "browser.recording_state",
            "file.not_found",
            "file.permission_denied",
            "file.invalid_path",
            "file.invalid_target",
            "file.no_space_left",
            "file.io_error"
        ]);
}
