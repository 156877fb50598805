//! Managed policies: what the browser reads from a directory of the system and obeys.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::Error;
use crate::options::{Options, Policies};

const FILE: &str = "atoll.json";
/// Chromium's own directory, and that of Google's build.
const DIRECTORY: &str = "/etc/chromium/policies/managed";
const GOOGLE_DIRECTORY: &str = "/etc/opt/chrome/policies/managed";

/// What shall change about the policies. The outer `None` leaves one as it is; the inner `None` takes it away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyChange {
    /// URLs that are not opened.
    pub url_blocklist: Option<Option<Vec<String>>>,
    /// Exceptions from these.
    pub url_allowlist: Option<Option<Vec<String>>>,
    /// Whether dialogs to choose files may open.
    pub allow_file_selection_dialogs: Option<Option<bool>>,
}

impl PolicyChange {
    pub(crate) fn apply(&self, policies: &mut Policies) {
        if let Some(list) = &self.url_blocklist {
            policies.url_blocklist.clone_from(list);
        }
        if let Some(list) = &self.url_allowlist {
            policies.url_allowlist.clone_from(list);
        }
        if let Some(allowed) = self.allow_file_selection_dialogs {
            policies.allow_file_selection_dialogs = allowed;
        }
    }
}

/// Writes the policies where this program looks for them. No policies at all need no permission to write there.
pub(super) fn write(options: &Options, program: &Path) -> Result<(), Error> {
    let path = file(options, program);
    let document = document(&options.policies);
    let written = if document.is_empty() {
        removed(&path)
    } else {
        let directory = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(directory)
            .and_then(|()| std::fs::write(&path, Value::Object(document).to_string()))
    };
    written.map_err(|source| Error::Policies { path, source })
}

/// Takes the policies away: what nobody stands behind any more shall not bind other browsers of this machine.
pub(super) fn withdraw(options: &Options, program: &Path) {
    let path = file(options, program);
    if !document(&options.policies).is_empty()
        && let Err(error) = removed(&path)
    {
        tracing::warn!(%error, path = %path.display(), "the browser's policies stay behind");
    }
}

/// The file for this program. All servers of a machine share it, as their browsers do.
fn file(options: &Options, program: &Path) -> PathBuf {
    let directory = options.policy_directory.clone().unwrap_or_else(|| {
        let google = program.to_string_lossy().contains("google");
        PathBuf::from(if google { GOOGLE_DIRECTORY } else { DIRECTORY })
    });
    directory.join(FILE)
}

fn removed(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn document(policies: &Policies) -> Map<String, Value> {
    let mut document = Map::new();
    if let Some(list) = &policies.url_blocklist {
        document.insert("URLBlocklist".to_owned(), Value::from(list.clone()));
    }
    if let Some(list) = &policies.url_allowlist {
        document.insert("URLAllowlist".to_owned(), Value::from(list.clone()));
    }
    if let Some(allowed) = policies.allow_file_selection_dialogs {
        document.insert("AllowFileSelectionDialogs".to_owned(), Value::from(allowed));
    }
    document
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_absent_stays_and_what_is_null_goes() {
        let mut policies = Policies {
            url_blocklist: Some(vec!["a".to_owned()]),
            url_allowlist: None,
            allow_file_selection_dialogs: Some(false),
        };
        PolicyChange::default().apply(&mut policies);
        assert_eq!(policies.allow_file_selection_dialogs, Some(false));
        let change =
            PolicyChange { allow_file_selection_dialogs: Some(None), ..PolicyChange::default() };
        change.apply(&mut policies);
        assert_eq!(policies.allow_file_selection_dialogs, None);
        assert_eq!(Value::Object(document(&policies)), json!({ "URLBlocklist": ["a"] }));
        let change = PolicyChange { url_blocklist: Some(None), ..PolicyChange::default() };
        change.apply(&mut policies);
        assert_eq!(policies, Policies::default());
    }
}
