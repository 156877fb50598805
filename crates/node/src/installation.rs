//! The Node.js installations of this machine: those on the search path, those of version managers, those that came as
//! npm packages. Each is asked once what it is; looking again is cheap and finds what was installed since.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use atoll_process::{Command, Exit, LogSettings, Piped, PipedSettings, Spawner, SpillBudget};
use futures::StreamExt;
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::version::{Version, VersionWish};

/// Programs asked at once.
const AT_ONCE: usize = 2;
/// How long one may take to answer on a machine that is busy.
const ANSWER: Duration = Duration::from_secs(30);
/// Bytes of its answer.
const ANSWER_BYTES: usize = 16 << 10;
const ASK: &str = "process.stdout.write(JSON.stringify({ version: process.versions.node, program: process.execPath, \
     typescript: typeof require('module').stripTypeScriptTypes === 'function' }))";

/// Where version managers and archives put installations; `*` stands for one directory. Relative ones begin at home.
const PLACES: &[&str] = &[
    ".nvm/versions/node/*/bin/node",
    ".local/share/fnm/node-versions/*/installation/bin/node",
    ".fnm/node-versions/*/installation/bin/node",
    ".volta/tools/image/node/*/bin/node",
    ".asdf/installs/nodejs/*/bin/node",
    ".local/share/mise/installs/node/*/bin/node",
    ".nodenv/versions/*/bin/node",
    ".n/versions/node/*/bin/node",
    "n/n/versions/node/*/bin/node",
    "node_modules/node/bin/node",
    "/usr/local/n/versions/node/*/bin/node",
    "/usr/local/nvm/versions/node/*/bin/node",
    "/opt/node*/bin/node",
    "/opt/nodejs/*/bin/node",
    "/usr/local/node*/bin/node",
    "/usr/lib/node_modules/node/bin/node",
    "/usr/local/lib/node_modules/node/bin/node",
];
/// Variables that name such places, and what lies below them.
const VARIABLES: &[(&str, &str)] = &[
    ("NVM_DIR", "versions/node/*/bin/node"),
    ("FNM_DIR", "node-versions/*/installation/bin/node"),
    ("N_PREFIX", "n/versions/node/*/bin/node"),
    ("NODE_HOME", "bin/node"),
    ("NPM_CONFIG_PREFIX", "lib/node_modules/node/bin/node"),
];

/// A Node.js.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The program itself.
    pub program: PathBuf,
    /// Its version.
    pub version: Version,
    /// Whether it can run TypeScript.
    pub typescript: bool,
}

/// Where to look.
#[derive(Debug, Clone)]
pub struct Search {
    /// Starts the programs that are asked.
    pub spawner: Spawner,
    /// What they see, `PATH` and `HOME` included.
    pub environment: BTreeMap<String, String>,
    /// Directories that may hold a `node_modules` with a Node.js in it.
    pub projects: Vec<PathBuf>,
    /// Directory for what they print.
    pub directory: PathBuf,
}

/// The installations found so far.
#[derive(Debug)]
pub struct Installations {
    search: Search,
    known: Mutex<Known>,
}

/// Programs asked before, by path and time of change, with what they answered.
type Known = HashMap<(PathBuf, Option<SystemTime>), Option<Arc<Installation>>>;

#[derive(Debug, Deserialize)]
struct Answer {
    version: String,
    program: PathBuf,
    typescript: bool,
}

impl Installations {
    /// Nothing is looked for yet.
    pub fn new(search: Search) -> Self {
        Self { search, known: Mutex::default() }
    }

    /// The first usable one on the search path, or else the newest anywhere.
    pub async fn default(&self) -> Option<Arc<Installation>> {
        for candidate in self.search.on_path() {
            if let Some(found) = self.ask(vec![candidate]).await.pop() {
                return Some(found);
            }
        }
        self.all().await.into_iter().max_by_key(|found| found.version)
    }

    /// Every usable one, the first on the search path first, each version once.
    pub async fn all(&self) -> Vec<Arc<Installation>> {
        let candidates: Vec<_> = self.search.on_path().chain(self.search.elsewhere()).collect();
        let mut found: Vec<Arc<Installation>> = Vec::new();
        for each in self.ask(candidates).await {
            if !found.iter().any(|known| known.version == each.version) {
                found.push(each);
            }
        }
        found
    }

    /// The newest that fits a wish.
    pub async fn find(&self, wish: &VersionWish) -> Option<Arc<Installation>> {
        let all = self.all().await.into_iter();
        all.filter(|found| wish.fits(found.version)).max_by_key(|found| found.version)
    }

