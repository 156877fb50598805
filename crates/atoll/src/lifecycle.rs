//! What happens round the life of a server: the operator's hooks and init scripts, the directories it needs, the settings
//! of agents' tools. In this order: the first hook, home and workspace, init scripts, the hook before anything is served;
//! then the server; then the hook for a server that answers; and at the end, while everything still runs, the hooks for
//! that.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_api::hook::HookEvent;
use atoll_sandbox::Foundation;
use atoll_sandbox::hook::Hooks;

use crate::agent_tools::AgentTools;
use crate::config::Config;

/// Why the start ends here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrepareError {
    /// A directory cannot be made.
    #[error("cannot create the {what} {path}; choose another --{what}: {source}", path = path.display())]
    Directory { what: &'static str, path: PathBuf, source: io::Error },
    /// An init script failed.
    #[error("{0}")]
    Script(String),
}

/// Everything before the server is made. What init scripts export is in the foundation's environment afterwards.
pub(crate) async fn prepare(
    hooks: &Hooks,
    config: &Config,
    tools: &AgentTools,
    foundation: &mut Foundation,
) -> Result<(), PrepareError> {
    hooks.start(HookEvent::Init).await;
    for (what, path) in [("home", &config.home), ("workspace", &config.workspace)] {
        std::fs::create_dir_all(path).map_err(|source| PrepareError::Directory {
            what,
            path: path.clone(),
            source,
        })?;
    }
    tools.write(&config.home);
    if let Some(directory) = init_dir(config) {
        let exported = hooks.run_scripts(directory).await.map_err(PrepareError::Script)?;
        foundation.environment = Arc::new(foundation.environment.exporting(exported));
        hooks.set_environment(Arc::clone(&foundation.environment));
    }
    hooks.start(HookEvent::PreServices).await;
    Ok(())
}

/// The directory of init scripts, where there is one.
fn init_dir(config: &Config) -> Option<&Path> {
    let path = config.hooks.init_dir.as_deref()?;
    if !path.is_dir() {
        tracing::warn!(path = %path.display(), "ATOLL_INIT_DIR names no directory");
        return None;
    }
    Some(path)
}
