//! One other server: started on first need, started again when it has died, left alone for a while when it will not
//! start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use atoll_operation::{Error, Kind};
use atoll_process::{Command, LogSettings, Piped, PipedSettings, SpillBudget};
use http::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam,
    ClientCapabilities, ClientConfig, ClientRequest, Implementation, JsonObject,
    ProgressNotificationParam, RequestId, ResultType, ServerResult, Tool,
};
use rmcp::service::{
    NotificationContext, Peer, PeerRequestOptions, RunningService, ServiceError, serve_client,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::HubSettings;
use super::child::ChildTransport;
use super::config::{Reach, ServerConfig};
use super::hearing::Hearing;
use crate::calls::Progress;
use crate::notices::Notices;

/// How long a server may take to start and greet. The first start of a package may download it.
const START: Duration = Duration::from_mins(1);
/// How long it may take to list its tools.
const LIST: Duration = Duration::from_secs(20);
/// How long a tool may take without a sign of progress, unless its server's settings say otherwise.
const CALL: Duration = Duration::from_mins(5);
/// How long it may take to tell a server that a call is called off.
const RECALL: Duration = Duration::from_secs(10);
/// How long a server that does not start is left alone, at first and at most.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// Notices of progress that wait for a slow reader; more are dropped, since the next one says as much.
const NOTICES: usize = 256;
/// Bytes of a program's output that may wait to be read.
const KEPT: u64 = 128 << 20;

/// Another server.
pub(crate) struct Member {
    config: ServerConfig,
    settings: Arc<HubSettings>,
    notices: Notices,
    stop: CancellationToken,
    /// Held while it starts, so that it starts once.
    starting: tokio::sync::Mutex<Trouble>,
    connection: Mutex<Option<Arc<Connection>>>,
}

/// What went wrong at the latest starts.
#[derive(Default)]
struct Trouble {
    times: u32,
    latest: Option<(Instant, String)>,
}

/// A server that runs.
pub(crate) struct Connection {
    peer: Peer<RoleClient>,
    progress: broadcast::Sender<ProgressNotificationParam>,
    tools: Mutex<Arc<Vec<Tool>>>,
    /// Ends it when dropped.
    _service: RunningService<RoleClient, Follower>,
}

impl Connection {
    pub(crate) fn tools(&self) -> Arc<Vec<Tool>> {
        Arc::clone(&self.tools.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Member {
    pub(super) fn new(
        config: ServerConfig,
        settings: Arc<HubSettings>,
        notices: Notices,
        stop: CancellationToken,
    ) -> Self {
        let (starting, connection) = Default::default();
        Self { config, settings, notices, stop, starting, connection }
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    /// The connection, if there is one that lives.
    pub(crate) fn connected(&self) -> Option<Arc<Connection>> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner).clone();
        connection.filter(|connection| !connection.peer.is_transport_closed())
    }

    /// The connection, made if need be.
    pub(crate) async fn connect(self: &Arc<Self>) -> Result<Arc<Connection>, Error> {
        if let Some(connection) = self.connected() {
            return Ok(connection);
        }
        let mut trouble = self.starting.lock().await;
        if let Some(connection) = self.connected() {
            return Ok(connection);
        }
        if let Some((when, why)) = &trouble.latest
            && when.elapsed() < pause(trouble.times)
        {
            return Err(self.unavailable(why));
        }
        let started = tokio::select! {
            started = tokio::time::timeout(START, self.start()) => {
                started.unwrap_or_else(|_| Err("it gave no sign of life".to_owned()))
            }
            () = self.stop.cancelled() => Err("the sandbox is stopping".to_owned()),
        };
        match started {
            Ok(connection) => {
                *trouble = Trouble::default();
                let connection = Arc::new(connection);
                self.keep(Some(Arc::clone(&connection)));
                Ok(connection)
            }
            Err(why) => {
                tracing::warn!(server = self.name(), why, "an MCP server did not start");
                trouble.times = trouble.times.saturating_add(1);
                trouble.latest = Some((Instant::now(), why.clone()));
                Err(self.unavailable(&why))
            }
        }
    }

    fn keep(&self, connection: Option<Arc<Connection>>) {
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = connection;
    }

    /// Ends it.
    pub(crate) fn disconnect(&self) {
        self.keep(None);
    }

    fn unavailable(&self, why: &str) -> Error {
        let message = format!("the MCP server {} cannot be used: {why}", self.name());
        Error::new(Kind::Unavailable, "mcp.server_unavailable", message).with_hint(
            "Its other tools are not to be had either; go on without it, or try again in a minute.",
        )
    }

    async fn start(self: &Arc<Self>) -> Result<Connection, String> {
        let (progress, _) = broadcast::channel(NOTICES);
        let follower = Follower(Arc::downgrade(self));
        let service = match &self.config.reach {
            Reach::Command { program, arguments, environment, directory } => {
                let piped =
                    self.launch(program, arguments, environment, directory.as_deref()).await?;
                let piped = Arc::new(piped);
                let way = ChildTransport::new(Arc::clone(&piped));
                let greeted = serve_client(follower, Hearing::new(way, progress.clone())).await;
                greeted.map_err(|error| epitaph(&error.to_string(), &piped))?
            }
            Reach::Url { url, headers } => {
                let mut custom = std::collections::HashMap::new();
                for (name, value) in headers {
                    let name: HeaderName =
                        name.parse().map_err(|_| format!("{name:?} is no header's name"))?;
                    let value: HeaderValue =
                        value.parse().map_err(|_| format!("the value of {name} is no header's"))?;
                    custom.insert(name, value);
                }
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                config.custom_headers = custom;
                let way = StreamableHttpClientTransport::from_config(config);
                let greeted = serve_client(follower, Hearing::new(way, progress.clone())).await;
                greeted.map_err(|error| error.to_string())?
            }
        };
        let peer = service.peer().clone();
        let tools = list(&peer).await.map_err(|error| error.to_string())?;
        Ok(Connection { peer, progress, tools: Mutex::new(Arc::new(tools)), _service: service })
    }

    async fn launch(
        &self,
        program: &str,
        arguments: &[String],
        extra: &BTreeMap<String, String>,
        directory: Option<&Path>,
    ) -> Result<Piped, String> {
        let settings = &self.settings;
        let mut environment = settings.environment.clone();
        environment.extend(extra.clone());
        let path = environment.get("PATH").map(String::as_str).unwrap_or_default();
        let directory = directory.unwrap_or(&settings.directory);
        let program = find_program(program, path, directory)
            .ok_or_else(|| format!("there is no program {program:?} on the PATH"))?;
        let command = Command {
            program,
            arguments: arguments.to_vec(),
            environment,
            directory: directory.to_owned(),
        };
        let log = LogSettings {
            directory: settings.runtime_dir.clone(),
            kept_bytes: KEPT,
            budget: SpillBudget::new(KEPT),
        };
        let input_queue_bytes = usize::try_from(KEPT).unwrap_or(usize::MAX);
        let piped = PipedSettings { log, input_queue_bytes };
        let spawner = settings.spawner.as_ref().ok_or("no programs can be started here")?;
        Piped::start(spawner, &command, &piped).await.map_err(|error| error.to_string())
    }

    /// Reads the list of tools anew, after the server has said that it changed.
    async fn refresh(self: Arc<Self>) {
        let Some(connection) = self.connected() else { return };
        match list(&connection.peer).await {
            Ok(tools) => {
                *connection.tools.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(tools);
                self.notices.tools_changed();
            }
            Err(error) => tracing::warn!(server = self.name(), %error, "new tools were not listed"),
        }
    }

    /// Calls a tool, passing on progress. A call that is dropped before its answer is called off at the server too.
    pub(crate) async fn call(
        self: &Arc<Self>,
        tool: &str,
        arguments: JsonObject,
        progress: Option<&Progress>,
    ) -> Result<CallToolResult, Error> {
        let connection = self.connect().await?;
        let mut notices = connection.progress.subscribe();
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let patience = self.config.timeout.map_or(CALL, Duration::from_secs_f64);
        let options = PeerRequestOptions::with_timeout(patience).reset_timeout_on_progress();
        let handle = connection.peer.send_cancellable_request(request, options).await;
        let handle = handle.map_err(|error| self.failed(tool, &error))?;
        let token = handle.progress_token.clone();
        let mut recall = Recall(Some((handle.peer.clone(), handle.id.clone())));
        let mut answer = std::pin::pin!(handle.await_response());
        loop {
            tokio::select! {
                biased;
                // Before the answer, since that came after it. Those a slow client has missed are missed.
                notice = notices.recv() => {
                    if let (Some(progress), Ok(notice)) = (progress, notice)
                        && notice.progress_token == token
                    {
                        progress.tell(notice.message, Some((notice.progress, notice.total))).await;
                    }
                }
                answer = &mut answer => {
                    recall.0 = None;
                    return match answer.map_err(|error| self.failed(tool, &error))? {
                        ServerResult::CallToolResult(mut result) => {
                            // Clients of the newest revision expect to be told that it is whole.
                            result.result_type = Some(ResultType::COMPLETE);
                            Ok(result)
                        }
                        _ => Err(self.failed(tool, &ServiceError::UnexpectedResponse)),
                    };
                }
            }
        }
    }

    fn failed(&self, tool: &str, error: &ServiceError) -> Error {
        let server = self.name();
        match error {
            ServiceError::McpError(error) => {
                let message = format!("the MCP server {server} refused {tool}: {}", error.message);
                let unknown = error.code == rmcp::model::ErrorCode::INVALID_PARAMS;
                let kind = if unknown { Kind::InvalidArgument } else { Kind::FailedPrecondition };
                Error::new(kind, "mcp.failed", message)
            }
            ServiceError::Timeout { timeout } => {
                let seconds = timeout.as_secs_f64();
                let message =
                    format!("{tool} of the MCP server {server} gave no sign for {seconds} s");
                Error::new(Kind::DeadlineExceeded, "mcp.timeout", message)
            }
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                let message = format!("the MCP server {server} went away while {tool} ran");
                Error::new(Kind::Unavailable, "mcp.server_unavailable", message)
                    .with_hint("It is started again by the next call.")
            }
            other => {
                let message = format!("{tool} of the MCP server {server} failed: {other}");
                Error::new(Kind::FailedPrecondition, "mcp.failed", message)
            }
        }
    }
}

/// Tells a server that nobody waits for one of its answers any more, when it is dropped with the call's id in it.
struct Recall(Option<(Peer<RoleClient>, RequestId)>);

impl Drop for Recall {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if let Some((peer, id)) = self.0.take() {
            runtime.spawn(async move {
                let why = Some("the caller has left".to_owned());
                let notice = CancelledNotificationParam::new(Some(id), why);
                // A server that has gone meanwhile has nothing left to call off.
                drop(tokio::time::timeout(RECALL, peer.notify_cancelled(notice)).await);
            });
        }
    }
}

/// What we are to another server, and what we do with what it says unasked.
pub(super) struct Follower(std::sync::Weak<Member>);

impl rmcp::ClientHandler for Follower {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("atoll", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        // Asked from another task: the answer would otherwise wait for this notice to be dealt with.
        if let Some(member) = self.0.upgrade() {
            tokio::spawn(member.refresh());
        }
    }
}

async fn list(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, ServiceError> {
    let has_tools = peer.peer_info().is_none_or(|info| info.capabilities.tools.is_some());
    if !has_tools {
        return Ok(Vec::new());
    }
    match tokio::time::timeout(LIST, peer.list_all_tools()).await {
        Ok(tools) => tools,
        Err(_) => Err(ServiceError::Timeout { timeout: LIST }),
    }
}

fn pause(times: u32) -> Duration {
    PAUSE.saturating_mul(2_u32.saturating_pow(times.saturating_sub(1))).min(LONGEST_PAUSE)
}

/// Why a program that has been started does not serve, with the end of what it complained.
fn epitaph(error: &str, piped: &Piped) -> String {
    let stderr = piped.stderr();
    let from = stderr.progress().end.saturating_sub(1000);
    let complaint = stderr.read_text(from, 1000).text;
    let ended = piped.ended().map(|exit| format!("it {exit}"));
    let mut why = ended.unwrap_or_else(|| error.to_owned());
    if !complaint.trim().is_empty() {
        why = format!("{why}: {}", complaint.trim());
    }
    why
}

/// The program a name means: a path, or the first of its name on the path.
fn find_program(name: &str, path: &str, directory: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(directory.join(name)).filter(|program| program.is_file());
    }
    let places = path.split(':').filter(|place| place.starts_with('/'));
    places.map(|place| Path::new(place).join(name)).find(|program| program.is_file())
}
