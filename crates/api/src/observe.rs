//! Observation: what the sandbox uses, now and over time, and reports of it.
//!
//! Two ways to look over time: `guardrail` looks seldom, costs next to nothing and keeps the last hours in memory;
//! `capture` looks often, at processes too, for a bounded time.

use atoll_operation::{Declaration, Download, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of::<GetObservation>(),
    Declaration::of::<LookAtSandbox>(),
    Declaration::of::<StartObservation>(),
    Declaration::of::<StopObservation>(),
    Declaration::of::<ExportObservation>(),
    Declaration::of::<ListReports>(),
    Declaration::of_download::<DownloadReport>(),
    Declaration::of::<DeleteReport>(),
];

/// How the sandbox is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ObservationMode {
    /// Not at all.
    Off,
    /// Seldom and for as long as the server runs.
    Guardrail,
    /// Often, and in detail, for a bounded time.
    Capture,
}

/// How the sandbox shall be looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ObserveStartMode {
    /// Seldom and until it is stopped.
    Guardrail,
    /// Often, and in detail, for a bounded time.
    #[default]
    Capture,
}

/// Say whether the sandbox is being looked at, how, and how many reports there are.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetObservation {}

/// How the sandbox is being looked at. While both a guardrail and a capture run, the capture is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservationStatus {
    /// How.
    pub mode: ObservationMode,
    /// Whether it is.
    pub running: bool,
    /// The session under way.
    pub session_id: Option<String>,
    /// When it began.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: Option<String>,
    /// When it ends by itself.
    #[schemars(extend("format" = "date-time"))]
    pub ends_at: Option<String>,
    /// Seconds between two looks.
    pub interval_seconds: Option<f64>,
    /// When the last look was.
    #[schemars(extend("format" = "date-time"))]
    pub last_sample_at: Option<String>,
    /// Where what was seen is kept.
    pub runtime_dir: Option<String>,
    /// Reports there are.
    pub report_count: u64,
}

impl Operation for GetObservation {
    type Output = ObservationStatus;
    const SPEC: Spec = Spec::get("observe_status", "/v1/sandbox/observe/status", "observe:read")
        .sdk("sandbox", "observe_status")
        .mcp(Mcp::ReadOnly)
        .quiet();
}

/// Look at what the sandbox uses now: processor time, memory, disks, the processes that use most, and what happened lately
/// (processes killed for memory, throttling, services started again, full disks).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LookAtSandbox {
    /// How many processes to list.
    #[serde(default = "top_rows")]
    #[schemars(range(min = 0, max = 1000))]
    pub top_rows: u32,
}

fn top_rows() -> u32 {
    10
}

/// What the sandbox uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservationLiveSnapshot {
    /// When.
    #[schemars(extend("format" = "date-time"))]
    pub captured_at: String,
    /// How the sandbox is being looked at beside this.
    pub mode: ObservationMode,
    /// Processor time and memory.
    pub cgroup: ObservationCgroupSnapshot,
    /// The disks of the home, the workspace and `/tmp`, each once.
    pub disk: Vec<ObservationDiskSnapshot>,
    /// The processes that use most, those with most memory first.
    pub top_processes: Vec<ObservationProcessSnapshot>,
    /// What happened lately, the latest last.
    pub recent_events: Vec<ObservationEvent>,
}

/// Processor time and memory of the container, or of the machine where there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservationCgroupSnapshot {
    /// Per cent of one processor: 200 is two processors' worth.
    pub cpu_usage_pct: Option<f64>,
    /// Microseconds of processor time used so far.
    pub cpu_usage_usec: u64,
    /// Periods in which a quota was in force.
    pub cpu_nr_periods: Option<u64>,
    /// Those of them in which it was used up.
    pub cpu_nr_throttled: Option<u64>,
    /// Microseconds waited for processor time because of it.
    pub cpu_throttled_usec: Option<u64>,
    /// Bytes of memory in use, files held in memory among them.
    pub mem_current_bytes: u64,
    /// Bytes there may be.
    pub mem_max_bytes: Option<u64>,
    /// Per cent of them.
    pub mem_usage_pct: Option<f64>,
    /// How often memory ran out.
    pub oom: Option<u64>,
    /// Processes killed for it.
    pub oom_kill: Option<u64>,
    /// Bytes of programs' own memory.
    pub memory_anon_bytes: Option<u64>,
    /// Bytes of files held in memory.
    pub memory_file_bytes: Option<u64>,
    /// Bytes of shared memory.
    pub memory_shmem_bytes: Option<u64>,
    /// Bytes of the kernel's own structures.
    pub memory_slab_bytes: Option<u64>,
}

