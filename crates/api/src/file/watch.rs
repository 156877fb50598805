//! Being told of changes.

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::yes;

const NOT_FOUND: &str = "watch.not_found";

/// What happened to a file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FileEventKind {
    /// It appeared.
    Create,
    /// Its content changed.
    Write,
    /// It is gone.
    Remove,
    /// It was moved; `old_path` says from where, when that is watched too.
    Rename,
    /// Its permissions or owner changed.
    Chmod,
}

/// A change to a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileEvent {
    /// Its number: 1, 2, 3, … in the order seen.
    pub seq: u64,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: FileEventKind,
    /// The file.
    pub path: String,
    /// The same, from the watched directory on.
    pub relative_path: String,
    /// Where it was before it was moved.
    pub old_path: Option<String>,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// When it was seen, in seconds since 1970.
    pub timestamp: f64,
    /// When its content last changed, in seconds since 1970; null when it is gone.
    pub mtime: Option<f64>,
    /// Bytes; null when it is gone.
    pub size: Option<u64>,
    /// Its number in its file system; null when it is gone.
    pub inode: Option<u64>,
}

/// Watch a file or directory. Events are kept for `watch_poll` and `watch_events` until the watcher is stopped.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CreateWatch {
    /// What to watch; it must exist.
    pub path: String,
    /// Watch everything below a directory, what is made later included.
    #[serde(default = "yes")]
    pub recursive: bool,
    /// Names and globs to leave out.
    #[serde(default = "exclude")]
    pub exclude: Vec<String>,
    /// Milliseconds within which repeated writes of one file count once.
    #[serde(default = "debounce")]
    #[schemars(range(min = 50, max = 5000))]
    pub debounce: u64,
    /// Only files matching one of these globs; all when empty.
    #[serde(default)]
    pub include_patterns: Vec<String>,
}

/// A watcher.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Watcher {
    /// Its id.
    pub watcher_id: String,
    /// What it watches.
    pub path: String,
    /// Whether it watches everything below.
    pub recursive: bool,
    /// What it leaves out.
    pub exclude: Vec<String>,
    /// Milliseconds within which repeated writes count once.
    pub debounce: u64,
    /// What it is restricted to.
    pub include_patterns: Vec<String>,
    /// When it was made.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// Number of the latest event: poll from here for what comes next.
    pub cursor: u64,
    /// Events kept for reading.
    pub buffered: u64,
    /// Directories watched.
    pub directories: u64,
}

impl Operation for CreateWatch {
    type Output = Watcher;
    const SPEC: Spec = Spec::post("file_watch_create", "/v1/file/watch", "file:read")
        .sdk("file", "watch_create")
        .mcp(Mcp::ReadOnly)
        .errors(&["watch.path", "watch.pattern", "watch.watchers_exhausted", "watch.kernel_limit"]);
}

/// List the watchers.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListWatches {}

/// The watchers there are.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Watchers {
    /// Each of them.
    pub watchers: Vec<Watcher>,
    /// How many.
    pub count: u64,
}

impl Operation for ListWatches {
    type Output = Watchers;
    const SPEC: Spec = Spec::get("file_watch_list", "/v1/file/watch", "file:read")
        .sdk("file", "watch_list")
        .mcp(Mcp::ReadOnly);
}

/// Follow a watcher's events as they happen, as server-sent events.
///
/// Events are `watch_started`, `file_change`, and `overflow` when some were lost and a rescan is due. Ids are
/// `{watcher_id}:{seq}`; a reader that sends the last one back as `Last-Event-ID` misses nothing that is still kept.
/// Without `Accept: text/event-stream` the events kept are returned at once.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FollowWatch {
    /// The watcher.
    pub watcher_id: String,
}

/// Events read.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WatchEvents {
    /// The watcher.
    pub watcher_id: String,
    /// Events in order.
    pub events: Vec<FileEvent>,
    /// Where to go on reading.
    pub cursor: u64,
    /// Whether events before these were lost: look at the directory afresh, then go on from `cursor`.
    pub overflow: bool,
    /// Whether more events are waiting.
    pub has_more: bool,
}

impl Operation for FollowWatch {
    type Output = WatchEvents;
    const SPEC: Spec =
        Spec::get("file_watch_events", "/v1/file/watch/{watcher_id}/events", "file:read")
            .sdk("file", "watch_events")
            .errors(&[NOT_FOUND])
            .streaming();
}

/// Read a watcher's events after a cursor, now or when there are some.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PollWatch {
    /// The watcher.
    pub watcher_id: String,
    /// Number of the last event seen; 0 reads from the beginning.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub cursor: u64,
    /// Events to return at most.
    #[serde(default = "poll_limit")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: u64,
    /// Seconds to wait for an event when there is none.
    #[serde(default)]
    #[schemars(range(min = 0, max = 60))]
    pub timeout: u64,
}

impl Operation for PollWatch {
    type Output = WatchEvents;
    const SPEC: Spec =
        Spec::post("file_watch_poll", "/v1/file/watch/{watcher_id}/poll", "file:read")
            .sdk("file", "watch_poll")
            .mcp(Mcp::ReadOnly)
            .errors(&[NOT_FOUND]);
}

/// Wait until something happens to one file, which need not exist yet. One that exists counts as created.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WaitForFile {
    /// The file.
    pub path: String,
    /// Seconds to wait.
    #[serde(default = "wait_timeout")]
    #[schemars(range(min = 1, max = 300))]
    pub timeout: u64,
    /// What to wait for.
    #[serde(default = "event_types")]
    pub event_types: Vec<FileEventKind>,
}

/// What happened.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WaitedEvent {
    /// The change.
    pub event: FileEvent,
}

impl Operation for WaitForFile {
    type Output = WaitedEvent;
    const SPEC: Spec = Spec::post("file_watch_wait", "/v1/file/watch/wait", "file:read")
        .sdk("file", "watch_wait")
        .mcp(Mcp::ReadOnly)
        .errors(&["watch.path", "watch.timeout", "watch.kernel_limit", "watch.watchers_exhausted"]);
}

/// Stop a watcher and forget its events.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct StopWatch {
    /// The watcher.
    pub watcher_id: String,
}

/// A watcher that is no more.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoppedWatch {
    /// Its id.
    pub watcher_id: String,
    /// Always true.
    pub stopped: bool,
}

impl Operation for StopWatch {
    type Output = StoppedWatch;
    const SPEC: Spec = Spec::delete("file_watch_stop", "/v1/file/watch/{watcher_id}", "file:read")
        .sdk("file", "watch_stop")
        .mcp(Mcp::Mutating)
        .errors(&[NOT_FOUND]);
}

fn exclude() -> Vec<String> {
    [
        ".git",
        "node_modules",
        "__pycache__",
        ".venv",
        "*.pyc",
        "*.pyo",
        ".DS_Store",
        "*.swp",
        "*.swo",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn debounce() -> u64 {
    300
}

fn poll_limit() -> u64 {
    100
}

fn wait_timeout() -> u64 {
    30
}

fn event_types() -> Vec<FileEventKind> {
    use FileEventKind::{Chmod, Create, Remove, Rename, Write};
    vec![Create, Write, Remove, Rename, Chmod]
}
