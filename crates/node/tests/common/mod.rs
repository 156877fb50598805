//! A spawner, a scratch directory and the machine's own Node.js per test.

#![allow(
    dead_code,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test binary uses its own part, and a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use atoll_node::{
    Channel, Code, Finish, Installation, Installations, Node, NodeSettings, Output, Script, Search,
    Worker,
};
use atoll_process::Spawner;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) const LONG: Duration = Duration::from_mins(1);
pub(crate) const LIMIT: usize = 200_000;

pub(crate) struct Bench {
    pub(crate) node: Node,
    pub(crate) installation: Arc<Installation>,
    pub(crate) tasks: TaskTracker,
    pub(crate) directory: tempfile::TempDir,
    pub(crate) work: tempfile::TempDir,
    pub(crate) spawner: Spawner,
}

/// What code said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) results: Vec<String>,
    /// Name, message, and the traceback in one piece.
    pub(crate) errors: Vec<(String, String, String)>,
    pub(crate) finish: Finish,
}

impl Said {
    fn new(outputs: Vec<Output>, finish: Finish) -> Self {
        let (stdout, stderr) = (String::new(), String::new());
        let mut said = Self { stdout, stderr, results: vec![], errors: vec![], finish };
        for output in outputs {
            match output {
                Output::Text { channel: Channel::Stdout, text } => said.stdout.push_str(&text),
                Output::Text { channel: Channel::Stderr, text } => said.stderr.push_str(&text),
                Output::Result { text } => said.results.push(text),
                Output::Error { name, message, traceback } => {
                    said.errors.push((name, message, traceback.join("\n")));
                }
            }
        }
        said
    }

    /// The only result.
    pub(crate) fn result(&self) -> &str {
        match self.results.as_slice() {
            [result] => result,
            _ => panic!("not one result: {self:?}"),
        }
    }

    /// The only error: its name and message.
    pub(crate) fn error(&self) -> (&str, &str) {
        match self.errors.as_slice() {
            [(name, message, _)] => (name, message),
            _ => panic!("not one error: {self:?}"),
        }
    }
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_atoll-node-spawner"));
        let spawner = Spawner::launch_program(program).unwrap();
        let tasks = TaskTracker::new();
        let settings = NodeSettings {
            spawner: spawner.clone(),
            tasks: tasks.clone(),
            directory: directory.path().to_owned(),
            environment: environment(work.path()).into(),
            output_bytes: LIMIT,
        };
        let search = Search {
            spawner: spawner.clone(),
            environment: environment(work.path()),
            projects: vec![],
            directory: directory.path().to_owned(),
        };
        let found = Installations::new(search).default().await;
        let installation = found.expect("tests need Node.js");
        let node = Node::new(settings).unwrap();
        Self { node, installation, tasks, directory, work, spawner }
    }

    pub(crate) async fn session(&self) -> Worker {
        self.node.session(&self.installation, self.work.path(), &[]).await.unwrap()
    }

    pub(crate) fn script(code: &str) -> Script {
        Script {
            code: code.to_owned(),
            typescript: false,
            stdin: String::new(),
            files: BTreeMap::new(),
            directory: None,
            roots: vec![],
            timeout: LONG,
        }
    }

    /// Runs a program once.
    pub(crate) async fn run(&self, script: Script) -> Said {
        let mut running = self.node.run(&self.installation, &script).await.unwrap();
        let outputs = running.outputs();
        let finish = running.finish(CancellationToken::new()).await;
        Said::new(outputs.take(), finish)
    }

    pub(crate) async fn run_code(&self, code: &str) -> Said {
        self.run(Self::script(code)).await
    }

    /// Directories of processes and programs that are still there.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.retain(|path| !path.join("worker.js").exists());
        paths
    }
}

pub(crate) fn environment(home: &Path) -> BTreeMap<String, String> {
    let path = std::env::var("PATH").unwrap_or_default();
    BTreeMap::from([
        ("PATH".to_owned(), format!("{path}:/usr/local/bin:/usr/bin:/bin")),
        ("HOME".to_owned(), home.display().to_string()),
    ])
}

pub(crate) fn code(text: &str) -> Code {
    Code {
        text: text.to_owned(),
        typescript: false,
        stdin: None,
        directory: None,
        deadline: Instant::now() + LONG,
        unwanted: CancellationToken::new(),
    }
}

/// Runs code in a session.
pub(crate) async fn execute(worker: &Worker, code: Code) -> Said {
    let running = worker.execute(code).await.unwrap();
    let outputs = running.outputs.clone();
    let finish = running.finish().await.unwrap();
    Said::new(outputs.take(), finish)
}

pub(crate) async fn say(worker: &Worker, text: &str) -> Said {
    execute(worker, code(text)).await
}

/// A word no other process has in its arguments; usable after a decimal point.
pub(crate) fn marker() -> String {
    uuid::Uuid::new_v4().as_u128().to_string().chars().take(12).collect()
}

/// Living processes with the word in their arguments.
pub(crate) fn alive_with(marker: &str) -> Vec<i32> {
    let own = std::process::id().to_string();
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().into_string().ok()?;
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            (pid != own && String::from_utf8_lossy(&line).contains(marker))
                .then(|| pid.parse().ok())?
        })
        .collect()
}

pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
