//! JupyterLab: notebooks in the workspace, on the same Python that runs code.
//!
//! It listens on a private socket without credentials of its own: whoever reaches it came through our authentication.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_api::window::OpenLab;
use atoll_operation::{Context, Error, Kind, Open, Upstream};
use atoll_process::Command;
use tokio::sync::watch;

use super::resident::{Recipe, Resident, ResidentState, Standing};
use crate::programs::Programs;

/// Settings that hold unless the user chooses otherwise: nobody is asked whether to ask the internet for news.
const SETTINGS: &str = r#"{
  "@jupyterlab/apputils-extension:notification": { "fetchNews": "false", "checkForUpdates": false }
}
"#;

const DISABLED: &str = "JupyterLab is switched off in this sandbox (DISABLE_JUPYTER)";

/// The window on JupyterLab.
#[derive(Debug)]
pub struct Lab {
    programs: Programs,
    resident: Resident,
    enabled: bool,
}

impl Lab {
    /// Starts nothing yet; nothing ever when not enabled.
    pub fn new(programs: &Programs, enabled: bool) -> Arc<Self> {
        let resident = Resident::new(programs);
        Arc::new(Self { programs: programs.clone(), resident, enabled })
    }

    /// How it stands.
    pub fn state(&self) -> ResidentState {
        if !self.enabled {
            return ResidentState::new(Standing::Disabled).because(DISABLED);
        }
        let state = self.resident.state();
        match (state.standing, self.program()) {
            (Standing::Off, Err(missing)) => {
                ResidentState::new(Standing::Missing).because(missing.message())
            }
            _ => state,
        }
    }

    /// Tells whenever that changes.
    pub fn changes(&self) -> watch::Receiver<ResidentState> {
        self.resident.changes()
    }

    /// Starts it, and waits until it answers.
    pub async fn start(&self) -> Result<(), Error> {
        self.visit().await.map(|_| ())
    }

    /// Ends it.
    pub async fn close(&self) {
        self.resident.close().await;
    }

    async fn visit(&self) -> Result<Upstream, Error> {
        if !self.enabled {
            return Err(Error::new(Kind::Unavailable, "lab.disabled", DISABLED));
        }
        self.resident.visit(self.recipe()?).await
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

    fn recipe(&self) -> Result<Recipe, Error> {
        let foundation = self.programs.foundation();
        let program = self.program()?;
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
