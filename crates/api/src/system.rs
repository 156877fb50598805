//! System: what this sandbox is, what is installed in it, what its limits are.

use atoll_operation::{Declaration, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of::<GetSandbox>(),
    Declaration::of::<ListPythonPackages>(),
    Declaration::of::<ListNodePackages>(),
    Declaration::of::<GetLimits>(),
    Declaration::of::<Ping>(),
];

/// Describe this sandbox: system, runtimes and tools.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetSandbox {}

/// A sandbox's description.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SandboxContext {
    /// The whole description as text for an agent.
    pub text: String,
    /// Home directory.
    pub home_dir: String,
    /// Where work is kept by default.
    pub workspace: Option<String>,
    /// Version of this server.
    pub version: String,
    /// The description in parts.
    pub detail: SandboxDetail,
}

/// A sandbox's description in parts.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SandboxDetail {
    /// The machine.
    pub system: SystemEnv,
    /// Language runtimes.
    pub runtime: RuntimeEnv,
    /// Programs found, by category.
    pub utils: Vec<ToolCategory>,
}

/// The machine.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SystemEnv {
    /// Operating system.
    pub os: String,
    /// Its version.
    pub os_version: String,
    /// Processor architecture.
    pub arch: String,
    /// User commands run as.
    pub user: String,
    /// Home directory.
    pub home_dir: String,
    /// Where work is kept by default.
    pub workspace: Option<String>,
    /// Time zone.
    pub timezone: String,
    /// TCP ports something listens on.
    pub occupied_ports: Vec<String>,
}

/// Language runtimes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeEnv {
    /// Python interpreters.
    pub python: Vec<ToolSpec>,
    /// Node.js runtimes.
    pub nodejs: Vec<ToolSpec>,
}

/// An installed runtime.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// Version.
    pub ver: Option<String>,
    /// Path of the program.
    pub bin: Option<String>,
    /// Commands that run it.
    pub alias: Vec<String>,
}

/// Programs of one kind.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ToolCategory {
    /// The kind.
    pub category: String,
    /// The programs.
    pub tools: Vec<AvailableTool>,
}

/// An installed program.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AvailableTool {
    /// Its command.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
}

impl Operation for GetSandbox {
    type Output = SandboxContext;
    const SPEC: Spec = Spec::get("sandbox_get_context", "/v1/sandbox", "system:read")
        .sdk("sandbox", "get_context")
        .mcp(Mcp::ReadOnly)
        .quiet();
}

/// An installed package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// List the Python packages that code in this sandbox can import.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListPythonPackages {}

impl Operation for ListPythonPackages {
    type Output = Vec<Package>;
    const SPEC: Spec =
        Spec::get("sandbox_get_python_packages", "/v1/sandbox/packages/python", "system:read")
            .sdk("sandbox", "get_python_packages")
            .mcp(Mcp::ReadOnly)
            .errors(&["system.python_missing"]);
}

/// List the Node.js packages installed globally in this sandbox.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListNodePackages {}

impl Operation for ListNodePackages {
    type Output = Vec<Package>;
    const SPEC: Spec =
        Spec::get("sandbox_get_nodejs_packages", "/v1/sandbox/packages/nodejs", "system:read")
            .sdk("sandbox", "get_nodejs_packages")
            .mcp(Mcp::ReadOnly);
}

/// Show every limit this server keeps to.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetLimits {}

