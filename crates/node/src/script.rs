//! One program in a fresh process, in a directory of its own that goes with it.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use atoll_process::Exit;
use tokio_util::sync::CancellationToken;

use crate::error::NodeError;
use crate::execution::{Finish, Status};
use crate::installation::Installation;
use crate::message::{Program, Settings, line};
use crate::node::{Connected, Node};
use crate::output::Outputs;
use crate::place::Place;

/// A program to run once.
#[derive(Debug, Clone)]
pub struct Script {
    /// The program.
    pub code: String,
    /// Whether it has types to be removed.
    pub typescript: bool,
    /// What it reads.
    pub stdin: String,
    /// Files to put into the directory it runs in, by relative path.
    pub files: BTreeMap<String, String>,
    /// Where it runs; an empty directory of its own when `None`.
    pub directory: Option<PathBuf>,
    /// Directories of packages it may use beside those it finds from where it runs.
    pub roots: Vec<PathBuf>,
    /// How long it may take.
    pub timeout: Duration,
}

/// A program that runs.
#[derive(Debug)]
pub struct RunningScript {
    connected: Connected,
    place: Place,
    deadline: tokio::time::Instant,
}

impl Node {
    /// Starts a program.
    pub async fn run(
        &self,
        installation: &Installation,
        script: &Script,
    ) -> Result<RunningScript, NodeError> {
        let deadline = tokio::time::Instant::now() + script.timeout;
        let place = self.place()?;
        let directory = match &script.directory {
            Some(directory) => directory.clone(),
            None => place.directory("files")?,
        };
        write_files(&directory, &script.files)?;
        let stdin = script.stdin.as_bytes();
        let mut connected = self
            .start(&installation.program, "script.js", &directory, &place, stdin.len() + 1)
            .await?;
        // A process that has ended needs no input.
        let _ended =
            connected.piped.stdin().write(stdin).and_then(|()| connected.piped.stdin().close());
        let roots: Vec<_> =
            script.roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
        let module_directory = place.path().join("module");
        let settings = Settings {
            secret: &connected.secret,
            roots: &roots,
            limit: self.settings().output_bytes,
            program: Some(Program {
                code: &script.code,
                typescript: script.typescript,
                directory: &directory.to_string_lossy(),
                module_directory: &module_directory.to_string_lossy(),
            }),
        };
        connected.traffic.send(&line(&settings));
        Ok(RunningScript { connected, place, deadline })
    }
}

impl RunningScript {
    /// What it says.
    pub fn outputs(&mut self) -> Outputs {
        self.connected.traffic.recording().outputs().clone()
    }

    /// Waits until it has ended, its time is up or it is not wanted any more; then nothing is left of it.
    pub async fn finish(self, unwanted: CancellationToken) -> Finish {
        let Self { connected: Connected { piped, mut traffic, .. }, place, deadline } = self;
        let ended = tokio::select! {
            exit = piped.wait() => Ok(exit),
            () = serve(&mut traffic) => Err(Status::Error),
            () = tokio::time::sleep_until(deadline) => Err(Status::TimedOut),
            () = unwanted.cancelled() => Err(Status::Interrupted),
        };
        traffic.drain_all();
        piped.child().kill_all().await;
        if ended.is_err() {
            // What it wrote until it was killed.
            traffic.drain_all();
        }
        traffic.finish_recording();
        place.remove().await;
        Finish::ended(ended.unwrap_or(Exit::Signal(9)), ended.err())
    }
}

/// Serves the pipes for ever.
async fn serve(traffic: &mut crate::traffic::Traffic) {
    loop {
        if traffic.next().await.is_none() {
            traffic.serve().await;
        }
    }
}

/// Whether a name stays within the directory it is put into.
pub fn is_confined(name: &str) -> bool {
    let mut parts = Path::new(name).components().peekable();
    parts.peek().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        && !name.ends_with('/')
        && !name.contains('\0')
}

/// Writes files into a directory, those that lie deeper with the directories they need.
pub fn write_files(directory: &Path, files: &BTreeMap<String, String>) -> Result<(), NodeError> {
    for (name, content) in files {
        let failed = |source| NodeError::File { name: name.clone(), source };
        if !is_confined(name) {
            return Err(failed(std::io::ErrorKind::PermissionDenied.into()));
        }
        let path = directory.join(name);
        let parent = path.parent().unwrap_or(directory);
        std::fs::create_dir_all(parent).map_err(failed)?;
        std::fs::write(&path, content).map_err(failed)?;
    }
    Ok(())
}
