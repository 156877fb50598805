//! Installed packages: Python's by asking the interpreter a child would run, Node's by reading the `package.json` of
//! each global package. Both say which directories to watch, so that an installation shows at once.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use atoll_api::system::{Package, ToolSpec};
use serde_json::Value;

use crate::environment::Environment;

use super::cache::Found;
use super::probe::{self, ProbeError};

/// `package.json` files are a few kilobytes; anything larger is not one.
const PACKAGE_JSON_BYTES: u64 = 1 << 20;

/// The current directory leaves the module path first, so that no file of the user's is imported by mistake. The user's
/// own site directory is named even when it is missing: the first `pip install --user` creates it.
const ASK_PYTHON: &str = "\
import sys
sys.path = [path for path in sys.path if path]
import json, site
from importlib.metadata import distributions
found = {}
for distribution in distributions():
    name = distribution.metadata['Name']
    if name and distribution.version:
        found.setdefault(name.lower().replace('_', '-'), (name, distribution.version))
json.dump({'packages': list(found.values()), 'paths': sys.path + [site.getusersitepackages()]}, sys.stdout)
";

/// The packages `python` can import.
pub(crate) async fn python(
    python: &Path,
    environment: &Environment,
) -> Result<Found<Vec<Package>>, ProbeError> {
    let output = probe::run(python, &["-c", ASK_PYTHON], environment).await?;
    let unreadable = || probe::failed(python, "unreadable answer", &output);
    let answer: Value = serde_json::from_str(&output).map_err(|_| unreadable())?;
    let list = |name: &str| answer.get(name).and_then(Value::as_array);

    let package = |pair: &Value| {
        let (name, version) = (pair.get(0)?.as_str()?, pair.get(1)?.as_str()?);
        Some(Package { name: name.to_owned(), version: version.to_owned() })
    };
    let packages = list("packages").ok_or_else(unreadable)?;
    let packages = packages.iter().filter_map(package).collect();
    let directories = list("paths")
        .ok_or_else(unreadable)?
        .iter()
        .filter_map(Value::as_str)
        .map(PathBuf::from)
        .collect();
    Ok(Found { value: sorted(packages), directories })
}

/// The packages installed globally for these runtimes. Blocks on a walk over directories.
pub(crate) fn node(runtimes: &[ToolSpec], environment: &Environment) -> Found<Vec<Package>> {
    let mut packages = Vec::new();
    let mut directories = roots(runtimes, environment);
    for root in directories.clone() {
        for entry in entries(&root) {
            let name = entry.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with('@') {
                packages.extend(entries(&entry).iter().filter_map(|entry| read_package(entry)));
                directories.push(entry);
            } else if !name.starts_with('.') {
                packages.extend(read_package(&entry));
            }
        }
    }
    Found { value: sorted(packages), directories }
}

/// Where global packages lie: beside each runtime, where npm is told to put them, and Debian's two places.
fn roots(runtimes: &[ToolSpec], environment: &Environment) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = Vec::new();
    let mut add = |root: PathBuf| {
        if !roots.contains(&root) {
            roots.push(root);
        }
    };
    let prefix_of = |runtime: &ToolSpec| {
        let bin = Path::new(runtime.bin.as_deref()?);
        bin.parent()?.parent().map(Path::to_owned)
    };
    let prefixes: Vec<_> = runtimes.iter().filter_map(prefix_of).collect();
    for prefix in configured_prefix(environment).into_iter().chain(prefixes.clone()) {
        add(prefix.join("lib/node_modules"));
    }
    if prefixes.iter().any(|prefix| prefix == Path::new("/usr")) {
        add(PathBuf::from("/usr/local/lib/node_modules"));
        add(PathBuf::from("/usr/share/nodejs"));
    }
    roots
}

