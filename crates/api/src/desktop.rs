//! The desktop: pictures of the screen, mouse and keyboard, clipboard, windows, recordings, and a socket for viewers.
//!
//! Places are pixels of the screen, counted from its upper left corner: the same in pictures and in actions.

mod action;

use atoll_operation::{Declaration, Download, Mcp, Operation, Spec, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use action::{ActionOutcome, ActionStatus, PerformAction};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of_download::<CaptureScreen>(),
    Declaration::of::<PerformAction>(),
    Declaration::of::<ConfigureScreen>(),
    Declaration::of::<RecordScreen>(),
    Declaration::of::<PerformActions>(),
    Declaration::of::<GetDesktopInfo>(),
    Declaration::of::<GetPointer>(),
    Declaration::of::<GetClipboard>(),
    Declaration::of::<SetClipboard>(),
    Declaration::of::<ListWindows>(),
    Declaration::of::<FocusWindow>(),
    Declaration::of_window::<WatchDesktop>(),
];

/// What can go wrong with any operation on the desktop.
const COMMON: &[&str] = &[
    "desktop.disabled",
    "desktop.unavailable",
    "desktop.start_failed",
    "desktop.gone",
    "desktop.timeout",
    "desktop.refused",
];

/// The same with what can go wrong with mouse and keyboard.
const ACTION: &[&str] = &[
    "desktop.disabled",
    "desktop.unavailable",
    "desktop.start_failed",
    "desktop.gone",
    "desktop.timeout",
    "desktop.refused",
    "desktop.off_screen",
    "desktop.unknown_key",
    "desktop.clipboard_too_large",
    "desktop.clipboard_failed",
    "desktop.picture_failed",
];

/// The form of a picture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScreenFormat {
    /// PNG, without loss.
    #[default]
    Png,
    /// JPEG, smaller and quicker.
    Jpg,
    /// The same by its other name.
    Jpeg,
}

/// Take a picture of the whole screen with the pointer on it, as a person in front of it sees it.
///
/// Headers tell the size of the screen and of the picture, which are the same. Starts the desktop if need be.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CaptureScreen {
    /// The form of the picture.
    #[serde(default)]
    pub format: ScreenFormat,
    /// How exact a JPEG is, from 0 to 100; 80 when omitted.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub quality: Option<u32>,
}

impl Download for CaptureScreen {
    const SPEC: Spec =
        Spec::download("desktop_screenshot", "/v1/browser/screenshot", "desktop:read")
            .sdk("browser", "screenshot")
            .mcp(Mcp::ReadOnly)
            .errors(ACTION);
    const MEDIA_TYPES: &'static [&'static str] = &["image/png", "image/jpeg"];
}

/// A size in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resolution {
    /// Width.
    #[schemars(range(min = 1, max = 65535))]
    pub width: u32,
    /// Height.
    #[schemars(range(min = 1, max = 65535))]
    pub height: u32,
}

/// Change the screen. Maximised windows follow.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ConfigureScreen {
    /// Its size: 1920x1200, 1920x1080, 1680x1050, 1600x1200, 1400x1050, 1360x768, 1280x1024, 1280x960, 1280x800,
    /// 1280x720, 1024x768, 800x600 or 640x480.
    #[serde(default)]
    pub resolution: Option<Resolution>,
}

/// How the screen is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScreenConfiguration {
    /// Its size.
    pub resolution: Resolution,
}

impl Operation for ConfigureScreen {
    type Output = ScreenConfiguration;
    const SPEC: Spec = Spec::post("desktop_config", "/v1/browser/config", "desktop:write")
        .sdk("browser", "set_config")
        .mcp(Mcp::Mutating)
        .errors(&[
            "desktop.disabled",
            "desktop.unavailable",
            "desktop.start_failed",
            "desktop.gone",
            "desktop.timeout",
            "desktop.refused",
            "desktop.unknown_resolution",
            "desktop.recording_state",
        ]);
}

