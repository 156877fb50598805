//! `atoll serve`: puts a sandbox behind its face, and takes it down again.
//!
//! Nothing slow happens before the server listens: no program is started but the spawner, nothing is looked for. The
//! end has a bound too: open streams are told to end, whatever does not is cut off, and every session's processes die.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use atoll_api::hook::HookEvent;
use atoll_auth::{AuditLog, Authenticator, Policy};
use atoll_http::{BoundAddress, Gauge, Settings};
use atoll_mcp::Mcp;
use atoll_operation::Registry;
use atoll_process::{Spawner, give_back_start};
use atoll_sandbox::desktop::DesktopSettings;
use atoll_sandbox::hook::Hooks;
use atoll_sandbox::skill::SkillSettings;
use atoll_sandbox::{Choices, Environment, Foundation, Sandbox};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::SignalKind;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::account::Account;
use crate::agent_tools::AgentTools;
use crate::cli::ServeFlags;
use crate::config::{Config, Variables};
use crate::ready::{self, ReadyFile};
use crate::runtime_dir::{self, RuntimeDir};
use crate::secrets::{self, Secrets};
use crate::signals::StopSignals;
use crate::{VERSION, credentials, lifecycle, logging, mcp};

/// Exit code for wrong flags or configuration, the same that the command line's own mistakes have.
const WRONG_USE: u8 = 2;
/// What the face gets on top of its own grace before it is abandoned.
const MARGIN: Duration = Duration::from_secs(2);
/// How long ending all sessions may take.
const SESSIONS: Duration = Duration::from_secs(3);

/// Why the server could not start, or ended by itself.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
struct Failure {
    what: String,
    source: io::Error,
}

/// Says what was being done when the system refused.
fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> Failure {
    let what = what.into();
    move |source| Failure { what, source }
}