/// npm's `prefix` setting: the environment's, else the user's file's.
fn configured_prefix(environment: &Environment) -> Option<PathBuf> {
    if let Some(prefix) = environment.get("NPM_CONFIG_PREFIX") {
        return Some(PathBuf::from(prefix));
    }
    let home = environment.get("HOME")?;
    let settings = std::fs::read_to_string(Path::new(home).join(".npmrc")).ok()?;
    let prefix = settings.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "prefix").then(|| value.trim().replace("${HOME}", home))
    })?;
    match prefix.strip_prefix("~/") {
        Some(rest) => Some(Path::new(home).join(rest)),
        None => Some(PathBuf::from(prefix)),
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn read_package(directory: &Path) -> Option<Package> {
    let file = File::open(directory.join("package.json")).ok()?;
    let mut text = String::new();
    file.take(PACKAGE_JSON_BYTES).read_to_string(&mut text).ok()?;
    let manifest: Value = serde_json::from_str(&text).ok()?;
    let field = |name: &str| manifest.get(name)?.as_str().map(str::to_owned);
    Some(Package { name: field("name")?, version: field("version")? })
}

/// In the order a reader looks a name up, not minding its case; each once.
fn sorted(mut packages: Vec<Package>) -> Vec<Package> {
    packages.sort_by_cached_key(|package| {
        let Package { name, version } = package.clone();
        (name.to_lowercase(), name, version)
    });
    packages.dedup();
    packages
}

#[cfg(test)]
mod tests {
    use super::super::tools::tests::{environment_with_home, install};
    use super::*;

    fn put(root: &Path, directory: &str, manifest: &str) {
        let directory = root.join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("package.json"), manifest).unwrap();
    }

    fn runtime(prefix: &Path) -> ToolSpec {
        ToolSpec {
            ver: None,
            bin: Some(prefix.join("bin/node").to_string_lossy().into_owned()),
            alias: Vec::new(),
        }
    }

    fn names(found: &Found<Vec<Package>>) -> Vec<String> {
        let name = |package: &Package| format!("{}@{}", package.name, package.version);
        found.value.iter().map(name).collect()
    }

    #[test]
    fn global_node_packages_are_listed_scoped_ones_too() {
        let prefix = tempfile::tempdir().unwrap();
        let root = prefix.path().join("lib/node_modules");
        put(&root, "zeta", r#"{"name": "zeta", "version": "1.0.0"}"#);
        put(&root, "Beta", r#"{"name": "Beta", "version": "2.0.0"}"#);
        put(&root, "@scope/tool", r#"{"name": "@scope/tool", "version": "3.1.0"}"#);
        put(&root, ".hidden", r#"{"name": "hidden", "version": "1.0.0"}"#);
        put(&root, "broken", "{");
        put(&root, "unnamed", "{}");
        std::fs::write(root.join("file"), "").unwrap();

        let environment = environment_with_home(Path::new("/nonexistent"));
        let found = node(&[runtime(prefix.path())], &environment);
        assert_eq!(names(&found), ["@scope/tool@3.1.0", "Beta@2.0.0", "zeta@1.0.0"]);
        assert_eq!(found.directories, [root.clone(), root.join("@scope")]);
    }

    #[test]
    fn the_users_npm_prefix_counts() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(".npmrc"), "fund=false\nprefix = ~/global\n").unwrap();
        let root = home.path().join("global/lib/node_modules");
        put(&root, "mine", r#"{"name": "mine", "version": "0.1.0"}"#);
        let found = node(&[], &environment_with_home(home.path()));
        assert_eq!(names(&found), ["mine@0.1.0"]);
    }

    #[tokio::test]
    async fn python_packages_of_the_users_site_are_seen() {
        let server = std::env::vars();
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::build(server, home.path(), home.path(), "someone", &[]);
        let interpreter = super::super::tools::find(&environment, "python3").expect("python3");
        let before = python(&interpreter, &environment).await.unwrap();
        assert!(!before.value.iter().any(|package| package.name == "Atoll-Probe"));

        let site = before
            .directories
            .iter()
            .find(|directory| directory.starts_with(home.path()))
            .expect("the user's site directory is watched although it does not exist yet");
        let metadata = site.join("atoll_probe-1.2.dist-info");
        std::fs::create_dir_all(&metadata).unwrap();
        let text = "Metadata-Version: 2.1\nName: Atoll-Probe\nVersion: 1.2\n";
        std::fs::write(metadata.join("METADATA"), text).unwrap();
        // Without a name: the remains of an interrupted installation.
        std::fs::create_dir_all(site.join("remains-1.0.dist-info")).unwrap();

        let after = python(&interpreter, &environment).await.unwrap();
        assert!(names(&after).contains(&"Atoll-Probe@1.2".to_owned()), "{after:?}");
    }

    #[tokio::test]
    async fn an_interpreter_that_answers_nonsense_is_an_error_that_names_it() {
        let home = tempfile::tempdir().unwrap();
        let program = install(home.path(), "python3", "#!/bin/sh\necho '[]'\n");
        let environment = environment_with_home(home.path());
        let error = python(&program, &environment).await.unwrap_err();
        assert!(error.to_string().contains("bin/python3"), "{error}");
    }
}
