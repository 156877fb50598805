//! Where a Chromium is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::options::Options;

/// Real programs behind wrapper scripts, and packages that put nothing on the search path.
const PLACES: &[&str] = &[
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/opt/chromium/chrome",
];
const NAMES: &[&str] =
    &["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];

/// The Chromium to use.
pub(super) fn find(options: &Options) -> Result<PathBuf, Error> {
    if let Some(program) = &options.executable {
        return if is_program(program) {
            Ok(program.clone())
        } else {
            Err(Error::NotInstalled { looked_for: program.display().to_string() })
        };
    }
    let on_path = NAMES.iter().filter_map(|name| program_on_path(&options.environment, name));
    let places = PLACES.iter().map(PathBuf::from);
    places.chain(on_path).find(|candidate| is_program(candidate)).ok_or_else(|| {
        Error::NotInstalled { looked_for: format!("{} on the search path", NAMES.join(", ")) }
    })
}

/// Whether there is a Chromium to use: this one, or one where this environment says that programs are.
pub fn is_installed(executable: Option<&Path>, environment: &BTreeMap<String, String>) -> bool {
    match executable {
        Some(program) => is_program(program),
        None => {
            PLACES.iter().any(|place| is_program(Path::new(place)))
                || NAMES.iter().any(|name| program_on_path(environment, name).is_some())
        }
    }
}

/// A program by its name, where this environment says that programs are.
pub(crate) fn program_on_path(
    environment: &BTreeMap<String, String>,
    name: &str,
) -> Option<PathBuf> {
    let path = environment.get("PATH").map(String::as_str).unwrap_or_default();
    let directories = path.split(':').filter(|entry| entry.starts_with('/'));
    directories.map(|entry| Path::new(entry).join(name)).find(|candidate| is_program(candidate))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