/// Perform several actions one after the other, and see what came of them.
///
/// The first that fails ends them: its position is told, and keys and buttons that they pressed are let go of.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct PerformActions {
    /// The actions, each as `/v1/browser/actions` takes it.
    #[schemars(length(min = 1, max = 100))]
    pub actions: Vec<PerformAction>,
    /// Whether to take a picture afterwards.
    #[serde(default)]
    pub screenshot: bool,
    /// The form of the picture.
    #[serde(default)]
    pub format: ScreenFormat,
    /// How exact a JPEG is, from 0 to 100; 80 when omitted.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub quality: Option<u32>,
}

/// A picture of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScreenPicture {
    /// Its media type.
    pub media_type: String,
    /// Its bytes in Base64.
    pub data: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// What came of several actions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionsOutcome {
    /// The actions performed, in order.
    pub performed: Vec<String>,
    /// The screen afterwards, where it was asked for.
    pub screenshot: Option<ScreenPicture>,
}

impl Operation for PerformActions {
    type Output = ActionsOutcome;
    const SPEC: Spec = Spec::post("desktop_actions", "/v1/desktop/actions", "desktop:write")
        .mcp(Mcp::Mutating)
        .errors(ACTION);
}

/// Describe the desktop. Does not start it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetDesktopInfo {}

/// The desktop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DesktopInfo {
    /// Whether it is installed and switched on, so that it starts when it is needed.
    pub available: bool,
    /// Whether it runs.
    pub running: bool,
    /// For programs that shall show themselves on it: the value of `DISPLAY`, while it runs.
    pub display: Option<String>,
    /// For the same: the value of `XAUTHORITY`.
    pub authority: Option<String>,
    /// Size of the screen, now or when it starts.
    pub resolution: Resolution,
    /// Sizes the screen can have.
    pub resolutions: Vec<Resolution>,
    /// Page that shows it.
    pub vnc_url: String,
    /// Whether it is being recorded.
    pub recording: bool,
}

impl Operation for GetDesktopInfo {
    type Output = DesktopInfo;
    const SPEC: Spec =
        Spec::get("desktop_info", "/v1/desktop/info", "desktop:read").mcp(Mcp::ReadOnly);
}

/// Say where the pointer is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetPointer {}

/// Where the pointer is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pointer {
    /// Pixels from the left.
    pub x: f64,
    /// Pixels from the top.
    pub y: f64,
}

impl Operation for GetPointer {
    type Output = Pointer;
    const SPEC: Spec = Spec::get("desktop_pointer", "/v1/desktop/pointer", "desktop:read")
        .mcp(Mcp::ReadOnly)
        .errors(COMMON);
}

/// Read the text on the clipboard, whoever put it there.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetClipboard {}

/// The clipboard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClipboardText {
    /// The text on it; empty when there is none.
    pub text: String,
}

impl Operation for GetClipboard {
    type Output = ClipboardText;
    const SPEC: Spec = Spec::get("desktop_clipboard_get", "/v1/desktop/clipboard", "desktop:read")
        .mcp(Mcp::ReadOnly)
        .errors(ACTION);
}

/// Put a text on the clipboard, where programs and viewers can paste it from.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SetClipboard {
    /// The text.
    pub text: String,
}

impl Operation for SetClipboard {
    type Output = ClipboardText;
    const SPEC: Spec =
        Spec::post("desktop_clipboard_set", "/v1/desktop/clipboard", "desktop:write")
            .mcp(Mcp::Mutating)
            .errors(ACTION);
}

/// List the windows on the desktop, the lowest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListWindows {}

/// A window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DesktopWindow {
    /// Its number.
    pub id: u32,
    /// Its title.
    pub title: String,
    /// What kind of program it is of.
    pub class: String,
    /// That program's process, where it tells.
    pub pid: Option<u32>,
    /// Its left edge.
    pub x: i32,
    /// Its upper edge.
    pub y: i32,
    /// Its width.
    pub width: u32,
    /// Its height.
    pub height: u32,
    /// Whether it has the keyboard.
    pub active: bool,
    /// Whether it is shown, as far as others do not cover it.
    pub visible: bool,
}

