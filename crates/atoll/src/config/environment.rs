//! The server's environment as a source of settings. Names that existing deployments set (`WORKSPACE`, `PUBLIC_PORT`,
//! `MAX_SHELL_SESSIONS`, …) mean what they always meant; our own start with `ATOLL_` and are stronger. A variable that
//! is set but empty counts as not set: compose files pass such on.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;

use super::layer::{self, Layer};
use super::{ConfigError, Listen};
use crate::account::Account;

/// Prefix of the variables that set limits: `ATOLL_LIMIT_SHELL_SESSIONS`.
pub(crate) const LIMIT_PREFIX: &str = "ATOLL_LIMIT_";

/// Limits that have a name of their own in existing deployments.
const KNOWN_LIMITS: [(&str, &str); 4] = [
    ("MAX_SHELL_SESSIONS", "shell_sessions"),
    ("MAX_BASH_SESSIONS", "bash_sessions"),
    ("BASH_SESSION_TIMEOUT", "bash_idle_seconds"),
    ("AIO_FILE_WATCH_MAX_WATCHERS", "file_watchers"),
];

/// The server's environment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables(BTreeMap<String, String>);

impl Variables {
    /// This process's. What is not UTF-8 is nothing of ours.
    pub(crate) fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        std::env::vars_os().filter_map(text).collect()
    }

    /// Every variable.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (String, String)> {
        self.0.clone().into_iter()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.get(name).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }

    /// The configuration file named here.
    pub(crate) fn config_file(&self) -> Option<PathBuf> {
        self.get("ATOLL_CONFIG").map(PathBuf::from)
    }

    /// The home directory, when none is set for the sandbox.
    pub(crate) fn home(&self, account: &Account) -> PathBuf {
        let own = self.get("HOME").map(PathBuf::from);
        own.filter(|home| home.is_absolute())
            .or_else(|| account.home.clone())
            .unwrap_or_else(|| PathBuf::from("/root"))
    }

    /// The settings made here. `below` is where the server would listen otherwise: a port alone changes only that.
    pub(crate) fn layer(&self, below: &Listen) -> Result<Layer, ConfigError> {
        let listen = match self.parse("ATOLL_LISTEN", |error| error)? {
            Some(listen) => Some(listen),
            None => self
                .parse("PUBLIC_PORT", |_| "write a port, 0 to 65535".to_owned())?
                .map(|port| below.with_port(port)),
        };
        let path = |name: &str| self.get(name).map(PathBuf::from);
        Ok(Layer {
            listen,
            home: path("ATOLL_HOME"),
            workspace: path("WORKSPACE"),
            runtime_dir: path("ATOLL_RUNTIME_DIR"),
            log_format: self.choose("ATOLL_LOG_FORMAT")?,
            log_level: self.choose("ATOLL_LOG_LEVEL")?,
            log_dir: path("LOG_DIR"),
            allow_hosts: self.list("ATOLL_ALLOW_HOSTS"),
            allow_origins: self.list("ATOLL_ALLOW_ORIGINS"),
            pass_env: self.list("ATOLL_PASS_ENV"),
            warm_kernel: match self.switch("ATOLL_WARM_KERNEL")? {
                // How many makes no difference here: one that is taken is followed by the next.
                None => self.parse("JUPYTER_POOL_SIZE", whole_number)?.map(|size: u64| size > 0),
                given => given,
            },
            disable_jupyter: self.switch("DISABLE_JUPYTER")?,
            auth: self.auth()?,
            browser: self.browser()?,
            egress: self.egress()?,
            hooks: self.hooks(),
            mcp: self.mcp()?,
            skills: self.skills(),
            services: self.services()?,
            observe: self.observe()?,
            web: self.web(),
            windows: self.windows()?,
            limits: self.limits()?,
        })
    }

    fn limits(&self) -> Result<BTreeMap<String, u64>, ConfigError> {
        let mut limits = BTreeMap::new();
        let known = KNOWN_LIMITS.map(|(variable, limit)| (variable, limit.to_owned()));
        let own = self.0.keys().filter_map(|variable| {
            let limit = variable.strip_prefix(LIMIT_PREFIX)?;
            Some((variable.as_str(), limit.to_ascii_lowercase()))
        });
        for (variable, limit) in known.into_iter().chain(own) {
            layer::check_limit(&limit, || format!("environment variable {variable}"))?;
            if let Some(value) = self.parse(variable, whole_number)? {
                limits.insert(limit, value);
            }
        }
        Ok(limits)
    }

    pub(super) fn parse<T: FromStr>(
        &self,
        name: &str,
        allowed: impl FnOnce(T::Err) -> String,
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let parsed = value.trim().parse();
        parsed.map(Some).map_err(|error| wrong(name, value, allowed(error)))
    }

    fn choose<T: ValueEnum>(&self, name: &str) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let names = |choice: &T| Some(choice.to_possible_value()?.get_name().to_owned());
        let allowed: Vec<_> = T::value_variants().iter().filter_map(names).collect();
        T::from_str(value.trim(), true)
            .map(Some)
            .map_err(|_| wrong(name, value, format!("write one of {}", allowed.join(", "))))
    }

    /// A switch, in the words people use for one.
    pub(super) fn switch(&self, name: &str) -> Result<Option<bool>, ConfigError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match value.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(Some(true)),
            "false" | "0" | "no" | "off" => Ok(Some(false)),
            _ => Err(wrong(name, value, "write true or false".to_owned())),
        }
    }

    /// A switch that has a name for each of its sides; the one that says no is stronger.
    pub(super) fn off_switch(&self, off: &str, on: &str) -> Result<Option<bool>, ConfigError> {
        let off = self.switch(off)?;
        Ok(off.or(self.switch(on)?.map(|on| !on)))
    }

    /// A list separated by commas.
    pub(super) fn list(&self, name: &str) -> Option<Vec<String>> {
        let items = self.get(name)?.split(',').map(str::trim);
        Some(items.filter(|item| !item.is_empty()).map(str::to_owned).collect())
    }
}

impl FromIterator<(String, String)> for Variables {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

fn whole_number(_: std::num::ParseIntError) -> String {
    "write a whole number, 0 or more".to_owned()
}

pub(super) fn wrong(name: &str, value: &str, allowed: String) -> ConfigError {
    ConfigError::Variable { name: name.to_owned(), value: value.to_owned(), allowed }
}
