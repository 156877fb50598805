//! What a kernel is and how it is started: Jupyter's `kernel.json`, or what we make up for a Python we found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A kernel that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSpec {
    /// The name it is asked for by: `python3`, `python3.12`, `bash`.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// Its language, in lower case.
    pub language: String,
    /// The program and its arguments, where `{connection_file}` stands for a path.
    pub(crate) command: Vec<String>,
    /// Variables it needs beyond the sandbox's.
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) interrupt: Interrupt,
}

/// How running code is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Interrupt {
    /// By SIGINT.
    #[default]
    Signal,
    /// By a message.
    Message,
}

impl KernelSpec {
    /// Whether it speaks Python.
    pub fn is_python(&self) -> bool {
        self.language == "python"
    }

    /// The program that is started.
    pub fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// Whether both names stand for the same kernel.
    pub fn is_same_kernel(&self, other: &KernelSpec) -> bool {
        self.command == other.command && self.environment == other.environment
    }

    /// The kernel of a Python that can import ipykernel.
    pub(crate) fn of_python(name: &str, executable: &str, version: &str) -> Self {
        let command = [executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"];
        Self {
            name: name.to_owned(),
            display_name: format!("Python {version} (ipykernel)"),
            language: "python".to_owned(),
            command: command.map(str::to_owned).to_vec(),
            environment: BTreeMap::new(),
            interrupt: Interrupt::Signal,
        }
    }

    /// The kernel described in `<directory>/kernel.json`. `prefix` is the installation it belongs to, if it belongs to
    /// one; `find` finds a program by name. `None` when it cannot be started from here.
    pub(crate) fn read(
        directory: &Path,
        prefix: Option<&Path>,
        environment: &BTreeMap<String, String>,
        find: impl Fn(&str) -> Option<PathBuf>,
    ) -> Option<Self> {
        let name = directory.file_name()?.to_str()?.to_lowercase();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if name.is_empty() || !name.bytes().all(plain) {
            return None;
        }
        let text = std::fs::read_to_string(directory.join("kernel.json")).ok()?;
        let file: SpecFile = serde_json::from_str(&text)
            .inspect_err(|error| tracing::warn!(%name, %error, "a kernel.json cannot be read"))
            .ok()?;
        let mut command = file.argv.into_iter().map(|argument| {
            let argument = argument.replace("{resource_dir}", &directory.to_string_lossy());
            match prefix {
                Some(prefix) => argument.replace("{prefix}", &prefix.to_string_lossy()),
                None => argument,
            }
        });
        let program = command.next()?;
        // An installation's own kernels name its Python without a path.
        let own = prefix.map(|prefix| prefix.join("bin").join(&program));
        let own = own.filter(|own| program.starts_with("python") && own.is_file());
        let program = if program.starts_with('/') {
            Some(PathBuf::from(program)).filter(|program| program.is_file())
        } else {
            own.or_else(|| find(&program))
        };
        let program = program?.to_str()?.to_owned();
        let expanded = file.env.into_iter().map(|(name, value)| {
            let value = expand(&value, environment);
            (name, value)
        });
        Some(Self {
            display_name: file.display_name.unwrap_or_else(|| name.clone()),
            name,
            language: file.language.unwrap_or_default().to_lowercase(),
            command: [program].into_iter().chain(command).collect(),
            environment: expanded.collect(),
            interrupt: file.interrupt_mode,
        })
    }
}

#[derive(Deserialize)]
struct SpecFile {
    argv: Vec<String>,
    display_name: Option<String>,
    language: Option<String>,
    #[serde(default)]
    interrupt_mode: Interrupt,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// Puts variables in the place of `${NAME}`; unknown ones stay as they are.
fn expand(value: &str, environment: &BTreeMap<String, String>) -> String {
    let mut expanded = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, later)) = after.split_once('}') else { break };
        expanded.push_str(before);
        match environment.get(name) {
            Some(value) => expanded.push_str(value),
            None => expanded.push_str(&format!("${{{name}}}")),
        }
        rest = later;
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str, prefix: Option<&Path>) -> Option<KernelSpec> {
        let directory = tempfile::tempdir().unwrap();
        let kernel = directory.path().join("Deno");
        std::fs::create_dir(&kernel).unwrap();
        std::fs::write(kernel.join("kernel.json"), json).unwrap();
        let environment = BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]);
        KernelSpec::read(&kernel, prefix, &environment, |name| {
            (name == "deno").then(|| PathBuf::from("/opt/deno"))
        })
    }

    #[test]
    fn a_kernel_of_another_language_is_read_with_all_it_needs() {
        let spec = read(
            r#"{"argv": ["deno", "--conn", "{connection_file}"], "display_name": "Deno",
                "language": "TypeScript", "interrupt_mode": "message",
                "env": {"PATH": "/opt/deno/bin:${PATH}:${NOTHING}${"}, "metadata": {}}"#,
            None,
        )
        .unwrap();
        assert_eq!((spec.name.as_str(), spec.language.as_str()), ("deno", "typescript"));
        assert_eq!(spec.command, ["/opt/deno", "--conn", "{connection_file}"]);
        assert_eq!(spec.environment["PATH"], "/opt/deno/bin:/bin:${NOTHING}${");
        assert_eq!(spec.interrupt, Interrupt::Message);
    }

    #[test]
    fn a_kernel_that_cannot_be_started_is_none() {
        for json in [
            "{}",
            "not json",
            r#"{"argv": []}"#,
            r#"{"argv": ["unknown-program"]}"#,
            r#"{"argv": ["/nonexistent/program"]}"#,
        ] {
            assert_eq!(read(json, None), None, "{json}");
        }
    }

    #[test]
    fn an_installations_own_python_is_meant_by_its_bare_name() {
        let prefix = tempfile::tempdir().unwrap();
        std::fs::create_dir(prefix.path().join("bin")).unwrap();
        let python = prefix.path().join("bin/python");
        std::fs::write(&python, "").unwrap();
        let json = r#"{"argv": ["python", "-m", "other_kernel", "{prefix}/x"]}"#;
        let spec = read(json, Some(prefix.path())).unwrap();
        assert_eq!(spec.program(), python.to_str().unwrap());
        assert_eq!(spec.command[3], prefix.path().join("x").to_str().unwrap());
        assert_eq!(read(json, None), None);
    }
}
