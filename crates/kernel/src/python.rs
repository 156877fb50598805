//! The Pythons on the sandbox's `PATH`, and which of them can run a kernel.
//!
//! Asking one means starting it, so answers are kept until something they depend on has changed: the program itself, the
//! directories it imports from, or what a version manager has selected. A shim of a version manager stands for a real
//! interpreter, which is what is started later: the shim would only add its own time.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use atoll_process::{Command, Exit, LogSettings, Piped, PipedSettings, Spawner, SpillBudget};

/// How long a Python may take to answer; it answers in a fraction of a second unless the machine is very busy.
const DEADLINE: Duration = Duration::from_secs(20);
/// Programs of one name that are asked.
const MOST_CANDIDATES: usize = 8;
/// Longest answer: paths it imports from.
const LONGEST_ANSWER: usize = 64 << 10;
/// How coarse the times of files may be.
const CLOCK_TICK: Duration = Duration::from_millis(20);
const MARK: &str = "atoll:";

/// Asks an interpreter what it is; the answer's lines are marked, since its start may print something of its own.
const QUESTION: &str = "import sys, site, importlib.util
lines = [sys.executable, '.'.join(map(str, sys.version_info[:3])), sys.prefix]
lines += ['yes' if importlib.util.find_spec('ipykernel') else 'no']
lines += [site.getusersitepackages(), *sys.path]
print('\\n' + '\\n'.join('atoll:' + line for line in lines))";

/// An interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Python {
    /// The program itself.
    pub(crate) executable: String,
    /// `3.12.1`
    pub(crate) version: String,
    /// Its installation.
    pub(crate) prefix: PathBuf,
    /// Whether it can run a kernel.
    pub(crate) has_ipykernel: bool,
    /// Where it imports from.
    places: Vec<PathBuf>,
}

/// Asks interpreters, each as seldom as possible.
#[derive(Debug)]
pub(crate) struct Pythons {
    spawner: Spawner,
    environment: BTreeMap<String, String>,
    known: tokio::sync::Mutex<HashMap<PathBuf, Known>>,
}

#[derive(Debug)]
struct Known {
    python: Option<Python>,
    /// What the answer depends on, and when each of it was changed last.
    depends_on: Vec<(PathBuf, Option<SystemTime>)>,
}

impl Known {
    fn holds(&self) -> bool {
        self.depends_on.iter().all(|(path, changed)| changed_at(path) == *changed)
    }
}

impl Pythons {
    pub(crate) fn new(spawner: Spawner, environment: BTreeMap<String, String>) -> Self {
        Self { spawner, environment, known: tokio::sync::Mutex::default() }
    }

    /// The interpreters a name may stand for, the first on the `PATH` first.
    pub(crate) async fn named(&self, name: &str) -> Vec<Python> {
        let path = self.environment.get("PATH").map_or("", String::as_str);
        let mut pythons: Vec<Python> = Vec::new();
        for candidate in candidates(name, path) {
            if let Some(python) = self.ask(&candidate).await
                && !pythons.contains(&python)
            {
                pythons.push(python);
            }
        }
        pythons
    }

    /// The first interpreter of this name that can run a kernel.
    pub(crate) async fn with_ipykernel(&self, name: &str) -> Option<Python> {
        let path = self.environment.get("PATH").map_or("", String::as_str);
        for candidate in candidates(name, path) {
            if let Some(python) = self.ask(&candidate).await
                && python.has_ipykernel
            {
                return Some(python);
            }
        }
        None
    }

    async fn ask(&self, program: &Path) -> Option<Python> {
        let mut known = self.known.lock().await;
        if let Some(known) = known.get(program).filter(|known| known.holds()) {
            return known.python.clone();
        }
        // Looked at before it is asked: a change meanwhile must not go unnoticed.
        let mut depends_on: Vec<_> = [Some(program.to_owned()), selection_behind(program)]
            .into_iter()
            .flatten()
            .map(|path| (path.clone(), changed_at(&path)))
            .collect();
        let asked = SystemTime::now();
        let answer = self.run(program).await?;
        let python = parse(&answer);
        if python.is_none() {
            tracing::debug!(program = %program.display(), "not a usable Python");
        }
        for place in python.iter().flat_map(|python| &python.places) {
            depends_on.push((place.clone(), changed_at(place)));
        }
        // What changed while it was asked may have changed before it looked or after: it is asked again next time.
        let settled = |changed: &SystemTime| *changed + CLOCK_TICK < asked;
        if depends_on.iter().filter_map(|(_, changed)| changed.as_ref()).all(settled) {
            known.insert(program.to_owned(), Known { python: python.clone(), depends_on });
        } else {
            known.remove(program);
        }
        python
    }

    /// What the program answers; `None` when it could not be asked or was too slow, which says nothing about it.
    async fn run(&self, program: &Path) -> Option<String> {
        let command = Command {
            program: program.to_owned(),
            arguments: vec!["-c".to_owned(), QUESTION.to_owned()],
            environment: self.environment.clone(),
            // Never a directory of the user's: its files could stand in for the interpreter's own modules.
            directory: PathBuf::from("/"),
        };
        let piped = Piped::start(&self.spawner, &command, &in_memory()).await.ok()?;
        let _closed = piped.stdin().close();
        let exit = tokio::time::timeout(DEADLINE, piped.wait()).await.ok()?;
        let answer = piped.stdout().read_text(0, LONGEST_ANSWER).text;
        Some(if exit == Exit::Code(0) { answer } else { String::new() })
    }
}

