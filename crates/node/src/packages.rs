//! Which packages code can use, read from their `package.json` files without running npm.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// `package.json` files are a few kilobytes; anything larger is not one.
const MANIFEST_BYTES: u64 = 1 << 20;

/// An installed package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Where packages lie that code may use wherever it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageRoots {
    /// Where `npm install --global` puts them.
    pub global: PathBuf,
    /// Further places, in the order they are searched.
    pub further: Vec<PathBuf>,
}

impl PackageRoots {
    /// The places of a Node.js, seen from this environment.
    pub fn of(program: &Path, environment: &BTreeMap<String, String>) -> Self {
        let own = program.parent().and_then(Path::parent).unwrap_or(Path::new("/usr"));
        let prefix = configured_prefix(environment).unwrap_or_else(|| own.to_owned());
        let global = prefix.join("lib/node_modules");
        let mut further = vec![own.join("lib/node_modules")];
        if own == Path::new("/usr") {
            // Debian's own packages, and where its npm would put others.
            further.extend(["/usr/local/lib/node_modules", "/usr/share/nodejs"].map(PathBuf::from));
        }
        further.retain(|root| *root != global);
        Self { global, further }
    }

    /// All of them, in the order they are searched.
    pub fn all(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.global).chain(&self.further)
    }

    /// The version of npm, if one is there.
    pub fn npm_version(&self) -> Option<String> {
        self.all().find_map(|root| read_package(&root.join("npm"))).map(|npm| npm.version)
    }
}

/// npm's `prefix` setting: the environment's, else the user's file's.
fn configured_prefix(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    if let Some(prefix) = environment.get("NPM_CONFIG_PREFIX") {
        return Some(PathBuf::from(prefix));
    }
    let home = environment.get("HOME")?;
    let settings = std::fs::read_to_string(Path::new(home).join(".npmrc")).ok()?;
    let prefix = settings.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "prefix").then(|| value.trim().replace("${HOME}", home))
    })?;
    Some(match prefix.strip_prefix("~/") {
        Some(rest) => Path::new(home).join(rest),
        None => PathBuf::from(prefix),
    })
}

/// The packages of a `node_modules` directory, sorted by name. Blocks on a walk over it.
pub fn packages_in(root: &Path) -> Vec<Package> {
    let mut packages = Vec::new();
    for entry in entries(root) {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('@') {
            packages.extend(entries(&entry).iter().filter_map(|entry| read_package(entry)));
        } else if !name.starts_with('.') {
            packages.extend(read_package(&entry));
        }
    }
    packages.sort_by_cached_key(|package| (package.name.to_lowercase(), package.clone()));
    packages.dedup();
    packages
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn read_package(directory: &Path) -> Option<Package> {
    let file = File::open(directory.join("package.json")).ok()?;
    let mut text = String::new();
    file.take(MANIFEST_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, directory: &str, manifest: &str) {
        let directory = root.join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("package.json"), manifest).unwrap();
    }

    #[test]
    fn packages_are_read_from_their_manifests() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "zeta", r#"{"name": "zeta", "version": "1.0.0", "main": "x.js"}"#);
        put(root.path(), "@scope/tool", r#"{"name": "@scope/tool", "version": "3.1.0"}"#);
        put(root.path(), ".bin", r#"{"name": "hidden", "version": "1.0.0"}"#);
        put(root.path(), "broken", "{");
        put(root.path(), "unnamed", "{}");
        let found = packages_in(root.path());
        let names: Vec<_> = found.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["@scope/tool", "zeta"]);
        assert_eq!(packages_in(Path::new("/nonexistent")), []);
    }

    #[test]
    fn global_packages_lie_where_npm_is_told_or_beside_the_program() {
        let home = tempfile::tempdir().unwrap();
        let mut environment =
            BTreeMap::from([("HOME".to_owned(), home.path().display().to_string())]);
        let program = Path::new("/opt/node20/bin/node");
        let roots = PackageRoots::of(program, &environment);
        assert_eq!(roots.global, Path::new("/opt/node20/lib/node_modules"));
        assert!(roots.further.is_empty());
        std::fs::write(home.path().join(".npmrc"), "fund=false\nprefix = ~/.packages\n").unwrap();
        let roots = PackageRoots::of(program, &environment);
        assert_eq!(roots.global, home.path().join(".packages/lib/node_modules"));
        assert_eq!(roots.further, [Path::new("/opt/node20/lib/node_modules")]);
        environment.insert("NPM_CONFIG_PREFIX".to_owned(), "/elsewhere".to_owned());
        let roots = PackageRoots::of(Path::new("/usr/bin/node"), &environment);
        assert_eq!(roots.global, Path::new("/elsewhere/lib/node_modules"));
        assert!(roots.further.contains(&PathBuf::from("/usr/share/nodejs")));
    }
}
