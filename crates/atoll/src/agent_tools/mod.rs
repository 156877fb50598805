//! Settings of the agents' tools that may be installed in a sandbox, Codex and opencode, written from the server's
//! environment before anything runs.
//!
//! A key goes into the file that its tool reads, which only its owner may read, and nowhere else: commands do not see the
//! variable. A file that somebody changed since is left alone, unless a variable holds the whole of it.

mod codex;
mod file;
mod opencode;

use std::path::{Path, PathBuf};

use crate::config::Variables;

/// A file that a tool reads.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ToolFile {
    /// Where, below the home directory.
    path: PathBuf,
    /// All of it.
    content: String,
    /// Whether a variable holds all of it, so that whatever is there gives way.
    whole: bool,
}

/// The files to write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AgentTools {
    files: Vec<ToolFile>,
}

impl AgentTools {
    /// What the environment asks for. The error names the variable that cannot be used.
    pub(crate) fn read(variables: &Variables, home: &Path) -> Result<Self, String> {
        let mut files = codex::files(variables, home)?;
        files.extend(opencode::files(variables)?);
        Ok(Self { files })
    }

    /// Writes them below the home directory. A file that cannot be written does not stop the server.
    pub(crate) fn write(&self, home: &Path) {
        for file in &self.files {
            let path = home.join(&file.path);
            match file::put(&path, &file.content, file.whole) {
                Ok(file::Put::Written) => tracing::info!(path = %path.display(), "written"),
                Ok(file::Put::Kept) => tracing::warn!(
                    path = %path.display(),
                    "left as it is: somebody has changed it since it was written from the environment"
                ),
                Err(error) => tracing::error!(path = %path.display(), %error, "not written"),
            }
        }
    }
}
