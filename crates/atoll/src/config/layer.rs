//! One source of settings: what it was given, and nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;

use atoll_api::system::Limits;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::auth::AuthLayer;
use super::browser::BrowserLayer;
use super::egress::EgressLayer;
use super::hooks::HooksLayer;
use super::mcp::McpLayer;
use super::observe::ObserveLayer;
use super::services::ServicesLayer;
use super::skills::SkillsLayer;
use super::web::WebLayer;
use super::windows::WindowsLayer;
use super::{ConfigError, Listen, LogFormat, LogLevel};

/// Settings from one source. Its fields are those of [`super::Config`], each possibly not given.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layer {
    pub(crate) listen: Option<Listen>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) runtime_dir: Option<PathBuf>,
    pub(crate) log_format: Option<LogFormat>,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) log_dir: Option<PathBuf>,
    pub(crate) allow_hosts: Option<Vec<String>>,
    pub(crate) allow_origins: Option<Vec<String>>,
    pub(crate) pass_env: Option<Vec<String>>,
    pub(crate) warm_kernel: Option<bool>,
    pub(crate) disable_jupyter: Option<bool>,
    #[serde(default)]
    pub(crate) auth: AuthLayer,
    #[serde(default)]
    pub(crate) browser: BrowserLayer,
    #[serde(default)]
    pub(crate) hooks: HooksLayer,
    #[serde(default)]
    pub(crate) egress: EgressLayer,
    #[serde(default)]
    pub(crate) mcp: McpLayer,
    #[serde(default)]
    pub(crate) skills: SkillsLayer,
    #[serde(default)]
    pub(crate) services: ServicesLayer,
    #[serde(default)]
    pub(crate) observe: ObserveLayer,
    #[serde(default)]
    pub(crate) web: WebLayer,
    #[serde(default)]
    pub(crate) windows: WindowsLayer,
    /// By name, checked when the limits are put together.
    #[serde(default)]
    pub(crate) limits: BTreeMap<String, u64>,
}

impl Layer {
    /// This layer, and where it says nothing the one below. A list replaces the one below as a whole.
    pub(crate) fn over(self, below: Self) -> Self {
        let mut limits = below.limits;
        limits.extend(self.limits);
        Self {
            listen: self.listen.or(below.listen),
            home: self.home.or(below.home),
            workspace: self.workspace.or(below.workspace),
            runtime_dir: self.runtime_dir.or(below.runtime_dir),
            log_format: self.log_format.or(below.log_format),
            log_level: self.log_level.or(below.log_level),
            log_dir: self.log_dir.or(below.log_dir),
            allow_hosts: self.allow_hosts.or(below.allow_hosts),
            allow_origins: self.allow_origins.or(below.allow_origins),
            pass_env: self.pass_env.or(below.pass_env),
            warm_kernel: self.warm_kernel.or(below.warm_kernel),
            disable_jupyter: self.disable_jupyter.or(below.disable_jupyter),
            auth: self.auth.over(below.auth),
            browser: self.browser.over(below.browser),
            hooks: self.hooks.over(below.hooks),
            egress: self.egress.over(below.egress),
            mcp: self.mcp.over(below.mcp),
            skills: self.skills.over(below.skills),
            services: self.services.over(below.services),
            observe: self.observe.over(below.observe),
            web: self.web.over(below.web),
            windows: self.windows.over(below.windows),
            limits,
        }
    }
}

/// The limits there are, with their defaults.
pub(crate) fn known_limits() -> Map<String, Value> {
    match serde_json::to_value(Limits::default()) {
        Ok(Value::Object(limits)) => limits,
        _ => Map::new(),
    }
}

/// Refuses a limit that does not exist; `place` says where it is set.
pub(crate) fn check_limit(name: &str, place: impl FnOnce() -> String) -> Result<(), ConfigError> {
    let known = known_limits();
    if known.contains_key(name) {
        return Ok(());
    }
    let allowed: Vec<_> = known.keys().map(String::as_str).collect();
    Err(ConfigError::UnknownLimit { place: place(), allowed: allowed.join(", ") })
}

/// The limits with these changed; each was checked where it came from.
pub(crate) fn limits(changed: &BTreeMap<String, u64>) -> Limits {
    let mut all = known_limits();
    all.extend(changed.iter().map(|(name, value)| (name.clone(), Value::from(*value))));
    // Every limit is a whole number, and each of these was read as one.
    serde_json::from_value(Value::Object(all)).unwrap_or_default()
}
