//! Profiles: names for sandboxes, so that neither address nor key is typed. A key may be the output of a command, which
//! is how it stays in a keyring.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::failure::Failure;

/// A sandbox with a name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    /// Its address.
    pub(crate) url: String,
    /// The key it asks for.
    key: Option<String>,
    /// A command that prints the key.
    key_command: Option<String>,
}

/// The profile of this name; none without a name when no profile is called `default`.
pub(crate) fn find(name: Option<&str>) -> Result<Option<Profile>, Failure> {
    let wanted = name.unwrap_or("default");
    let path = place();
    let text = path.as_deref().map(std::fs::read_to_string);
    let (path, text) = match (path, text) {
        (Some(path), Some(Ok(text))) => (path, text),
        (Some(path), Some(Err(error))) if name.is_some() => {
            let path = path.display();
            return Err(Failure::usage(format!(
                "the profile {wanted:?} is in no file: {path}: {error}"
            )));
        }
        _ if name.is_some() => {
            return Err(Failure::usage("there is no home directory to look for profiles in"));
        }
        _ => return Ok(None),
    };
    let mut profiles = read(&text)
        .map_err(|error| Failure::usage(format!("{} cannot be used: {error}", path.display())))?;
    let Some(profile) = profiles.remove(wanted) else {
        if name.is_none() {
            return Ok(None);
        }
        let names: Vec<_> = profiles.into_keys().collect();
        return Err(Failure::usage(format!(
            "no profile {wanted:?} in {}; there are: {}",
            path.display(),
            names.join(", ")
        )));
    };
    if profile.key.is_some() && others_can_read(&path) {
        eprintln!("atoll: others can read the keys in {0}: chmod 600 {0}", path.display());
    }
    Ok(Some(profile))
}

fn place() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let configuration = set("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".config")))?;
    Some(configuration.join("atoll/profiles.toml"))
}

fn read(text: &str) -> Result<BTreeMap<String, Profile>, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

fn others_can_read(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

impl Profile {
    /// The key, asked for where a command knows it.
    pub(crate) fn key(&self) -> Result<Option<String>, Failure> {
        let Some(command) = &self.key_command else {
            return Ok(self.key.clone());
        };
        // It may ask for a passphrase: its input and its messages are the person's.
        let output = Command::new("sh")
            .args(["-c", command])
            .stderr(Stdio::inherit())
            .stdin(Stdio::inherit())
            .output()
            .map_err(|error| Failure::failed(format!("the key's command cannot run: {error}")))?;
        if !output.status.success() {
            let status = output.status;
            return Err(Failure::failed(format!("the key's command `{command}` failed: {status}")));
        }
        let key = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((!key.is_empty()).then_some(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_sandboxes_with_their_addresses_and_keys() {
        let text =
            "[default]\nurl = 'unix:/run/a'\n[far]\nurl = 'https://h'\nkey_command = 'echo k'";
        let profiles = read(text).unwrap();
        assert_eq!(profiles["default"].url, "unix:/run/a");
        assert_eq!(profiles["default"].key().unwrap(), None);
        assert_eq!(profiles["far"].key().unwrap().as_deref(), Some("k"));
    }

    #[test]
    fn a_mistake_in_the_file_is_named() {
        let error = read("[a]\nurl = 'http://h'\nkye = 'x'").unwrap_err();
        assert!(error.contains("kye"), "{error}");
    }
}
