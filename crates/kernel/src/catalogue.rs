//! Which kernels there are: those described in Jupyter's data directories, as the sandbox's environment sees them, and
//! one for each Python on its `PATH` that can import ipykernel.
//!
//! Descriptions are small files and read anew each time; only what is learned by starting an interpreter is kept (see
//! `python`). A kernel asked for by name costs no more than looking for that name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use atoll_process::Spawner;

use crate::python::{Python, Pythons, is_executable};
use crate::spec::KernelSpec;

/// Minor versions of Python 3 that are looked for.
const MINORS: std::ops::RangeInclusive<u32> = 8..=30;
/// The kernel most callers mean.
pub const PYTHON: &str = "python3";

/// Finds kernels.
#[derive(Debug)]
pub struct Catalogue {
    environment: BTreeMap<String, String>,
    pythons: Pythons,
}

impl Catalogue {
    /// Looks where programs with this environment would.
    pub fn new(spawner: Spawner, environment: BTreeMap<String, String>) -> Self {
        let pythons = Pythons::new(spawner, environment.clone());
        Self { environment, pythons }
    }

    /// The kernel of this name.
    pub async fn find(&self, name: &str) -> Option<KernelSpec> {
        let name = name.to_lowercase();
        if let Some(spec) = self.described(&self.own_directories(), None).remove(&name) {
            return Some(spec);
        }
        if is_python_name(&name)
            && let Some(python) = self.pythons.with_ipykernel(&name).await
        {
            return Some(KernelSpec::of_python(&name, &python.executable, &python.version));
        }
        self.list().await.into_iter().find(|spec| spec.name == name)
    }

    /// Every kernel, sorted by name.
    pub async fn list(&self) -> Vec<KernelSpec> {
        let mut kernels = self.described(&self.own_directories(), None);
        let mut prefixes: Vec<PathBuf> = Vec::new();
        let mut newest: Option<Python> = None;
        let versions = MINORS.rev().map(|minor| format!("{PYTHON}.{minor}"));
        for name in [PYTHON.to_owned()].into_iter().chain(versions) {
            for python in self.pythons.named(&name).await {
                if !prefixes.contains(&python.prefix) {
                    prefixes.push(python.prefix.clone());
                }
                if python.has_ipykernel {
                    add_python(&mut kernels, &name, &python);
                    add_python(&mut kernels, &exact_name(&python), &python);
                    newest.get_or_insert(python);
                }
            }
        }
        if let Some(python) = newest {
            add_python(&mut kernels, PYTHON, &python);
        }
        let installed = prefixes.iter().map(|prefix| (prefix.join("share/jupyter"), Some(prefix)));
        let shared = ["/usr/local/share/jupyter", "/usr/share/jupyter"];
        let shared = shared.into_iter().map(|directory| (PathBuf::from(directory), None));
        for (directory, prefix) in installed.chain(shared) {
            for (name, spec) in self.described(&[directory], prefix.map(PathBuf::as_path)) {
                kernels.entry(name).or_insert(spec);
            }
        }
        kernels.into_values().collect()
    }

    /// The directories that come before all others: the user's.
    fn own_directories(&self) -> Vec<PathBuf> {
        let variable = |name: &str| self.environment.get(name).filter(|value| !value.is_empty());
        let listed = variable("JUPYTER_PATH").map_or("", String::as_str);
        let user = variable("JUPYTER_DATA_DIR").map(PathBuf::from).or_else(|| {
            let data = variable("XDG_DATA_HOME").map(PathBuf::from);
            let data =
                data.or_else(|| Some(Path::new(variable("HOME")?).join(".local").join("share")));
            data.map(|data| data.join("jupyter"))
        });
        let listed = listed.split(':').filter(|path| path.starts_with('/')).map(PathBuf::from);
        listed.chain(user).collect()
    }

    /// The kernels described in these data directories; the first of a name counts.
    fn described(
        &self,
        directories: &[PathBuf],
        prefix: Option<&Path>,
    ) -> BTreeMap<String, KernelSpec> {
        let mut kernels = BTreeMap::new();
        for directory in directories {
            let entries = std::fs::read_dir(directory.join("kernels")).into_iter().flatten();
            for entry in entries.flatten() {
                let find = |name: &str| self.find_program(name);
                let spec = KernelSpec::read(&entry.path(), prefix, &self.environment, find);
                if let Some(spec) = spec {
                    kernels.entry(spec.name.clone()).or_insert(spec);
                }
            }
        }
        kernels
    }

    fn find_program(&self, name: &str) -> Option<PathBuf> {
        let path = self.environment.get("PATH")?;
        let directories = path.split(':').filter(|directory| directory.starts_with('/'));
        directories
            .map(|directory| Path::new(directory).join(name))
            .find(|path| is_executable(path))
    }
}

fn add_python(kernels: &mut BTreeMap<String, KernelSpec>, name: &str, python: &Python) {
    kernels
        .entry(name.to_owned())
        .or_insert_with(|| KernelSpec::of_python(name, &python.executable, &python.version));
}

/// `python3.12`
fn exact_name(python: &Python) -> String {
    let numbers: Vec<_> = python.version.split('.').take(2).collect();
    format!("python{}", numbers.join("."))
}

/// `python3`, `python3.12`
fn is_python_name(name: &str) -> bool {
    name.strip_prefix(PYTHON).is_some_and(|rest| {
        let minor = rest.strip_prefix('.');
        rest.is_empty() || minor.is_some_and(|minor| minor.parse::<u32>().is_ok())
    })
}

/// The kernel that a `PYTHON_VERSION` such as `3.12`, `3.12.1` or `python3.12` names.
pub fn kernel_for_python_version(version: &str) -> Option<String> {
    let version = version.trim();
    let mut numbers = version.strip_prefix("python").unwrap_or(version).split('.');
    let (major, minor) = (numbers.next()?, numbers.next());
    let minor = minor.and_then(|minor| minor.parse::<u32>().ok());
    (major == "3").then(|| match minor {
        Some(minor) => format!("{PYTHON}.{minor}"),
        None => PYTHON.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_version_names_a_kernel() {
        let named = |version| kernel_for_python_version(version);
        assert_eq!(named("3.12").as_deref(), Some("python3.12"));
        assert_eq!(named("3.11.7").as_deref(), Some("python3.11"));
        assert_eq!(named("python3.10").as_deref(), Some("python3.10"));
        assert_eq!(named("3").as_deref(), Some("python3"));
        assert_eq!(named("2.7"), None);
        assert_eq!(named(""), None);
    }

    #[test]
    fn python_kernels_are_told_by_their_names() {
        assert!(is_python_name("python3") && is_python_name("python3.9"));
        assert!(
            !is_python_name("python3.x") && !is_python_name("python") && !is_python_name("bash")
        );
    }
}