    /// Asks those that were not asked before. One caller asks, the others wait for what it learns.
    async fn ask(&self, candidates: Vec<PathBuf>) -> Vec<Arc<Installation>> {
        let mut known = self.known.lock().await;
        let keys: Vec<_> = candidates
            .into_iter()
            .filter_map(|path| path.canonicalize().ok())
            .map(|path| {
                let changed = path.metadata().and_then(|metadata| metadata.modified()).ok();
                (path, changed)
            })
            .collect();
        let fresh: Vec<_> = keys.iter().filter(|key| !known.contains_key(key)).cloned().collect();
        let answers: Vec<_> = futures::stream::iter(fresh)
            .map(async |key| {
                let answer = self.search.ask(&key.0).await.map(Arc::new);
                (key, answer)
            })
            .buffered(AT_ONCE)
            .collect()
            .await;
        known.extend(answers);
        keys.iter().filter_map(|key| known.get(key).cloned().flatten()).collect()
    }
}

impl Search {
    /// Candidates by name on the search path, looked for one after the other.
    fn on_path(&self) -> impl Iterator<Item = PathBuf> {
        let path = self.environment.get("PATH").map(String::as_str).unwrap_or_default();
        let versioned = (Version::OLDEST.major..60).map(|major| format!("node{major}"));
        let names = ["node", "nodejs"].map(str::to_owned).into_iter().chain(versioned);
        let in_directories = move |name: String| {
            let directories = path.split(':').filter(|entry| entry.starts_with('/'));
            directories.map(move |directory| Path::new(directory).join(&name))
        };
        names.flat_map(in_directories).filter(|candidate| is_program(candidate))
    }

    /// Candidates in the places where others put them.
    fn elsewhere(&self) -> Vec<PathBuf> {
        let home = self.environment.get("HOME").map(PathBuf::from).unwrap_or_default();
        let by_variable = VARIABLES.iter().filter_map(|(name, below)| {
            self.environment.get(*name).map(|value| Path::new(value).join(below))
        });
        let in_projects =
            self.projects.iter().map(|project| project.join("node_modules/node/bin/node"));
        let usual = PLACES.iter().map(|place| home.join(place));
        let patterns = by_variable.chain(in_projects).chain(usual);
        patterns
            .filter(|pattern| pattern.is_absolute())
            .flat_map(|pattern| expand(&pattern))
            .collect()
    }

    /// What a program says it is. A shim names the program it stands for.
    async fn ask(&self, program: &Path) -> Option<Installation> {
        let command = Command {
            program: program.to_owned(),
            arguments: vec!["-e".to_owned(), ASK.to_owned()],
            environment: self.environment.clone(),
            directory: PathBuf::from("/"),
        };
        let log = LogSettings {
            directory: self.directory.clone(),
            kept_bytes: ANSWER_BYTES as u64,
            budget: SpillBudget::new(ANSWER_BYTES as u64),
        };
        let settings = PipedSettings { log, input_queue_bytes: 1 };
        let piped = Piped::start(&self.spawner, &command, &settings).await.ok()?;
        let _ended = piped.stdin().close();
        let exit = tokio::time::timeout(ANSWER, piped.wait()).await;
        let answer = piped.stdout().read_text(0, ANSWER_BYTES).text;
        let read = serde_json::from_str::<Answer>(answer.trim()).ok();
        let version = read.as_ref().and_then(|answer| Version::parse(&answer.version));
        match (exit, read, version) {
            (Ok(Exit::Code(0)), Some(answer), Some(version)) if version >= Version::OLDEST => {
                let Answer { program, typescript, .. } = answer;
                Some(Installation { program, version, typescript })
            }
            _ => {
                tracing::debug!(program = %program.display(), answer, "not a usable Node.js");
                None
            }
        }
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The programs a pattern stands for. In each part one `*` may stand for any text.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::new()];
    for part in pattern.components() {
        let text = part.as_os_str().to_string_lossy();
        let Some((before, after)) = text.split_once('*') else {
            for path in &mut paths {
                path.push(part);
            }
            continue;
        };
        let fits = |name: &str| name.starts_with(before) && name.ends_with(after);
        paths = paths
            .iter()
            .flat_map(|path| std::fs::read_dir(path).into_iter().flatten().flatten())
            .filter(|entry| entry.file_name().to_str().is_some_and(fits))
            .map(|entry| entry.path())
            .collect();
        paths.sort();
    }
    paths.into_iter().filter(|path| is_program(path)).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn install(path: &Path, mode: u32) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_pattern_stands_for_the_programs_that_are_there() {
        let home = tempfile::tempdir().unwrap();
        let versions = home.path().join(".nvm/versions/node");
        install(&versions.join("v20.1.0/bin/node"), 0o755);
        install(&versions.join("v18.2.0/bin/node"), 0o755);
        install(&versions.join("v16.0.0/bin/node"), 0o644);
        std::fs::create_dir_all(versions.join("broken")).unwrap();
        let found = expand(&versions.join("*/bin/node"));
        assert_eq!(found, [versions.join("v18.2.0/bin/node"), versions.join("v20.1.0/bin/node")]);
        assert_eq!(expand(&versions.join("v2*0/bin/node")), [versions.join("v20.1.0/bin/node")]);
        assert_eq!(expand(&home.path().join("missing/*/node")), [""; 0].map(PathBuf::from));
    }
}