/// Every bound of this server. Reaching one is an explicit error, never a silent loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a JSON request body.
    pub request_body_bytes: u64,
    /// Bytes of a JSON request body that carries the content of a file.
    pub large_body_bytes: u64,
    /// Shell sessions that may exist.
    pub shell_sessions: u64,
    /// Seconds after which an unused shell session without a running command is closed.
    pub shell_idle_seconds: u64,
    /// Commands that may wait in one shell session's queue.
    pub shell_queue: u64,
    /// Bash sessions that may exist.
    pub bash_sessions: u64,
    /// Seconds after which an unused bash session without a running command is closed.
    pub bash_idle_seconds: u64,
    /// Commands that may run at once in one bash session.
    pub bash_running_per_session: u64,
    /// Commands whose output one session keeps for reading; older finished ones are forgotten first.
    pub commands_kept_per_session: u64,
    /// Bytes of one stream kept for reading; the oldest are dropped first, and a reader is told.
    pub output_kept_bytes: u64,
    /// Bytes of all streams together that may lie on disk.
    pub output_spill_bytes: u64,
    /// Bytes of output one answer carries; the rest is read by offset.
    pub response_output_bytes: u64,
    /// Bytes of input that may wait for a program that does not read.
    pub input_queue_bytes: u64,
    /// Bytes of one WebSocket message from a client.
    pub websocket_message_bytes: u64,
    /// Bytes of a file that one answer carries as text; larger ones are read by lines or downloaded.
    pub file_read_bytes: u64,
    /// Bytes of a file that an edit may change in place.
    pub file_edit_bytes: u64,
    /// Entries one list of files carries.
    pub file_list_entries: u64,
    /// Matches one search in a file returns.
    pub file_search_matches: u64,
    /// Bytes of one uploaded file.
    pub upload_bytes: u64,
    /// Searches through directories that may run at once; more wait for their turn.
    pub searches: u64,
    /// Edits of one file that can be undone.
    pub editor_undo_steps: u64,
    /// Bytes of text kept for undoing, all files together; the oldest edits are forgotten first.
    pub editor_undo_bytes: u64,
    /// Watchers that may exist.
    pub file_watchers: u64,
    /// Events one watcher keeps for reading; a reader that falls behind is told of an overflow.
    pub file_watch_events: u64,
    /// Seconds after which a watcher nobody reads from is stopped.
    pub file_watch_idle_seconds: u64,
    /// Entries of an archive that is unpacked.
    pub archive_entries: u64,
    /// Bytes an archive may unpack to.
    pub archive_bytes: u64,
    /// How many times its own size an archive may unpack to.
    pub archive_ratio: u64,
    /// Bytes of each stream, and of results and errors, that one execution of code returns; the middle is left out.
    pub code_output_bytes: u64,
    /// Programs of executions without a session that may run at once; more wait for their turn.
    pub code_runs: u64,
    /// Jupyter sessions that may exist.
    pub jupyter_sessions: u64,
    /// Seconds after which an unused Jupyter session that runs nothing is closed.
    pub jupyter_idle_seconds: u64,
    /// Node.js sessions that may exist.
    pub nodejs_sessions: u64,
    /// Bytes of memory that a bash command, a shell, a kernel or another program of a session may have with everything it
    /// starts; what wants more is killed, and the answer says so. 0 means half of what the machine or its container has,
    /// but at least 512 MiB.
    pub session_memory_bytes: u64,
    /// Processes and threads that such a program may have at once; 0 means any number.
    pub session_processes: u64,
    /// Files that each of its processes may have open, or fewer where the system allows fewer; 0 means as many as that.
    pub session_open_files: u64,
    /// Contexts of the browser that may exist beside the default one.
    pub browser_contexts: u64,
    /// Tabs that one context of the browser may have.
    pub browser_tabs: u64,
    /// Lines of the console kept for each tab; the oldest are forgotten first.
    pub browser_console_records: u64,
    /// Requests kept for each context of the browser; the oldest are forgotten first.
    pub browser_requests: u64,
    /// Characters, and values, that JavaScript run in a page may return.
    pub browser_result_size: u64,
    /// Bytes of one recording of a page.
    pub browser_recording_bytes: u64,
    /// Bytes of a document that is converted.
    pub convert_input_bytes: u64,
    /// Bytes of Markdown that a document may become.
    pub convert_output_bytes: u64,
    /// Seconds that a conversion may take.
    pub convert_timeout_seconds: u64,
    /// Bytes of memory that a conversion may take.
    pub convert_memory_bytes: u64,
    /// Documents that may be converted at once; more wait for their turn.
    pub convert_workers: u64,
    /// Bytes of a page that is fetched from the web.
    pub web_fetch_bytes: u64,
    /// Seconds that fetching something from the web, or a search, may take.
    pub web_timeout_seconds: u64,
    /// Bytes of pages from the web that are kept for a quarter of an hour.
    pub web_cache_bytes: u64,
    /// Connections that may be open, WebSockets among them; fewer where the system allows fewer open files.
    pub connections: u64,
    /// Tickets and pages opened with one that may be good at once.
    pub tickets: u64,
    /// Sessions of MCP clients that may be open; calls without a session are not counted.
    pub mcp_sessions: u64,
    /// Seconds after which an unused session of an MCP client is closed.
    pub mcp_session_idle_seconds: u64,
    /// Calls that the list of activity holds; the oldest are forgotten first.
    pub activity_entries: u64,
    /// Skills that may be registered.
    pub skills: u64,
    /// Bytes of a skill's `SKILL.md`.
    pub skill_file_bytes: u64,
    /// Bytes of an archive of skills, packed and unpacked.
    pub skill_archive_bytes: u64,
    /// Entries of an archive of skills.
    pub skill_archive_entries: u64,
    /// Seconds that one installation of what a skill needs may take.
    pub skill_install_seconds: u64,
    /// Hooks that may be registered.
    pub hooks: u64,
    /// Seconds that a start-up hook, and all init scripts together, may take.
    pub hooks_startup_seconds: u64,
    /// Seconds that all hooks together get when the server stops.
    pub hooks_shutdown_seconds: u64,
    /// Services that users may set up.
    pub services: u64,
    /// Bytes kept for reading of what one service prints.
    pub service_log_bytes: u64,
    /// Seconds all services together get to end by themselves when the server stops.
    pub services_stop_seconds: u64,
    /// Samples that a guardrail keeps; the oldest are forgotten first.
    pub observe_samples: u64,
    /// Bytes of samples that a capture keeps on disk; it ends when there is no room for more.
    pub observe_capture_bytes: u64,
    /// Reports of observations that may exist.
    pub observe_reports: u64,
    /// Seconds the ports in `WAIT_PORTS` are waited for.
    pub wait_ports_seconds: u64,
    /// Connections through the egress proxy at once.
    pub egress_connections: u64,
    /// Mappings of hosts to other addresses.
    pub egress_mappings: u64,
    /// Patterns in each list of the egress proxy.
    pub egress_patterns: u64,
    /// Refusals of the egress policy that are remembered.
    pub egress_refusals: u64,
    /// Seconds without a byte after which a connection through the egress proxy is ended.
    pub egress_idle_seconds: u64,
    /// Seconds open requests and streams get to end when the server stops.
    pub stop_grace_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_body_bytes: 8 << 20,
            large_body_bytes: 64 << 20,
            shell_sessions: 64,
            shell_idle_seconds: 3600,
            shell_queue: 1000,
            bash_sessions: 256,
            bash_idle_seconds: 3600,
            bash_running_per_session: 256,
            commands_kept_per_session: 64,
            output_kept_bytes: 2 << 30,
            output_spill_bytes: 8 << 30,
            response_output_bytes: 32 << 20,
            input_queue_bytes: 8 << 20,
            websocket_message_bytes: 8 << 20,
            file_read_bytes: 32 << 20,
            file_edit_bytes: 64 << 20,
            file_list_entries: 50_000,
            file_search_matches: 10_000,
            upload_bytes: 64 << 30,
            searches: 8,
            editor_undo_steps: 32,
            editor_undo_bytes: 64 << 20,
            file_watchers: 128,
            file_watch_events: 20_000,
            file_watch_idle_seconds: 3600,
            archive_entries: 200_000,
            archive_bytes: 16 << 30,
            archive_ratio: 200,
            code_output_bytes: 2_000_000,
            code_runs: 16,
            jupyter_sessions: 16,
            jupyter_idle_seconds: 1800,
            nodejs_sessions: 16,
            session_memory_bytes: 0,
            session_processes: 1024,
            session_open_files: 65_536,
            browser_contexts: 64,
            browser_tabs: 100,
            browser_console_records: 1000,
            browser_requests: 5000,
            browser_result_size: 16 << 20,
            browser_recording_bytes: 2 << 30,
            convert_input_bytes: 64 << 20,
            convert_output_bytes: 16 << 20,
            convert_timeout_seconds: 60,
            convert_memory_bytes: 1 << 30,
            convert_workers: 2,
            web_fetch_bytes: 16 << 20,
            web_timeout_seconds: 30,
            web_cache_bytes: 32 << 20,
            connections: 10_000,
            tickets: 10_000,
            mcp_sessions: 1000,
            mcp_session_idle_seconds: 1800,
            activity_entries: 500,
            skills: 1000,
            skill_file_bytes: 1 << 20,
            skill_archive_bytes: 1 << 30,
            skill_archive_entries: 20_000,
            skill_install_seconds: 600,
            hooks: 64,
            hooks_startup_seconds: 300,
            hooks_shutdown_seconds: 60,
            services: 64,
            service_log_bytes: 8 << 20,
            services_stop_seconds: 10,
            observe_samples: 4320,
            observe_capture_bytes: 16 << 20,
            observe_reports: 50,
            wait_ports_seconds: 60,
            egress_connections: 1024,
            egress_mappings: 256,
            egress_patterns: 1024,
            egress_refusals: 500,
            egress_idle_seconds: 600,
            stop_grace_seconds: 5,
        }
    }
}

impl Operation for GetLimits {
    type Output = Limits;
    const SPEC: Spec =
        Spec::get("system_limits", "/v1/limits", "system:read").mcp(Mcp::ReadOnly).quiet();
}

/// Answer, to show that the server lives.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Ping {}

impl Operation for Ping {
    type Output = String;
    const SPEC: Spec = Spec::get("system_ping", "/v1/ping", "system:read").quiet();
}