/// Output kept in memory only, and little of it.
pub(crate) fn in_memory() -> PipedSettings {
    let log = LogSettings {
        directory: PathBuf::from("/nonexistent"),
        kept_bytes: 0,
        budget: SpillBudget::new(0),
    };
    PipedSettings { log, input_queue_bytes: 0 }
}

fn parse(answer: &str) -> Option<Python> {
    let mut lines = answer.lines().filter_map(|line| line.strip_prefix(MARK));
    let (executable, version) = (lines.next()?.to_owned(), lines.next()?.to_owned());
    let prefix = PathBuf::from(lines.next()?);
    let has_ipykernel = lines.next()? == "yes";
    let places = lines.filter(|line| line.starts_with('/')).map(PathBuf::from).collect();
    let usable = executable.starts_with('/');
    usable.then_some(Python { executable, version, prefix, has_ipykernel, places })
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// The file in which a version manager keeps what its shims stand for.
fn selection_behind(program: &Path) -> Option<PathBuf> {
    Some(shims_root(program)?.join("version"))
}

/// The version manager's directory, if the program is one of its shims.
fn shims_root(program: &Path) -> Option<&Path> {
    let directory = program.parent()?;
    let root = directory.parent()?;
    (directory.ends_with("shims") && root.join("versions").is_dir()).then_some(root)
}

/// The programs a name may stand for, the first on the `PATH` first, each once.
fn candidates(name: &str, path: &str) -> Vec<PathBuf> {
    let mut candidates: Vec<PathBuf> = Vec::new();
    let mut directories: Vec<PathBuf> = Vec::new();
    for directory in path.split(':').filter(|directory| directory.starts_with('/')) {
        // `/bin` is `/usr/bin` on most systems.
        let Ok(directory) = Path::new(directory).canonicalize() else { continue };
        if directories.contains(&directory) {
            continue;
        }
        let program = directory.join(name);
        directories.push(directory);
        if !is_executable(&program) {
            continue;
        }
        match shims_root(&program) {
            // A shim of an exact version works only while that version is selected.
            Some(root) if name != "python3" => candidates.extend(versions(root, name)),
            Some(_) | None => candidates.push(program),
        }
    }
    candidates.truncate(MOST_CANDIDATES);
    candidates
}

/// The interpreters of this name a version manager has installed, the newest first.
fn versions(root: &Path, name: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root.join("versions")).into_iter().flatten().flatten();
    let mut found: Vec<(Vec<u32>, PathBuf)> = entries
        .map(|entry| {
            let version = entry.file_name().to_string_lossy().into_owned();
            let numbers = version.split('.').map(|part| part.parse().unwrap_or(0)).collect();
            (numbers, entry.path().join("bin").join(name))
        })
        .filter(|(_, program)| is_executable(program))
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, program)| program).collect()
}

/// Whether this is a program.
pub(crate) fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(directory: &Path, name: &str) -> PathBuf {
        std::fs::create_dir_all(directory).unwrap();
        let path = directory.join(name);
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn names_are_looked_up_along_the_path_each_directory_once() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (first, second) = (root.join("a"), root.join("b"));
        let programs = [install(&first, "python3"), install(&second, "python3")];
        std::os::unix::fs::symlink(&first, root.join("link")).unwrap();
        std::fs::write(second.join("python3.12"), "not executable").unwrap();
        let path = format!("{0}/a:{0}/link:relative::{0}/none:{0}/b", root.display());
        assert_eq!(candidates("python3", &path), programs);
        assert_eq!(candidates("python3.12", &path), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_shim_of_an_exact_version_stands_for_the_newest_installed_one() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let shim = install(&root.join("shims"), "python3");
        install(&root.join("shims"), "python3.12");
        let newest = install(&root.join("versions/3.12.10/bin"), "python3.12");
        let older = install(&root.join("versions/3.12.9/bin"), "python3.12");
        install(&root.join("versions/3.11.1/bin"), "python3.11");
        let path = root.join("shims").display().to_string();
        assert_eq!(candidates("python3.12", &path), [newest, older]);
        assert_eq!(candidates("python3", &path).as_slice(), std::slice::from_ref(&shim));
        assert_eq!(selection_behind(&shim), Some(root.join("version")));
    }

    #[test]
    fn an_answer_is_read_whatever_was_printed_before_it() {
        let answer = "hello from sitecustomize\natoll:/bin/python3\natoll:3.12.1\natoll:/usr\n\
                      atoll:yes\natoll:/home/x/.local/lib\natoll:\natoll:/usr/lib/python3.12\n";
        let python = parse(answer).unwrap();
        assert_eq!(
            (python.executable.as_str(), python.version.as_str()),
            ("/bin/python3", "3.12.1")
        );
        assert!(python.has_ipykernel);
        assert_eq!(python.places.len(), 2);
        assert_eq!(parse("pyenv: python3: command not found"), None);
    }
}