impl Operation for ListWindows {
    type Output = Vec<DesktopWindow>;
    const SPEC: Spec = Spec::get("desktop_windows", "/v1/desktop/windows", "desktop:read")
        .mcp(Mcp::ReadOnly)
        .errors(COMMON);
}

/// Bring a window to the front and give it the keyboard.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FocusWindow {
    /// Its number, as the list of windows tells.
    pub id: u32,
}

impl Operation for FocusWindow {
    type Output = DesktopWindow;
    const SPEC: Spec = Spec::post("desktop_focus", "/v1/desktop/windows/focus", "desktop:write")
        .mcp(Mcp::Mutating)
        .errors(&[
            "desktop.disabled",
            "desktop.unavailable",
            "desktop.start_failed",
            "desktop.gone",
            "desktop.timeout",
            "desktop.refused",
            "desktop.window_not_found",
            "desktop.window_not_focused",
        ]);
}

/// What to do with a recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScreenRecordAction {
    /// Begin one.
    Start,
    /// End it.
    Stop,
    /// Ask how it stands.
    #[default]
    Status,
}

/// Record the whole desktop as a film (H.264 in MP4). There is one recording at a time.
///
/// The film can be played whatever ends it: `stop`, its longest duration, or the end of the desktop.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RecordScreen {
    /// What to do.
    pub action: ScreenRecordAction,
    /// Of `start`: the file; `/tmp/recordings/recording_<time>.mp4` when omitted. Directories are made, a file that is
    /// there is overwritten.
    #[serde(default)]
    pub save_path: Option<String>,
    /// Of `start`: pictures per second.
    #[serde(default = "fps")]
    #[schemars(range(min = 1, max = 30))]
    pub fps: u32,
    /// Of `start`: how much may be lost, from 0 for nothing to 51 for most.
    #[serde(default = "crf")]
    #[schemars(range(min = 0, max = 51))]
    pub crf: u32,
    /// Of `start`: seconds after which it ends by itself.
    #[serde(default = "max_duration")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max_duration: f64,
    /// Of `start`: width of the film; that of the screen when omitted.
    #[serde(default)]
    #[schemars(range(min = 1, max = 8192))]
    pub width: Option<u32>,
    /// Of `start`: height of the film; that of the screen when omitted.
    #[serde(default)]
    #[schemars(range(min = 1, max = 8192))]
    pub height: Option<u32>,
}

fn fps() -> u32 {
    5
}

fn crf() -> u32 {
    28
}

fn max_duration() -> f64 {
    600.0
}

/// How a recording stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScreenRecordingState {
    /// There was none.
    Idle,
    /// It runs.
    Recording,
    /// It has ended.
    Stopped,
}

/// A recording of the desktop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScreenRecording {
    /// How it stands.
    pub status: ScreenRecordingState,
    /// The file.
    pub save_path: Option<String>,
    /// Seconds it covers.
    pub duration: f64,
    /// Bytes of the file so far.
    pub file_size_bytes: Option<u64>,
}

impl Operation for RecordScreen {
    type Output = ScreenRecording;
    const SPEC: Spec = Spec::post("desktop_record", "/v1/display/record", "desktop:write")
        .sdk("display", "record")
        .mcp(Mcp::Mutating)
        .errors(&[
            "desktop.disabled",
            "desktop.unavailable",
            "desktop.start_failed",
            "desktop.gone",
            "desktop.timeout",
            "desktop.refused",
            "desktop.recording_state",
            "desktop.recording_failed",
            "desktop.ffmpeg_missing",
            "desktop.unwritable",
            "file.not_found",
            "file.permission_denied",
            "file.invalid_path",
            "file.invalid_target",
            "file.no_space_left",
            "file.io_error",
        ]);
}

/// The desktop for VNC viewers: a WebSocket that carries RFB in binary messages, as noVNC speaks it. `/vnc/index.html` is
/// a page with such a viewer. With `view_only=true` in the address, mouse, keyboard and clipboard of the viewer are ignored.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct WatchDesktop {}

impl Window for WatchDesktop {
    const SPEC: Spec = Spec::window("desktop_vnc", "/websockify", "desktop:read").errors(COMMON);
}
