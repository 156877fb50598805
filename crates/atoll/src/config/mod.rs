//! What the server runs with. Four layers, each over the next: flags, environment, file, defaults. A layer holds only
//! what it was given; [`Config`] is what comes out, complete and checked. A mistake names where it stands, the setting
//! and what is allowed.

mod auth;
mod browser;
mod egress;
mod environment;
mod file;
mod hooks;
mod ignored;
mod layer;
mod listen;
mod mcp;
mod observe;
mod print;
mod services;
mod skills;
mod web;
mod windows;

use std::path::{Path, PathBuf};

use atoll_api::system::Limits;
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::runtime_dir;

pub(crate) use auth::AuthLayer;
pub(crate) use environment::Variables;
pub(crate) use layer::Layer;
pub(crate) use listen::Listen;
pub(crate) use mcp::McpLayer;
pub(crate) use services::ServicesLayer;

/// Every setting of a sandbox server. The comments are what `--print-config` prints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Config {
    /// Where to listen: `host:port`, or the path of a unix socket. Anything but loopback lets other machines in.
    pub(crate) listen: Listen,
    /// Home directory of the sandbox. Created if it is missing.
    pub(crate) home: PathBuf,
    /// Where commands run unless told otherwise. Created if it is missing.
    pub(crate) workspace: PathBuf,
    /// Directory under which this process keeps its private files, among them output too large for memory.
    pub(crate) runtime_dir: PathBuf,
    /// Form of the log: `text` for people, `json` for programs.
    pub(crate) log_format: LogFormat,
    /// The least severe messages that are logged: `error`, `warn`, `info`, `debug` or `trace`.
    pub(crate) log_level: LogLevel,
    /// Directory in which the log is also written to `atoll.log`.
    pub(crate) log_dir: Option<PathBuf>,
    /// Names by which callers may address this server (the `Host` header) beside its own; `*` allows any.
    pub(crate) allow_hosts: Vec<String>,
    /// Web pages (the `Origin` header) that may call this server beside its own; `*` allows any.
    pub(crate) allow_origins: Vec<String>,
    /// Variables of the server's environment that commands get to see, by name or pattern (`MY_*`).
    pub(crate) pass_env: Vec<String>,
    /// Whether a Python kernel is kept started, so that the first execution need not wait for one.
    pub(crate) warm_kernel: bool,
    /// Whether JupyterLab is left out.
    pub(crate) disable_jupyter: bool,
    /// Who may come in.
    pub(crate) auth: auth::AuthConfig,
    /// How the browser shall be.
    pub(crate) browser: browser::BrowserConfig,
    /// Commands at the start and at the end.
    pub(crate) hooks: hooks::HooksConfig,
    /// How programs reach the outside.
    pub(crate) egress: egress::EgressConfig,
    /// Other MCP servers whose tools are offered here.
    pub(crate) mcp: mcp::McpConfig,
    /// Where skills are.
    pub(crate) skills: skills::SkillsConfig,
    /// Services of users.
    pub(crate) services: services::ServicesConfig,
    /// How the sandbox is observed.
    pub(crate) observe: observe::ObserveConfig,
    /// How the web is searched.
    pub(crate) web: web::WebConfig,
    /// Windows for people.
    pub(crate) windows: windows::WindowsConfig,
    /// Every bound the server keeps to.
    pub(crate) limits: Limits,
}

/// Form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// One line of text per message.
    Text,
    /// One JSON object per message.
    Json,
}

/// How severe a message must be to be logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    /// Something failed that should not.
    Error,
    /// Something needs attention.
    Warn,
    /// What happens, one line per request.
    Info,
    /// What happens inside.
    Debug,
    /// Everything.
    Trace,
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The configuration file cannot be read.
    #[error("cannot read the configuration file {path}: {source}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The configuration file is wrong.
    #[error("in the configuration file {path}: {message}", path = path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Line, key and what is allowed.
        message: String,
    },
    /// A variable of the environment has a value that cannot be used.
    #[error("environment variable {name}={value:?} cannot be used: {allowed}")]
    Variable {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// Hooks for the end that cannot be used.
    #[error("the shutdown hooks (SANDBOX_SHUTDOWN_HOOKS) cannot be used: {0}")]
    Hooks(String),
    /// A limit that does not exist.
    #[error("{place} sets a limit that does not exist; allowed are: {allowed}")]
    UnknownLimit {
        /// Where it is set.
        place: String,
        /// The limits there are.
        allowed: String,
    },
}

impl Config {
    /// What comes out of these flags, this environment and the file they name.
    pub(crate) fn resolve(
        flags: Layer,
        config_file: Option<&Path>,
        variables: &Variables,
        account: &Account,
    ) -> Result<Self, ConfigError> {
        let file = config_file.map(Path::to_owned).or_else(|| variables.config_file());
        let file = file.map_or_else(|| Ok(Layer::default()), |path| file::read(&path))?;
        let below = file.listen.clone().unwrap_or_default();
        let environment = variables.layer(&below)?;
        let given = flags.over(environment).over(file);

        let home = given.home.map_or_else(|| variables.home(account), absolute);
        let workspace = given.workspace.map_or_else(|| home.clone(), absolute);
        Ok(Self {
            listen: given.listen.unwrap_or_default(),
            home,
            workspace,
            runtime_dir: given
                .runtime_dir
                .map_or_else(|| runtime_dir::default_parent(variables.get("TMPDIR")), absolute),
            log_format: given.log_format.unwrap_or(LogFormat::Text),
            log_level: given.log_level.unwrap_or(LogLevel::Info),
            log_dir: given.log_dir.map(absolute),
            allow_hosts: given.allow_hosts.unwrap_or_default(),
            allow_origins: given.allow_origins.unwrap_or_default(),
            pass_env: given.pass_env.unwrap_or_default(),
            warm_kernel: given.warm_kernel.unwrap_or_default(),
            disable_jupyter: given.disable_jupyter.unwrap_or_default(),
            auth: given.auth.resolve(),
            browser: given.browser.resolve(),
            hooks: given.hooks.resolve()?,
            egress: given.egress.resolve(),
            mcp: given.mcp.resolve(),
            skills: given.skills.resolve(),
            services: given.services.resolve(),
            observe: given.observe.resolve(),
            web: given.web.resolve(),
            windows: given.windows.resolve(),
            limits: layer::limits(&given.limits),
        })
    }
}

/// Relative paths are meant from where the program was started.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

#[cfg(test)]
mod tests;