/// How full a disk is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservationDiskSnapshot {
    /// A directory on it.
    pub path: String,
    /// Bytes in use.
    pub used_bytes: u64,
    /// Bytes there are.
    pub total_bytes: u64,
    /// Bytes that can still be written.
    pub free_bytes: u64,
    /// Per cent in use, as `df` tells it.
    pub usage_pct: f64,
    /// Files there are.
    pub inode_used: Option<u64>,
    /// Files there may be.
    pub inode_total: Option<u64>,
    /// Per cent of them.
    pub inode_usage_pct: Option<f64>,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservationProcessSnapshot {
    /// Its number.
    pub pid: i32,
    /// Whose it is.
    pub user: String,
    /// Its name.
    pub comm: String,
    /// Bytes of memory it has.
    pub rss_bytes: u64,
    /// The same in MiB.
    pub rss_mib: f64,
    /// Per cent of one processor.
    pub cpu_pct: Option<f64>,
    /// Threads.
    pub threads: Option<u32>,
    /// Open files.
    pub fds: Option<u32>,
    /// `R` running, `S` sleeping, `D` waiting for a disk, `Z` dead but not buried, `T` stopped.
    pub state: Option<String>,
    /// Seconds since it began.
    pub uptime_sec: Option<f64>,
    /// Its parent.
    pub ppid: Option<i32>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservationEvent {
    /// When.
    #[schemars(extend("format" = "date-time"))]
    pub ts: String,
    /// What: `oom_kill`, `cpu_throttled`, `disk_full`, `service_restart`, `service_failed`, `capture_full`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The same for people.
    pub message: String,
    /// Figures for programs.
    pub data: Map<String, Value>,
}

impl Operation for LookAtSandbox {
    type Output = ObservationLiveSnapshot;
    const SPEC: Spec = Spec::get("observe_live", "/v1/sandbox/observe/live", "observe:read")
        .sdk("sandbox", "observe_live")
        .mcp(Mcp::ReadOnly)
        .quiet();
}

/// Begin to look at what the sandbox uses over time.
///
/// One guardrail and one capture can run at a time. The same `idempotency_key` gets the first answer again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StartObservation {
    /// How to look.
    #[serde(default)]
    pub mode: ObserveStartMode,
    /// A name of the caller's for this request, so that sending it again starts nothing more.
    #[serde(default)]
    #[schemars(length(max = 128))]
    pub idempotency_key: Option<String>,
    /// Seconds after which it ends by itself: 300 when omitted for a capture, never for a guardrail.
    #[serde(default)]
    #[schemars(range(min = 1, max = 86400))]
    pub duration_seconds: Option<u64>,
    /// Seconds between two looks: from 0.1, 1 when omitted, for a capture; from 5, 10 when omitted, for a guardrail.
    #[serde(default)]
    #[schemars(range(max = 3600), extend("exclusiveMinimum" = 0))]
    pub interval_seconds: Option<f64>,
    /// Whether to look at processes: a capture does, a guardrail does not, when omitted.
    #[serde(default)]
    pub include_processes: Option<bool>,
    /// Whether to look at disks.
    #[serde(default = "yes")]
    pub include_disk: bool,
}

fn yes() -> bool {
    true
}

impl Default for StartObservation {
    fn default() -> Self {
        Self {
            mode: ObserveStartMode::Capture,
            idempotency_key: None,
            duration_seconds: None,
            interval_seconds: None,
            include_processes: None,
            include_disk: true,
        }
    }
}

/// An observation that has begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservationStartResult {
    /// The session.
    pub session_id: String,
    /// How it looks.
    pub mode: ObservationMode,
    /// When it began.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// When it ends by itself.
    #[schemars(extend("format" = "date-time"))]
    pub ends_at: Option<String>,
    /// Seconds between two looks.
    pub interval_seconds: f64,
    /// Where what it sees is kept.
    pub runtime_dir: String,
}

