//! Services of users: the `[services]` table of the file, and the variables existing deployments set.

use std::collections::BTreeMap;
use std::path::PathBuf;

use atoll_sandbox::service::ServiceSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::environment::wrong;
use super::{ConfigError, Variables};

/// Services of users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ServicesConfig {
    /// Directory whose `*.conf` files set services up in the way of supervisord.
    pub(crate) conf_dir: Option<PathBuf>,
    /// File that sets services up in our own way; `.config/atoll/services.toml` in the home otherwise.
    pub(crate) file: Option<PathBuf>,
    /// Ports that services shall listen on before the server says that it is ready.
    pub(crate) wait_ports: Vec<u16>,
}

/// Where each setting can be made beside the file.
pub(super) const PLACES: &[(&str, &str)] = &[
    ("conf_dir", "Flag --supervisor-conf-dir, environment SUPERVISOR_CONF_DIR."),
    ("file", "Flag --services, environment ATOLL_SERVICES."),
    ("wait_ports", "Environment WAIT_PORTS."),
];

/// Ports of programs that other sandboxes are made of: compose files written for those name them in `WAIT_PORTS`, and
/// here nothing will ever listen on them. Each with the variable that moves it.
const FOREIGN_PORTS: &[(&str, u16)] = &[
    ("AUTH_BACKEND_PORT", 8081),
    ("BROWSER_REMOTE_DEBUGGING_PORT", 9222),
    ("CODE_SERVER_PORT", 8200),
    ("GEM_SERVER_PORT", 8088),
    ("JUPYTER_LAB_PORT", 8888),
    ("MCP_HUB_PORT", 8079),
    ("MCP_SERVER_BROWSER_PORT", 8100),
    ("MCP_SERVER_CHROME_DEVTOOLS_PORT", 8102),
    ("MCP_SERVER_MARKITDOWN_PORT", 8101),
    ("PUBLIC_PORT", 8080),
    ("SANDBOX_SRV_PORT", 8091),
    ("TINYPROXY_PORT", 8118),
    ("VNC_SERVER_PORT", 5900),
    ("WEBSOCKET_PROXY_PORT", 6080),
];

/// What one source says about them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServicesLayer {
    pub(crate) conf_dir: Option<PathBuf>,
    pub(crate) file: Option<PathBuf>,
    pub(crate) wait_ports: Option<Vec<u16>>,
}

impl ServicesLayer {
    /// This layer, and where it says nothing the one below.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            conf_dir: self.conf_dir.or(below.conf_dir),
            file: self.file.or(below.file),
            wait_ports: self.wait_ports.or(below.wait_ports),
        }
    }

    /// What comes out.
    pub(super) fn resolve(self) -> ServicesConfig {
        ServicesConfig {
            conf_dir: self.conf_dir.map(super::absolute),
            file: self.file.map(super::absolute),
            wait_ports: self.wait_ports.unwrap_or_default(),
        }
    }
}

impl ServicesConfig {
    /// The same for the sandbox, with the variables that services may see.
    pub(crate) fn settings(&self, variables: &Variables) -> ServiceSettings {
        ServiceSettings {
            conf_dir: self.conf_dir.clone(),
            file: self.file.clone(),
            wait_ports: self.wait_ports.clone(),
            variables: variables.for_services(),
        }
    }
}

impl Variables {
    /// What the environment says about services.
    pub(super) fn services(&self) -> Result<ServicesLayer, ConfigError> {
        let path = |name: &str| self.get(name).map(PathBuf::from);
        Ok(ServicesLayer {
            conf_dir: path("SUPERVISOR_CONF_DIR"),
            file: path("ATOLL_SERVICES"),
            wait_ports: self.wait_ports()?,
        })
    }

    fn wait_ports(&self) -> Result<Option<Vec<u16>>, ConfigError> {
        let Some(list) = self.list("WAIT_PORTS") else { return Ok(None) };
        let ports = list.iter().map(|port| port.parse::<u16>()).collect::<Result<Vec<_>, _>>();
        let mut ports = ports.map_err(|_| {
            wrong("WAIT_PORTS", &list.join(","), "write ports with commas between them".to_owned())
        })?;
        ports.retain(|port| *port > 0 && !self.is_foreign(*port));
        Ok(Some(ports))
    }

    fn is_foreign(&self, port: u16) -> bool {
        FOREIGN_PORTS.iter().any(|(variable, usual)| {
            self.get(variable).map_or(*usual == port, |moved| moved.trim().parse() == Ok(port))
        })
    }

    /// What services written for supervisord expect to find: which ports are whose, and where data is. Never more, since
    /// files that set services up may be written by whoever uses the sandbox.
    fn for_services(&self) -> BTreeMap<String, String> {
        let told = |name: &str| {
            name.ends_with("_PORT") || ["SUPERVISOR_CONF_DIR", "USERDATA_DIR"].contains(&name)
        };
        self.iter().filter(|(name, _)| told(name) && !name.starts_with("ATOLL_")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(list: &[(&str, &str)]) -> Variables {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        list.iter().map(owned).collect()
    }

    #[test]
    fn ports_of_programs_that_are_not_here_are_not_waited_for() {
        let ports = |list: &[(&str, &str)]| variables(list).wait_ports().unwrap();
        assert_eq!(ports(&[]), None);
        assert_eq!(ports(&[("WAIT_PORTS", "8079,8091")]), Some(vec![]));
        assert_eq!(ports(&[("WAIT_PORTS", " 9000, 8091,9001 ")]), Some(vec![9000, 9001]));
        // Moved elsewhere, the usual one is free for others.
        let moved = [("SANDBOX_SRV_PORT", "9000"), ("WAIT_PORTS", "9000,8091")];
        assert_eq!(ports(&moved), Some(vec![8091]));
        for wrong in ["web", "70000", "1.5"] {
            let error = variables(&[("WAIT_PORTS", wrong)]).wait_ports().unwrap_err();
            assert!(error.to_string().contains("WAIT_PORTS"), "{error}");
        }
    }

    #[test]
    fn services_see_ports_and_directories_and_no_secret() {
        let told = variables(&[
            ("APP_SERVICE_PORT", "9000"),
            ("USERDATA_DIR", "/data"),
            ("ATOLL_SECRET_PORT", "1"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("JWT_SECRET", "y"),
        ])
        .for_services();
        let names: Vec<_> = told.keys().map(String::as_str).collect();
        assert_eq!(names, ["APP_SERVICE_PORT", "USERDATA_DIR"]);
    }
}
