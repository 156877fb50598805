//! VS Code in a browser (code-server): the workspace's files and terminals, as the user who runs commands.
//!
//! It listens on a private socket without credentials of its own: whoever reaches it came through our authentication. Its
//! way to other ports is closed, since previews decide about those.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_api::window::OpenCodeServer;
use atoll_operation::{Context, Error, Kind, Open, Upstream};
use atoll_process::Command;

use super::host::{Guest, Host};
use super::resident::Recipe;
use crate::programs::Programs;

/// What its settings are until somebody changes them: nothing asks the internet, nothing asks the user first.
const SETTINGS: &str = r#"{
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "update.showReleaseNotes": false,
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "workbench.enableExperiments": false,
  "workbench.settings.enableNaturalLanguageSearch": false,
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "security.workspace.trust.enabled": false,
  "chat.disableAIFeatures": true,
  "npm.fetchOnlinePackageInfo": false,
  "json.schemaDownload.enable": false,
  "typescript.disableAutomaticTypeAcquisition": true,
  "typescript.surveys.enabled": false,
  "git.openRepositoryInParentFolders": "never"
}
"#;
const DISABLED: &str = "VS Code is switched off in this sandbox (DISABLE_CODE_SERVER)";
const MISSING: &str = "VS Code is not installed in this sandbox; install code-server (npm install --global code-server) \
     and put it on the PATH, or name it in ATOLL_CODE_SERVER";

/// How VS Code shall be.
#[derive(Debug, Clone, Default)]
pub struct CodeServerSettings {
    /// Whether there shall be none.
    pub disabled: bool,
    /// The program; looked for on the path otherwise.
    pub program: Option<PathBuf>,
}

/// The window on VS Code.
pub(crate) type CodeServer = Host<VsCode>;

/// VS Code.
#[derive(Debug)]
pub(crate) struct VsCode {
    programs: Programs,
    settings: CodeServerSettings,
}

impl CodeServer {
    /// Starts nothing yet; nothing ever when it is disabled.
    pub(crate) fn new(programs: &Programs, settings: CodeServerSettings) -> Arc<Self> {
        let guest = VsCode { programs: programs.clone(), settings };
        Arc::new(Self::of(guest, programs))
    }
}

impl Guest for VsCode {
    fn refusal(&self) -> Option<Error> {
        let refusal = || Error::new(Kind::Unavailable, "code_server.disabled", DISABLED);
        self.settings.disabled.then(refusal)
    }

    fn upstream(socket: PathBuf) -> Upstream {
        Upstream::Below(socket)
    }

    fn program(&self) -> Result<PathBuf, Error> {
        let missing =
            |message: String| Error::new(Kind::Unavailable, "code_server.missing", message);
        if let Some(program) = &self.settings.program {
            let there = program.is_file();
            let message = format!("VS Code is not at {} (ATOLL_CODE_SERVER)", program.display());
            return there.then(|| program.clone()).ok_or_else(|| missing(message));
        }
        let path = self.programs.foundation().environment.get("PATH").unwrap_or_default();
        let mut candidates = path.split(':').map(|place| Path::new(place).join("code-server"));
        let found = candidates.find(|candidate| candidate.is_file());
        found.ok_or_else(|| missing(MISSING.to_owned()))
    }

    fn recipe(&self, program: PathBuf) -> Result<Recipe, Error> {
        let foundation = self.programs.foundation();
        let data = foundation.home.join(".local/share/code-server");
        let config = foundation.runtime_dir.join("code-server.yaml");
        let written = write_if_absent(&data.join("User/settings.json"), SETTINGS)
            .and_then(|()| std::fs::write(&config, "auth: none\n"));
        written.map_err(|error| {
            let message =
                format!("VS Code's settings cannot be written to {}: {error}", data.display());
            Error::new(Kind::Unavailable, "code_server.failed", message)
        })?;
        let socket = foundation.runtime_dir.join("code-server.sock");
        Ok(Recipe {
            name: "VS Code",
            failed: "code_server.failed",
            command: self.command(program, &socket, &data, &config),
            socket,
            ready_path: "/healthz",
        })
    }
}

impl VsCode {
    fn command(&self, program: PathBuf, socket: &Path, data: &Path, config: &Path) -> Command {
        let foundation = self.programs.foundation();
        let session = foundation.runtime_dir.join("code-server-ipc.sock");
        let option = |name: &str, value: &Path| format!("--{name}={}", value.display());
        let arguments = [
            option("socket", socket),
            "--socket-mode=600".to_owned(),
            option("session-socket", &session),
            "--auth=none".to_owned(),
            option("config", config),
            option("user-data-dir", data),
            "--disable-telemetry".to_owned(),
            "--disable-update-check".to_owned(),
            "--disable-getting-started-override".to_owned(),
            "--disable-workspace-trust".to_owned(),
            "--disable-proxy".to_owned(),
            foundation.workspace.display().to_string(),
        ];
        let mut environment = self.programs.environment(None);
        // Its list of ports leads to our previews, which lie beside it.
        environment.insert("VSCODE_PROXY_URI".to_owned(), "../proxy/{{port}}/".to_owned());
        Command {
            program,
            arguments: arguments.into(),
            environment,
            directory: foundation.workspace.clone(),
        }
    }
}

/// What a person has changed stays.
fn write_if_absent(path: &Path, content: &str) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(path, content)
}

impl Open<OpenCodeServer> for CodeServer {
    async fn open(&self, _: &Context, _: OpenCodeServer) -> Result<Upstream, Error> {
        self.visit().await
    }
}
