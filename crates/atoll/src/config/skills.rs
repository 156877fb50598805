//! Where skills are: the `[skills]` table of the file, and the variable existing deployments set.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Variables;

/// Where skills are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SkillsConfig {
    /// Directory whose skills are registered at the start, and as they come and go. Created if it is missing.
    pub(crate) path: Option<PathBuf>,
}

/// Where each setting can be made beside the file.
pub(super) const PLACES: &[(&str, &str)] = &[("path", "Environment AIO_SKILLS_PATH.")];

/// What one source says about it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillsLayer {
    pub(super) path: Option<PathBuf>,
}

impl SkillsLayer {
    /// This layer, and where it says nothing the one below.
    pub(super) fn over(self, below: Self) -> Self {
        Self { path: self.path.or(below.path) }
    }

    /// What comes out.
    pub(super) fn resolve(self) -> SkillsConfig {
        SkillsConfig { path: self.path.map(super::absolute) }
    }
}

impl Variables {
    /// What the environment says about skills.
    pub(super) fn skills(&self) -> SkillsLayer {
        SkillsLayer { path: self.get("AIO_SKILLS_PATH").map(PathBuf::from) }
    }
}
