//! A spawner and a scratch directory per test.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test binary uses its own part, and a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use atoll_process::{Command, LogSettings, Piped, PipedSettings, Spawner, SpillBudget};

pub(crate) struct Bench {
    pub(crate) spawner: Spawner,
    pub(crate) directory: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::process::Command::new("mkfifo").arg(directory.path().join("fifo")).status().unwrap();
        let spawner =
            Spawner::launch_program(Path::new(env!("CARGO_BIN_EXE_atoll-spawner"))).unwrap();
        Self { spawner, directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn log_settings(&self) -> LogSettings {
        LogSettings {
            directory: self.directory.path().to_owned(),
            kept_bytes: 1 << 30,
            budget: SpillBudget::new(1 << 30),
        }
    }

    pub(crate) fn settings(&self) -> PipedSettings {
        PipedSettings { log: self.log_settings(), input_queue_bytes: 1 << 20 }
    }

    pub(crate) fn environment() -> BTreeMap<String, String> {
        BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())])
    }

    pub(crate) fn command(&self, script: &str) -> Command {
        Command {
            program: "/bin/bash".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: Self::environment(),
            directory: self.directory.path().to_owned(),
        }
    }

    pub(crate) async fn bash(&self, script: &str) -> Piped {
        Piped::start(&self.spawner, &self.command(script), &self.settings()).await.unwrap()
    }
}

/// A word no other process has in its arguments; usable after a decimal point.
pub(crate) fn marker() -> String {
    uuid::Uuid::new_v4().as_u128().to_string().chars().take(12).collect()
}

/// Living processes with the word in their arguments.
pub(crate) fn alive_with_marker(marker: &str) -> Vec<i32> {
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
    let deadline = Instant::now() + Duration::from_mins(1);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
