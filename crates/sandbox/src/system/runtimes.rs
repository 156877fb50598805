//! Python interpreters and Node.js runtimes, as a child would find them by name. Each is asked for its version and
//! its real path once; names that lead to the same installation become its aliases. A shim of a version manager that
//! fails because that version is not selected is no runtime.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_api::system::ToolSpec;
use futures::stream::{self, StreamExt};
use serde_json::Value;

use crate::environment::Environment;

use super::probe;
use super::tools;

/// Programs asked at once; a probe is mostly start-up work on a processor.
const AT_ONCE: usize = 2;

/// Also runs under Python 2. `prefix` tells a virtual environment from the interpreter it was made with.
const ASK_PYTHON: &str = "import sys, os, json; print(json.dumps({\
    'version': '.'.join(str(part) for part in sys.version_info[:3]), 'bin': sys.executable, \
    'installation': [os.path.realpath(sys.executable), sys.prefix]}))";
const ASK_NODE: &str = "console.log(JSON.stringify({version: process.versions.node, \
    bin: process.execPath, installation: [process.execPath]}))";

/// A kind of runtime: the names it goes by, and how to ask it.
struct Kind {
    names: fn() -> Vec<String>,
    arguments: [&'static str; 2],
}

const PYTHON: Kind = Kind {
    names: || {
        let versions = (6..40).rev().map(|minor| format!("python3.{minor}"));
        let plain = ["python3", "python"].map(str::to_owned);
        plain.into_iter().chain(versions).collect()
    },
    arguments: ["-c", ASK_PYTHON],
};

const NODE: Kind = Kind {
    names: || {
        let versions = (12..60).rev().map(|major| format!("node{major}"));
        let plain = ["node", "nodejs"].map(str::to_owned);
        plain.into_iter().chain(versions).collect()
    },
    arguments: ["-e", ASK_NODE],
};

/// The Python interpreters, the default one first.
pub(crate) async fn python(environment: &Arc<Environment>) -> Vec<ToolSpec> {
    discover(&PYTHON, environment).await
}

/// The Node.js runtimes, the default one first.
pub(crate) async fn node(environment: &Arc<Environment>) -> Vec<ToolSpec> {
    discover(&NODE, environment).await
}

async fn discover(kind: &Kind, environment: &Arc<Environment>) -> Vec<ToolSpec> {
    let names = (kind.names)();
    let lookup = Arc::clone(environment);
    let candidates = tokio::task::spawn_blocking(move || candidates(names, &lookup));
    let candidates = candidates.await.unwrap_or_default();
    let answers = stream::iter(candidates)
        .map(|candidate| ask(candidate, kind.arguments, environment))
        .buffered(AT_ONCE)
        .filter_map(std::future::ready)
        .collect()
        .await;
    merge(answers)
}

/// Names that run the same file of the same directory.
#[derive(Debug, PartialEq, Eq)]
struct Candidate {
    program: PathBuf,
    names: Vec<String>,
}

/// What to ask. Names linked to one file within one directory need asking once; links across directories are asked
/// each, since a virtual environment is just such a link.
fn candidates(names: Vec<String>, environment: &Environment) -> Vec<Candidate> {
    let mut keys: Vec<(Option<PathBuf>, PathBuf)> = Vec::new();
    let mut candidates: Vec<Candidate> = Vec::new();
    for name in names {
        let Some(program) = tools::find(environment, &name) else {
            continue;
        };
        let Ok(real) = program.canonicalize() else {
            continue;
        };
        let key = (program.parent().map(Path::to_owned), real);
        if let Some(position) = keys.iter().position(|known| *known == key) {
            candidates[position].names.push(name);
        } else {
            keys.push(key);
            candidates.push(Candidate { program, names: vec![name] });
        }
    }
    candidates
}

#[derive(Debug, Clone)]
struct Answer {
    version: String,
    bin: String,
    installation: Value,
    names: Vec<String>,
}

async fn ask(
    candidate: Candidate,
    arguments: [&str; 2],
    environment: &Environment,
) -> Option<Answer> {
    let output = probe::run(&candidate.program, &arguments, environment)
        .await
        .inspect_err(|error| tracing::debug!(%error, "not a usable runtime"))
        .ok()?;
    let answer: Value = serde_json::from_str(output.trim()).ok()?;
    let text = |name: &str| answer.get(name)?.as_str().map(str::to_owned);
    Some(Answer {
        version: text("version")?,
        bin: text("bin")?,
        installation: answer.get("installation")?.clone(),
        names: candidate.names,
    })
}

fn merge(answers: Vec<Answer>) -> Vec<ToolSpec> {
    let mut merged: Vec<Answer> = Vec::new();
    for answer in answers {
        let known = merged.iter_mut().find(|known| known.installation == answer.installation);
        match known {
            Some(known) => known.names.extend(answer.names),
            None => merged.push(answer),
        }
    }
    let spec = |answer: Answer| ToolSpec {
        ver: Some(answer.version),
        bin: Some(answer.bin),
        alias: answer.names,
    };
    merged.into_iter().map(spec).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tools::tests::{environment_with_home, install};
    use super::*;

    fn fake(version: &str, installation: &str) -> String {
        format!(
            "#!/bin/sh\necho '{{\"version\": \"{version}\", \"bin\": \"/opt/{installation}\", \
             \"installation\": [\"{installation}\"]}}'\n"
        )
    }

    async fn discover_in(kind: &Kind, home: &Path) -> Vec<ToolSpec> {
        discover(kind, &Arc::new(environment_with_home(home))).await
    }

    #[tokio::test]
    async fn names_of_one_installation_become_its_aliases() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path();
        let real = install(path, "python3.38", &fake("3.38.1", "a"));
        std::os::unix::fs::symlink(real, path.join("bin/python3")).unwrap();
        // A shim: another file, the same installation.
        install(path, "python", &fake("3.38.1", "a"));
        install(path, "python3.37", &fake("3.37.0", "b"));
        let found = discover_in(&PYTHON, path).await;
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].alias, ["python3", "python3.38", "python"]);
        assert_eq!(found[0].ver.as_deref(), Some("3.38.1"));
        assert_eq!(found[0].bin.as_deref(), Some("/opt/a"));
        assert_eq!(found[1].alias, ["python3.37"]);
    }

    #[test]
    fn linked_names_are_asked_once() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path();
        let real = install(path, "python3.38", &fake("3.38.1", "a"));
        std::os::unix::fs::symlink(real, path.join("bin/python3")).unwrap();
        let candidates = candidates((PYTHON.names)(), &environment_with_home(path));
        assert_eq!(candidates.len(), 1, "{candidates:?}");
    }

    #[tokio::test]
    async fn a_shim_that_fails_or_babbles_is_no_runtime() {
        let home = tempfile::tempdir().unwrap();
        install(home.path(), "node", "#!/bin/sh\necho not selected >&2\nexit 127\n");
        install(home.path(), "node59", "#!/bin/sh\necho v59\n");
        install(home.path(), "node58", &fake("58.0.0", "c"));
        let found = discover_in(&NODE, home.path()).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].alias, ["node58"]);
    }

    #[tokio::test]
    async fn the_real_python_answers() {
        let server = std::env::vars();
        let home = Path::new("/nonexistent");
        let environment = Environment::build(server, home, home, "someone", &[]);
        let found = python(&Arc::new(environment)).await;
        let first = found.first().expect("tests need python3");
        assert!(first.alias.contains(&"python3".to_owned()), "{found:?}");
        let bin = first.bin.as_deref().unwrap();
        assert!(Path::new(bin).is_absolute(), "{found:?}");
    }
}