/// Runs the verb. `is_first` says that it was started as process 1, as what a container runs.
pub(crate) fn run(flags: ServeFlags, secrets: &Secrets, is_first: bool) -> ExitCode {
    let (config_file, ready_file) = (flags.config.clone(), flags.ready_file.clone());
    let (print_config, conformance) = (flags.print_config, flags.conformance);
    let variables = Variables::of_process();
    let account = Account::current();
    let layer = flags.into_layer();
    let mut config = match Config::resolve(layer, config_file.as_deref(), &variables, &account) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("atoll: {error}");
            return ExitCode::from(WRONG_USE);
        }
    };
    if is_first {
        config.hooks.take_up_init_scripts();
    }
    if print_config {
        return crate::print(&config.to_toml());
    }
    let authenticator = match credentials::authenticator(&config, secrets, &variables) {
        Ok(authenticator) => Arc::new(authenticator),
        Err(error) => {
            eprintln!("atoll: {error}");
            return ExitCode::from(WRONG_USE);
        }
    };
    if authenticator.policy() != Policy::Open {
        secrets::hide_memory();
    }
    let others = match mcp::Others::read(&config, secrets, conformance) {
        Ok(others) => others,
        Err(error) => {
            eprintln!("atoll: {error}");
            return ExitCode::from(WRONG_USE);
        }
    };
    let tools = match AgentTools::read(&variables, &config.home) {
        Ok(tools) => tools,
        Err(error) => {
            eprintln!("atoll: {error}");
            return ExitCode::from(WRONG_USE);
        }
    };
    let choices = match choices(&config, secrets, &variables) {
        Ok(choices) => choices,
        Err(error) => {
            eprintln!("atoll: {error}");
            return ExitCode::from(WRONG_USE);
        }
    };
    let means = Means { others, tools, choices };
    match start(config, authenticator, means, &variables, &account, ready_file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("atoll: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What the settings come to, beside themselves.
struct Means {
    others: mcp::Others,
    tools: AgentTools,
    choices: Choices,
}

/// What the operator chose, for the sandbox. The error says which setting cannot be used.
fn choices(config: &Config, secrets: &Secrets, variables: &Variables) -> Result<Choices, String> {
    Ok(Choices {
        warm_kernel: config.warm_kernel,
        python_version: variables.get("PYTHON_VERSION").map(str::to_owned),
        disable_jupyter_lab: config.disable_jupyter,
        desktop: DesktopSettings {
            disabled: config.browser.no_desktop,
            browser_always: config.browser.on_desktop,
        },
        browser: config.browser.clone().into(),
        code_server: config.windows.code_server(),
        app_port: config.windows.app_port,
        skills: SkillSettings { path: config.skills.path.clone() },
        services: config.services.settings(variables),
        observe: config.observe.settings(),
        egress: config.egress.settings(secrets, variables)?,
        search: config.web.settings(config.mcp.search_url.as_deref(), secrets)?,
    })
}

fn start(
    config: Config,
    authenticator: Arc<Authenticator>,
    means: Means,
    variables: &Variables,
    account: &Account,
    ready_file: Option<PathBuf>,
) -> Result<(), Failure> {
    logging::start(&config).map_err(failed("cannot write the log; choose another --log-dir"))?;
    for (name, why) in variables.ignored() {
        tracing::warn!("{name} is set and has no effect: {why}");
    }
    let audit = config.auth.audit_log.as_deref().map(|path| {
        let problem = format!("cannot write the audit log {}", path.display());
        AuditLog::open(path).map(Arc::new).map_err(failed(problem))
    });
    let door = Door { authenticator, audit: audit.transpose()? };
    let parent = config.runtime_dir.clone();
    let problem = format!("cannot use {}; choose another --runtime-dir", parent.display());
    let runtime_dir = RuntimeDir::create(&parent).map_err(failed(problem))?;
    let environment = Environment::build(
        variables.iter(),
        &config.home,
        &config.workspace,
        &account.name,
        &config.pass_env,
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("atoll")
        .build()
        .map_err(failed("cannot start threads"))?;
    let served = runtime.block_on(async {
        let foundation = Foundation {
            home: config.home.clone(),
            workspace: config.workspace.clone(),
            runtime_dir: runtime_dir.path().to_owned(),
            environment: Arc::new(environment),
            limits: Arc::new(config.limits.clone()),
            version: VERSION,
            stop: CancellationToken::new(),
        };
        serve(config, door, means, foundation, &account.name, ready_file).await
    });
    // What still runs is a look at the system or the removal of a leftover: nothing to wait for.
    runtime.shutdown_background();
    served
}

/// Gets rid of what servers before this one left, and of what only the start needed.
fn tidy_up(runtime_dir: &Path) {
    runtime_dir::remove_leftovers(runtime_dir);
    if let Err(error) = give_back_start() {
        tracing::debug!(%error, "what only the start needed stays in memory");
    }
}

/// Who is let in, and where that is written down.
struct Door {
    authenticator: Arc<Authenticator>,
    audit: Option<Arc<AuditLog>>,
}

async fn serve(
    config: Config,
    door: Door,
    means: Means,
    mut foundation: Foundation,
    user: &str,
    ready_file: Option<PathBuf>,
) -> Result<(), Failure> {
    let mut signals = StopSignals::listen().map_err(failed("cannot listen for signals"))?;
    let stop = foundation.stop.clone();
    let limits = Arc::clone(&foundation.limits);
    let grace = Duration::from_secs(limits.stop_grace_seconds);
    let spawner = Spawner::launch().map_err(failed("cannot start the spawner"))?;
    raise_open_files();
    let Means { others, tools, choices } = means;
    let hooks = Hooks::new(&foundation, &spawner, config.hooks.clone().into());
    tokio::select! {
        prepared = lifecycle::prepare(&hooks, &config, &tools, &mut foundation) => {
            prepared.map_err(|error| failed("the start ends")(io::Error::other(error)))?;
        }
        signal = signals.next() => {
            tracing::info!(signal = signal.as_raw_value(), "stopped before it had started");
            return Ok(());
        }
    }
    let mcp = others.face(&foundation, &spawner);
    let sandbox = Sandbox::new(foundation, spawner, choices);
    let mut registry = Registry::default();
    sandbox.bind(&mut registry);
    hooks.bind(&mut registry);
    atoll_http::bind(&mut registry, &door.authenticator, &limits);
    mcp.bind(&mut registry);
    mcp.offer(&registry);
    tell_of_skills(&sandbox, &mcp, &stop);

    let (ready, bound) = oneshot::channel();
    let settings = Settings {
        listen: config.listen.0,
        version: VERSION,
        limits,
        allowed_hosts: config.allow_hosts,
        allowed_origins: config.allow_origins,
        authenticator: Arc::clone(&door.authenticator),
        audit: door.audit,
        gauges: gauges(&sandbox),
        mounts: if config.mcp.disabled { Vec::new() } else { vec![mcp::mount(&mcp)] },
        ready: Some(ready),
    };
    let mut face = tokio::spawn(atoll_http::serve(registry, settings, stop.clone()));

    // The sender is dropped unused when the face could not listen: then its own error is the news.
    let mut _ready_file = None;
    let (mut early, mut served) = (None, false);
    if let Ok(address) = bound.await {
        if let BoundAddress::Tcp(address) = &address {
            sandbox.internal_ports.add(address.port());
        }
        early = tokio::select! {
            () = start_services(&sandbox) => None,
            signal = signals.next() => Some(signal),
        };
        if early.is_none() {
            if let Some(path) = &ready_file {
                let problem = format!("cannot write the ready file {}", path.display());
                _ready_file = Some(ReadyFile::write(path, &address).map_err(failed(problem))?);
            }
            ready::announce(&address, user, door.authenticator.policy());
            served = true;
            let answering = Arc::clone(&hooks);
            tokio::spawn(async move { answering.start(HookEvent::PostReady).await });
        }
        tokio::task::spawn_blocking(move || tidy_up(&config.runtime_dir));
    }

    let asked = async {
        match early {
            Some(signal) => signal,
            None => signals.next().await,
        }
    };
    let ended = tokio::select! {
        ended = &mut face => Some(ended),
        signal = asked => {
            tracing::info!(signal = signal.as_raw_value(), "stopping");
            None
        }
    };
    // While everything still runs: a hook may want to save what the sandbox holds, by its own API too.
    if served {
        tokio::select! {
            () = hooks.shutdown() => {}
            signal = signals.next() => stop_at_once(signal),
        }
    }
    stop.cancel();
    hooks.close();
    let outcome = match ended {
        Some(ended) => ended.unwrap_or_else(|error| Err(io::Error::other(error))),
        None => Ok(()),
    };
    tokio::select! {
        () = take_down(face, &mcp, sandbox, grace) => {}
        signal = signals.next() => stop_at_once(signal),
    }
    tracing::info!("stopped");
    outcome.map_err(|source| {
        let taken = source.kind() == io::ErrorKind::AddrInUse;
        failed(if taken { "choose another --listen" } else { "the server ended" })(source)
    })
}

/// Whoever asks twice does not want to wait.
fn stop_at_once(signal: SignalKind) -> ! {
    tracing::warn!("stopped at once by a second signal");
    std::process::exit(128 + signal.as_raw_value());
}

/// Has MCP clients told when skills come and go.
fn tell_of_skills(sandbox: &Sandbox, mcp: &Mcp, stop: &CancellationToken) {
    let (mut changes, mcp) = (sandbox.skills.changes(), mcp.clone());
    let telling = async move {
        while changes.changed().await.is_ok() {
            mcp.skills_changed();
        }
    };
    tokio::spawn(stop.clone().run_until_cancelled_owned(telling));
}

/// Lets this process open as many files as the system allows, for its connections. Programs keep the lower limit they
/// are used to: the spawner was started before.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::debug!(%error, "the number of open files stays limited");
    }
}

/// Figures of the sandbox for `/metrics`.
fn gauges(sandbox: &Sandbox) -> Vec<Gauge> {
    // Sessions are few enough that 32 bits hold their number exactly.
    let figure = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let (shells, bashes) = (Arc::clone(&sandbox.shells), Arc::clone(&sandbox.bashes));
    let (jupyters, nodes) = (Arc::clone(&sandbox.jupyters), Arc::clone(&sandbox.nodes));
    let browsers = Arc::clone(&sandbox.browsers);
    let kernels = Arc::clone(&jupyters);
    vec![
        Gauge {
            name: "atoll_jupyter_kernels_ready",
            help: "Jupyter kernels that stand ready for a session to come.",
            read: Box::new(move || figure(usize::from(kernels.is_warm()))),
        },
        Gauge {
            name: "atoll_shell_sessions",
            help: "Shell sessions that exist.",
            read: Box::new(move || figure(shells.count())),
        },
        Gauge {
            name: "atoll_jupyter_sessions",
            help: "Jupyter sessions that exist.",
            read: Box::new(move || figure(jupyters.count())),
        },
        Gauge {
            name: "atoll_nodejs_sessions",
            help: "Node.js sessions that exist.",
            read: Box::new(move || figure(nodes.count())),
        },
        Gauge {
            name: "atoll_browser_tabs",
            help: "Tabs of the browser that are open, in all contexts.",
            read: Box::new(move || figure(browsers.count())),
        },
        Gauge {
            name: "atoll_bash_sessions",
            help: "Bash sessions that exist.",
            read: Box::new(move || figure(bashes.count())),
        },
    ]
}

/// Starts services of users, and waits for them as far as the operator wants that.
async fn start_services(sandbox: &Sandbox) {
    sandbox.services.load().await;
    sandbox.services.wait_for_ports().await;
}

/// Ends open requests, then services of users, then every session.
async fn take_down(
    mut face: JoinHandle<io::Result<()>>,
    mcp: &Mcp,
    sandbox: Sandbox,
    grace: Duration,
) {
    if !face.is_finished() && tokio::time::timeout(grace + MARGIN, &mut face).await.is_err() {
        tracing::warn!("requests that did not end in time were cut off");
        face.abort();
    }
    mcp.close().await;
    sandbox.services.close().await;
    if tokio::time::timeout(SESSIONS, sandbox.stop()).await.is_err() {
        tracing::warn!("sessions did not end in time; their processes end with this one");
    }
}
