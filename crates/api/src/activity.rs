//! Activity: what is being done in this sandbox, by whom, and how it went.

use atoll_operation::{Declaration, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[Declaration::of::<ListActivity>()];

/// List what has been done in this sandbox lately and what is being done right now: commands, files, pages, code.
///
/// The latest calls are kept in memory, whatever face they came through. What they carried is not: only a line about
/// it, with credentials masked. With `Accept: text/event-stream` the answer is a stream of `activity` events, one for
/// each call that begins or ends; their `id` is the `revision` to resume from with `Last-Event-ID` or `after`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListActivity {
    /// Only what changed after this revision: `next` of an earlier answer.
    #[serde(default)]
    pub after: Option<u64>,
    /// Entries to return at most, the latest of them (100).
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
}

/// What has been done lately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// The calls in the order they last changed.
    pub entries: Vec<ActivityEntry>,
    /// Pass it as `after` to get what changes from now on.
    pub next: u64,
    /// Calls that are no longer listed, because newer ones took their places.
    pub forgotten: u64,
}

/// How a call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivityOutcome {
    /// It is not over.
    Running,
    /// It ended with a result. A command that ran and failed is one.
    Ok,
    /// It ended with an error.
    Failed,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActivityEntry {
    /// Its number.
    pub id: u64,
    /// Counts every change of every call.
    pub revision: u64,
    /// The operation that was called: `bash_exec`.
    pub operation: String,
    /// The area it belongs to: `bash`.
    pub group: String,
    /// What it was about, in one line: the beginning of a command, a path, an address without its query.
    pub summary: String,
    /// When it began.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// Milliseconds it took; null while it runs.
    pub duration_ms: Option<u64>,
    /// How it went.
    pub outcome: ActivityOutcome,
    /// The code of the error it ended with; `caller.left` when the caller did not wait.
    pub error_code: Option<String>,
    /// The face it came through: `rest`, `mcp`.
    pub via: String,
    /// Who called, where the server asks for credentials.
    pub subject: Option<String>,
}

impl Operation for ListActivity {
    type Output = Activity;
    const SPEC: Spec = Spec::get("activity_list", "/v1/activity", "activity:read")
        .mcp(Mcp::Hidden)
        .streaming()
        .quiet();
}
