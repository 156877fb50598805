//! How the sandbox is observed: the `[observe]` table of the file, and its variables.

use std::path::PathBuf;

use atoll_sandbox::observe::ObserveSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigError, Variables};

/// How the sandbox is observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ObserveConfig {
    /// Whether a guardrail looks at what the sandbox uses from the start on.
    pub(crate) guardrail: bool,
    /// Directory for reports; they go with the server otherwise.
    pub(crate) report_dir: Option<PathBuf>,
}

/// Where each setting can be made beside the file.
pub(super) const PLACES: &[(&str, &str)] = &[
    ("guardrail", "Environment ATOLL_OBSERVE_GUARDRAIL."),
    ("report_dir", "Environment ATOLL_OBSERVE_REPORT_DIR."),
];

/// What one source says about it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ObserveLayer {
    guardrail: Option<bool>,
    pub(super) report_dir: Option<PathBuf>,
}

impl ObserveLayer {
    /// This layer, and where it says nothing the one below.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            guardrail: self.guardrail.or(below.guardrail),
            report_dir: self.report_dir.or(below.report_dir),
        }
    }

    /// What comes out.
    pub(super) fn resolve(self) -> ObserveConfig {
        ObserveConfig {
            guardrail: self.guardrail.unwrap_or_default(),
            report_dir: self.report_dir.map(super::absolute),
        }
    }
}

impl ObserveConfig {
    /// The same for the sandbox.
    pub(crate) fn settings(&self) -> ObserveSettings {
        ObserveSettings { guardrail: self.guardrail, report_dir: self.report_dir.clone() }
    }
}

impl Variables {
    /// What the environment says about it.
    pub(super) fn observe(&self) -> Result<ObserveLayer, ConfigError> {
        Ok(ObserveLayer {
            guardrail: self.switch("ATOLL_OBSERVE_GUARDRAIL")?,
            report_dir: self.get("ATOLL_OBSERVE_REPORT_DIR").map(PathBuf::from),
        })
    }
}