impl Operation for StartObservation {
    type Output = ObservationStartResult;
    const SPEC: Spec = Spec::post("observe_start", "/v1/sandbox/observe/start", "observe:write")
        .sdk("sandbox", "observe_start")
        .mcp(Mcp::Mutating)
        .errors(&["observe.already_running", "observe.unwritable"]);
}

/// End an observation. What it saw can be exported until later sessions take its place.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct StopObservation {
    /// The session; the one that status tells when omitted.
    #[serde(default)]
    pub session_id: Option<String>,
}

/// An observation that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObservationStopResult {
    /// The session.
    pub session_id: String,
    /// Whether this call ended it; it had ended before otherwise.
    pub stopped: bool,
    /// Whether it saw something that can be exported.
    pub report_ready: bool,
}

impl Operation for StopObservation {
    type Output = ObservationStopResult;
    const SPEC: Spec = Spec::post("observe_stop", "/v1/sandbox/observe/stop", "observe:write")
        .sdk("sandbox", "observe_stop")
        .mcp(Mcp::Mutating)
        .errors(&["observe.session_not_found", "observe.not_running"]);
}

/// Make a report of what a session has seen so far, be it under way or over: a `.tar.gz` with figures as JSON and a page with
/// charts.
///
/// Without any session the report holds one look at this moment. The same `idempotency_key` gets the first answer again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExportObservation {
    /// A name of the caller's for this request, so that sending it again makes no other report.
    #[serde(default)]
    #[schemars(length(max = 128))]
    pub idempotency_key: Option<String>,
    /// The session; when omitted the one under way, or the last that ended.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Why the report is made.
    #[serde(default = "manual")]
    #[schemars(length(max = 1000))]
    pub reason: String,
}

fn manual() -> String {
    "manual".to_owned()
}

impl Default for ExportObservation {
    fn default() -> Self {
        Self { idempotency_key: None, session_id: None, reason: manual() }
    }
}

/// A report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObservationReportInfo {
    /// Its name, by which it is downloaded and deleted.
    pub report_id: String,
    /// The session whose samples it holds.
    pub session_id: Option<String>,
    /// Why it was made.
    pub reason: String,
    /// When.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// The file.
    pub path: String,
    /// Its bytes.
    pub size_bytes: u64,
}

impl Operation for ExportObservation {
    type Output = ObservationReportInfo;
    const SPEC: Spec = Spec::post("observe_export", "/v1/sandbox/observe/export", "observe:write")
        .sdk("sandbox", "observe_export")
        .mcp(Mcp::Mutating)
        .errors(&["observe.session_not_found", "observe.too_many_reports", "observe.unwritable"]);
}

/// List the reports there are, the latest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListReports {}

impl Operation for ListReports {
    type Output = Vec<ObservationReportInfo>;
    const SPEC: Spec = Spec::get("observe_reports", "/v1/sandbox/observe/reports", "observe:read")
        .sdk("sandbox", "observe_reports")
        .mcp(Mcp::ReadOnly)
        .quiet();
}

/// Download a report: a `.tar.gz` whose `index.html` shows everything in charts.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DownloadReport {
    /// Its name.
    pub report_id: String,
}

impl Download for DownloadReport {
    const SPEC: Spec = Spec::download(
        "observe_report_download",
        "/v1/sandbox/observe/reports/{report_id}",
        "observe:read",
    )
    .sdk("sandbox", "observe_report_download")
    .errors(&["observe.report_not_found"]);
    const MEDIA_TYPES: &'static [&'static str] = &["application/gzip"];
}

/// Delete a report.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeleteReport {
    /// Its name.
    pub report_id: String,
}

impl Operation for DeleteReport {
    type Output = ObservationReportInfo;
    const SPEC: Spec = Spec::delete(
        "observe_report_delete",
        "/v1/sandbox/observe/reports/{report_id}",
        "observe:write",
    )
    .sdk("sandbox", "observe_report_delete")
    .mcp(Mcp::Destructive)
    .errors(&["observe.report_not_found", "observe.unwritable"]);
}
