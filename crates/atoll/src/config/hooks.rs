//! Commands that run while the server starts and before it ends: the `[hooks]` table of the file, and the variables
//! existing deployments set.

use std::path::PathBuf;

use atoll_sandbox::hook::{HookSettings, read_shutdown_hooks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigError, Variables};

/// Commands at the start and at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct HooksConfig {
    /// Command that is run first of all.
    pub(crate) init: Option<String>,
    /// Command that is run when home and workspace are there, before anything is served.
    pub(crate) pre_services: Option<String>,
    /// Command that is run once the server answers.
    pub(crate) post_ready: Option<String>,
    /// What is run before the server ends: a command, or a JSON list of hooks.
    pub(crate) shutdown: Option<String>,
    /// Directory of scripts that are run at the start; `/docker-entrypoint.d` when the server is process 1.
    pub(crate) init_dir: Option<PathBuf>,
}

/// Where images keep their init scripts.
const INIT_DIR: &str = "/docker-entrypoint.d";

impl HooksConfig {
    /// Takes up an image's own init scripts, unless others are named.
    pub(crate) fn take_up_init_scripts(&mut self) {
        let usual = Some(PathBuf::from(INIT_DIR)).filter(|path| path.is_dir());
        self.init_dir = self.init_dir.take().or(usual);
    }
}

/// Where each setting can be made beside the file.
pub(super) const PLACES: &[(&str, &str)] = &[
    ("init", "Environment RUN_HOOK_INIT."),
    ("pre_services", "Environment RUN_HOOK_PRE_SERVICES."),
    ("post_ready", "Environment RUN_HOOK_POST_READY."),
    ("shutdown", "Environment SANDBOX_SHUTDOWN_HOOKS."),
    ("init_dir", "Environment ATOLL_INIT_DIR."),
];

/// What one source says about it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HooksLayer {
    init: Option<String>,
    pre_services: Option<String>,
    post_ready: Option<String>,
    shutdown: Option<String>,
    pub(super) init_dir: Option<PathBuf>,
}

impl HooksLayer {
    /// This layer, and where it says nothing the one below.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            init: self.init.or(below.init),
            pre_services: self.pre_services.or(below.pre_services),
            post_ready: self.post_ready.or(below.post_ready),
            shutdown: self.shutdown.or(below.shutdown),
            init_dir: self.init_dir.or(below.init_dir),
        }
    }

    /// What comes out.
    pub(super) fn resolve(self) -> Result<HooksConfig, ConfigError> {
        if let Some(text) = &self.shutdown {
            read_shutdown_hooks(text).map_err(ConfigError::Hooks)?;
        }
        Ok(HooksConfig {
            init: self.init,
            pre_services: self.pre_services,
            post_ready: self.post_ready,
            shutdown: self.shutdown,
            init_dir: self.init_dir.map(super::absolute),
        })
    }
}

impl Variables {
    /// What the environment says about hooks.
    pub(super) fn hooks(&self) -> HooksLayer {
        let text = |name: &str| self.get(name).map(str::to_owned);
        HooksLayer {
            init: text("RUN_HOOK_INIT"),
            pre_services: text("RUN_HOOK_PRE_SERVICES"),
            post_ready: text("RUN_HOOK_POST_READY"),
            shutdown: text("SANDBOX_SHUTDOWN_HOOKS"),
            init_dir: self.get("ATOLL_INIT_DIR").map(PathBuf::from),
        }
    }
}

impl From<HooksConfig> for HookSettings {
    fn from(config: HooksConfig) -> Self {
        let shutdown = config.shutdown.as_deref().map(read_shutdown_hooks);
        Self {
            init: config.init,
            pre_services: config.pre_services,
            post_ready: config.post_ready,
            // Checked when it was resolved.
            shutdown: shutdown.and_then(Result::ok).unwrap_or_default(),
        }
    }
}
