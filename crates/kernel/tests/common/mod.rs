//! A host of real kernels, with a home and a runtime directory of its own per test.

#![allow(
    dead_code,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "each test binary uses its own part, and a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use atoll_kernel::{
    Catalogue, Execution, Finished, Host, HostSettings, KernelSpec, Output, OutputLimits, PYTHON,
    Request, Session,
};
use atoll_process::Spawner;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) const LIMITS: OutputLimits =
    OutputLimits { text_bytes: 2_000_000, rich_bytes: 32 << 20 };
/// Longer than any code here takes on the busiest machine.
pub(crate) const LONG: Duration = Duration::from_mins(2);

pub(crate) struct Bench {
    pub(crate) spawner: Spawner,
    pub(crate) host: Arc<Host>,
    pub(crate) home: tempfile::TempDir,
    /// Short enough for sockets.
    pub(crate) runtime: tempfile::TempDir,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) stop: CancellationToken,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with_limits(LIMITS)
    }

    pub(crate) fn with_limits(limits: OutputLimits) -> Self {
        let home = tempfile::tempdir().unwrap();
        let runtime = tempfile::tempdir_in("/tmp").unwrap();
        let spawner =
            Spawner::launch_program(Path::new(env!("CARGO_BIN_EXE_kernel-spawner"))).unwrap();
        let path = format!("{}:/usr/bin:/bin", sandbox_python().join("bin").display());
        let environment = BTreeMap::from([
            ("HOME".to_owned(), home.path().display().to_string()),
            ("PATH".to_owned(), path),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ]);
        let stop = CancellationToken::new();
        let host = Host::new(HostSettings {
            spawner: spawner.clone(),
            environment: environment.clone().into(),
            runtime_dir: runtime.path().to_owned(),
            limits,
            tasks: TaskTracker::new(),
            stop: stop.clone(),
        });
        Self { spawner, host, home, runtime, environment, stop }
    }

    pub(crate) fn catalogue(&self) -> Catalogue {
        Catalogue::new(self.spawner.clone(), self.environment.clone())
    }

    pub(crate) async fn python(&self) -> Arc<KernelSpec> {
        Arc::new(self.catalogue().find(PYTHON).await.expect("a Python kernel"))
    }

    pub(crate) async fn session(&self) -> Session {
        Session::new(&self.host, self.python().await, self.home.path().to_owned())
    }

    /// Whether nothing of any kernel lies in the runtime directory.
    pub(crate) fn is_clean(&self) -> bool {
        std::fs::read_dir(self.runtime.path()).unwrap().count() == 0
    }
}

/// The environment made by `scripts/setup-sandbox-python.sh`.
pub(crate) fn sandbox_python() -> PathBuf {
    let path = std::env::var_os("ATOLL_SANDBOX_PYTHON").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/sandbox-python"),
        PathBuf::from,
    );
    assert!(
        path.join("bin/python3").exists(),
        "{} is missing: run scripts/setup-sandbox-python.sh test",
        path.display()
    );
    path.canonicalize().unwrap()
}

pub(crate) fn request(code: &str) -> Request {
    Request { code: code.to_owned(), timeout: LONG, directory: None, followed: false }
}

/// Starts code that may run this long.
pub(crate) async fn start(session: &Session, code: &str, timeout: Duration) -> Execution {
    session.execute(Request { timeout, ..request(code) }).await.unwrap()
}

/// Runs code to its end.
pub(crate) async fn run(session: &Session, code: &str) -> Finished {
    session.execute(request(code)).await.unwrap().finish().await
}

/// Runs code and returns what it printed.
pub(crate) async fn printed(session: &Session, code: &str) -> String {
    text(&run(session, code).await)
}

/// Everything printed to standard output.
pub(crate) fn text(finished: &Finished) -> String {
    let text = |output: &Output| match output {
        Output::Stream { name, text } if name == "stdout" => Some(text.clone()),
        _ => None,
    };
    finished.outputs.iter().filter_map(text).collect()
}

/// The error that ended it: its name and what it says.
pub(crate) fn error(finished: &Finished) -> (String, String) {
    let error = finished.outputs.iter().rev().find_map(|output| match output {
        Output::Error { name, value, .. } => Some((name.clone(), value.clone())),
        _ => None,
    });
    error.unwrap_or_else(|| panic!("no error in {finished:?}"))
}

/// Most memory this process ever had.
pub(crate) fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Living processes with the word in their arguments.
pub(crate) fn alive_with(word: &str) -> Vec<i32> {
    let own = std::process::id().to_string();
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().into_string().ok()?;
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            (pid != own && String::from_utf8_lossy(&line).contains(word))
                .then(|| pid.parse().ok())?
        })
        .collect()
}

pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
