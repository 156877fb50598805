//! Windows for people: the `[windows]` table of the file, and the variables existing deployments set.

use std::path::PathBuf;

use atoll_sandbox::window::CodeServerSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigError, Variables};

/// Windows for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct WindowsConfig {
    /// Whether VS Code is left out.
    pub(crate) disable_code_server: bool,
    /// The program code-server; looked for on the path otherwise.
    pub(crate) code_server: Option<PathBuf>,
    /// The port of the app that is shown at `/app/`; 9000 otherwise.
    pub(crate) app_port: Option<u16>,
}

/// Where each setting can be made beside the file.
pub(super) const PLACES: &[(&str, &str)] = &[
    ("disable_code_server", "Environment DISABLE_CODE_SERVER."),
    ("code_server", "Environment ATOLL_CODE_SERVER."),
    ("app_port", "Environment APP_SERVICE_PORT."),
];

/// What one source says about them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WindowsLayer {
    disable_code_server: Option<bool>,
    pub(super) code_server: Option<PathBuf>,
    app_port: Option<u16>,
}

impl WindowsLayer {
    /// This layer, and where it says nothing the one below.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            disable_code_server: self.disable_code_server.or(below.disable_code_server),
            code_server: self.code_server.or(below.code_server),
            app_port: self.app_port.or(below.app_port),
        }
    }

    /// What comes out.
    pub(super) fn resolve(self) -> WindowsConfig {
        WindowsConfig {
            disable_code_server: self.disable_code_server.unwrap_or_default(),
            code_server: self.code_server.map(super::absolute),
            app_port: self.app_port,
        }
    }
}

impl WindowsConfig {
    /// How VS Code shall be.
    pub(crate) fn code_server(&self) -> CodeServerSettings {
        CodeServerSettings { disabled: self.disable_code_server, program: self.code_server.clone() }
    }
}

impl Variables {
    /// What the environment says about windows.
    pub(super) fn windows(&self) -> Result<WindowsLayer, ConfigError> {
        let port = |_| "write a port, 1 to 65535".to_owned();
        let app_port = self.parse::<std::num::NonZeroU16>("APP_SERVICE_PORT", port)?;
        Ok(WindowsLayer {
            disable_code_server: self.switch("DISABLE_CODE_SERVER")?,
            code_server: self.get("ATOLL_CODE_SERVER").map(PathBuf::from),
            app_port: app_port.map(std::num::NonZeroU16::get),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(list: &[(&str, &str)]) -> Result<WindowsConfig, ConfigError> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let variables: Variables = list.iter().map(owned).collect();
        variables.windows().map(WindowsLayer::resolve)
    }

    #[test]
    fn variables_of_existing_deployments_mean_what_they_always_meant() {
        let config = windows(&[
            ("DISABLE_CODE_SERVER", "true"),
            ("APP_SERVICE_PORT", "3000"),
            ("ATOLL_CODE_SERVER", "/opt/code-server"),
        ]);
        let config = config.unwrap();
        assert!(config.disable_code_server);
        assert_eq!(config.app_port, Some(3000));
        assert_eq!(config.code_server, Some(PathBuf::from("/opt/code-server")));
        for wrong in ["0", "65536", "http"] {
            assert!(windows(&[("APP_SERVICE_PORT", wrong)]).is_err(), "{wrong}");
        }
    }
}
