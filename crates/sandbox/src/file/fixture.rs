//! A file service in a directory of its own, for tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_api::file::FileOperationError;
use atoll_api::system::Limits;
use atoll_operation::{Context, Error, Handle, Operation};
use atoll_process::Spawner;
use tokio_util::sync::CancellationToken;

use super::service::Files;
use crate::convert::Converter;
use crate::{Environment, Foundation, Programs};

pub(super) struct Fixture {
    pub(super) files: Arc<Files>,
    pub(super) cx: Context,
    directory: tempfile::TempDir,
}

impl Fixture {
    pub(super) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(super) fn with(limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (home, workspace) = (directory.path().join("home"), directory.path().join("work"));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&workspace).unwrap();
        let none = std::iter::empty();
        let environment = Environment::build(none, &home, &workspace, "someone", &[]);
        let foundation = Foundation {
            home,
            workspace,
            runtime_dir: directory.path().to_owned(),
            environment: Arc::new(environment),
            limits: Arc::new(limits),
            version: "test",
            stop: CancellationToken::new(),
        };
        // These tests start no programs.
        let spawner = Spawner::launch_program(Path::new("/bin/true")).unwrap();
        let programs = Programs::new(foundation, spawner);
        let files = Files::new(&programs, &Converter::new(&programs));
        Self { files, cx: Context::new("test"), directory }
    }

    /// A path in the workspace.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("work").join(name)
    }

    /// The same as text.
    pub(super) fn at(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Puts a file into the workspace.
    pub(super) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), content).unwrap();
        self.at(name)
    }

    /// What a file in the workspace holds.
    pub(super) fn get(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names in a directory of the workspace, sorted.
    pub(super) fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub(super) fn fifo(&self, name: &str) -> String {
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, self.path(name), kind, mode, 0).unwrap();
        self.at(name)
    }

    pub(super) async fn ask<O: Operation>(&self, input: O) -> Result<O::Output, Error>
    where
        Files: Handle<O>,
    {
        self.files.handle(&self.cx, input).await
    }

    /// The fault an operation ends with.
    pub(super) async fn refused<O: Operation>(&self, input: O) -> FileOperationError
    where
        Files: Handle<O>,
    {
        match self.ask(input).await {
            Ok(_) => unreachable!("it was carried out"),
            Err(error) => fault(&error),
        }
    }

    /// The advice left beside the latest answer.
    pub(super) fn hint(&self) -> String {
        self.cx.take_hint().unwrap_or_default()
    }
}

/// What a file system refused, from an error's details.
pub(super) fn fault(error: &Error) -> FileOperationError {
    let details = error.details().unwrap_or_else(|| unreachable!("no fault: {error:?}"));
    let fault: FileOperationError = serde_json::from_value(details.clone()).unwrap();
    assert_eq!(error.code(), format!("file.{}", fault.error_type));
    assert_eq!(error.message(), fault.message);
    fault
}

/// Whether permissions count for this user; to root they do not.
pub(super) fn permissions_count() -> bool {
    !rustix::process::geteuid().is_root()
}
