//! JupyterLab: notebooks in the workspace, on the same Python that runs code.
//!
//! It listens on a private socket without credentials of its own: whoever reaches it came through our authentication.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_api::window::OpenLab;
use atoll_operation::{Context, Error, Kind, Open, Upstream};
use atoll_process::Command;

use super::host::{Guest, Host};
use super::resident::Recipe;
use crate::programs::Programs;

/// Settings that hold unless the user chooses otherwise: nobody is asked whether to ask the internet for news.
const SETTINGS: &str = r#"{
  "@jupyterlab/apputils-extension:notification": { "fetchNews": "false", "checkForUpdates": false }
}
"#;

const DISABLED: &str = "JupyterLab is switched off in this sandbox (DISABLE_JUPYTER)";

/// The window on JupyterLab.
pub(crate) type Lab = Host<JupyterLab>;

/// JupyterLab.
#[derive(Debug)]
pub(crate) struct JupyterLab {
    programs: Programs,
    enabled: bool,
}

impl Lab {
    /// Starts nothing yet; nothing ever when not enabled.
    pub(crate) fn new(programs: &Programs, enabled: bool) -> Arc<Self> {
        let guest = JupyterLab { programs: programs.clone(), enabled };
        Arc::new(Self::of(guest, programs))
    }
}

impl Guest for JupyterLab {
    fn refusal(&self) -> Option<Error> {
        (!self.enabled).then(|| Error::new(Kind::Unavailable, "lab.disabled", DISABLED))
    }

    fn upstream(socket: PathBuf) -> Upstream {
        Upstream::Unix(socket)
    }

    fn program(&self) -> Result<PathBuf, Error> {
        let foundation = self.programs.foundation();
        let path = foundation.environment.get("PATH").unwrap_or_default();
        let mut candidates = path.split(':').map(|place| Path::new(place).join("jupyter-lab"));
        candidates.find(|candidate| candidate.is_file()).ok_or_else(|| {
            Error::new(
                Kind::Unavailable,
                "lab.missing",
                "JupyterLab is not installed in this sandbox; install it with: pip install jupyterlab",
            )
        })
    }

    fn recipe(&self, program: PathBuf) -> Result<Recipe, Error> {
        let foundation = self.programs.foundation();
        let socket = foundation.runtime_dir.join("lab.sock");
        let settings = foundation.runtime_dir.join("lab-settings");
        std::fs::create_dir_all(&settings)
            .and_then(|()| std::fs::write(settings.join("overrides.json"), SETTINGS))
            .map_err(|error| {
                let shown = settings.display();
                let message =
                    format!("JupyterLab's settings cannot be written to {shown}: {error}");
                Error::new(Kind::Unavailable, "lab.failed", message)
            })?;
        Ok(Recipe {
            name: "JupyterLab",
            failed: "lab.failed",
            command: self.command(program, &socket, &settings),
            socket,
            ready_path: "/jupyter/api",
        })
    }
}

impl JupyterLab {
    fn command(&self, program: PathBuf, socket: &Path, settings: &Path) -> Command {
        let foundation = self.programs.foundation();
        let workspace = foundation.workspace.display().to_string();
        let arguments = [
            "--no-browser".to_owned(),
            "--allow-root".to_owned(),
            format!("--ServerApp.sock={}", socket.display()),
            "--ServerApp.sock_mode=0600".to_owned(),
            "--ServerApp.base_url=/jupyter/".to_owned(),
            format!("--ServerApp.root_dir={workspace}"),
            // Host and Origin are checked before anything comes here, and credentials are.
            "--ServerApp.allow_remote_access=True".to_owned(),
            "--IdentityProvider.token=".to_owned(),
            "--PasswordIdentityProvider.hashed_password=".to_owned(),
            "--ServerApp.password_required=False".to_owned(),
            // Nothing asks the internet for news or updates.
            format!("--LabApp.app_settings_dir={}", settings.display()),
            "--LabApp.news_url=None".to_owned(),
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate".to_owned(),
            "--LabApp.extension_manager=readonly".to_owned(),
        ];
        Command {
            program,
            arguments: arguments.into(),
            environment: self.programs.environment(None),
            directory: foundation.workspace.clone(),
        }
    }
}

impl Open<OpenLab> for Lab {
    async fn open(&self, _cx: &Context, _input: OpenLab) -> Result<Upstream, Error> {
        self.visit().await
    }
}
