//! Services: what runs in the sandbox for as long as it does. Parts of the sandbox itself (browser, desktop, JupyterLab, VS
//! Code), and programs that its users have set up in files.

use atoll_operation::{Declaration, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of::<ListServices>(),
    Declaration::of::<StartService>(),
    Declaration::of::<StopService>(),
    Declaration::of::<RestartService>(),
    Declaration::of::<ReadServiceLog>(),
    Declaration::of::<ReloadServices>(),
];

/// What can go wrong when a service is started or stopped.
const CONTROL: &[&str] = &["service.not_found", "service.not_startable"];

/// Whose a service is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServiceKind {
    /// A part of the sandbox itself, started when it is needed.
    Builtin,
    /// A program set up in a file.
    User,
}

/// How a service stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServiceState {
    /// It does not run: it was not asked for, was stopped, or has ended as it should.
    Off,
    /// It was started and is not taken for up yet.
    Starting,
    /// It runs.
    Running,
    /// It was told to end.
    Stopping,
    /// It ended as it should not, or did not come up; `detail` says why. It is not started again by itself.
    Failed,
    /// It ended too soon; it is started again after a pause.
    Backoff,
    /// Its program is not installed.
    Missing,
    /// It is switched off in this sandbox.
    Disabled,
}

/// A service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceInfo {
    /// Its name, by which it is started and stopped.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Whose it is.
    pub kind: ServiceKind,
    /// How it stands.
    pub state: ServiceState,
    /// Why it stands so, where there is more to say.
    pub detail: Option<String>,
    /// Its process, while it runs.
    pub pid: Option<i32>,
    /// Since when it stands so.
    pub since: Option<String>,
    /// How often it was started again by itself since it was last started by somebody.
    pub restarts: u64,
    /// Where its pages are, if it has any.
    pub url: Option<String>,
    /// Whether it can be started now.
    pub can_start: bool,
    /// Whether it can be stopped now.
    pub can_stop: bool,
}

/// A mistake in a file that sets services up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceProblem {
    /// The file.
    pub file: String,
    /// The line, where it is known.
    pub line: Option<u64>,
    /// What is wrong, and what comes of it.
    pub message: String,
}

/// List the services of this sandbox and how each stands: its own parts (browser, desktop, JupyterLab, VS Code) and
/// programs that users have set up.
///
/// Asked for as a stream, an event `services` brings the whole list now and whenever it changes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListServices {}

/// The services of a sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceList {
    /// Its own parts first, then those of users in the order in which they are started.
    pub services: Vec<ServiceInfo>,
    /// Mistakes in the files that set services up.
    pub problems: Vec<ServiceProblem>,
    /// Ports that the sandbox waits for before it says that it is ready (`WAIT_PORTS`).
    pub waiting_for_ports: Vec<u16>,
}

impl Operation for ListServices {
    type Output = ServiceList;
    const SPEC: Spec = Spec::get("service_list", "/v1/services", "service:read")
        .mcp(Mcp::ReadOnly)
        .streaming()
        .quiet();
}

/// Start a service, and wait until it is up or has failed. One that runs is left alone.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct StartService {
    /// Its name.
    pub name: String,
}

impl Operation for StartService {
    type Output = ServiceInfo;
    const SPEC: Spec = Spec::post("service_start", "/v1/services/{name}/start", "service:write")
        .mcp(Mcp::Mutating)
        .errors(CONTROL);
}

/// Stop a service with everything it has started: it is told to end, and killed when it does not in time.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct StopService {
    /// Its name.
    pub name: String,
}

impl Operation for StopService {
    type Output = ServiceInfo;
    const SPEC: Spec = Spec::post("service_stop", "/v1/services/{name}/stop", "service:write")
        .mcp(Mcp::Mutating)
        .errors(CONTROL);
}

/// Stop a service if it runs, start it, and wait until it is up or has failed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RestartService {
    /// Its name.
    pub name: String,
}

impl Operation for RestartService {
    type Output = ServiceInfo;
    const SPEC: Spec =
        Spec::post("service_restart", "/v1/services/{name}/restart", "service:write")
            .mcp(Mcp::Mutating)
            .errors(CONTROL);
}

/// Read what a service of a user has printed last, both its output and its errors.
///
/// Asked for as a stream, events `output` bring the same and whatever it prints from then on; their ids are the offsets to
/// resume from.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReadServiceLog {
    /// Its name.
    pub name: String,
    /// How many lines, counted from the end.
    #[serde(default = "lines")]
    #[schemars(range(min = 0, max = 100_000))]
    pub lines: u64,
}

fn lines() -> u64 {
    200
}

/// What a service has printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceLog {
    /// Its name.
    pub name: String,
    /// The text.
    pub output: String,
    /// Whether there was more before it.
    pub truncated: bool,
    /// Bytes it has printed so far.
    pub offset: u64,
}

impl Operation for ReadServiceLog {
    type Output = ServiceLog;
    const SPEC: Spec = Spec::get("service_logs", "/v1/services/{name}/logs", "service:read")
        .mcp(Mcp::ReadOnly)
        .errors(&["service.not_found"])
        .streaming()
        .quiet();
}

/// Read the files that set services up again. New services are started, changed ones started again, and those that are
/// gone stopped; the others are left alone.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReloadServices {}

impl Operation for ReloadServices {
    type Output = ServiceList;
    const SPEC: Spec =
        Spec::post("service_reload", "/v1/services/reload", "service:write").mcp(Mcp::Mutating);
}
