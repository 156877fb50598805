//! What every Node.js process of ours needs: where it may write, what it sees, how much it may say.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_process::{
    Command, LogSettings, Piped, PipedSettings, Spawner, SpillBudget, Surroundings,
};
use tokio_util::task::TaskTracker;

use crate::error::NodeError;
use crate::place::Place;
use crate::traffic::Traffic;

/// The shell that connects a process to its pipes.
const SHELL: &str = "/bin/sh";
/// The programs our processes run.
const PROGRAMS: &[(&str, &str)] = &[
    ("channel.js", include_str!("js/channel.js")),
    ("modules.js", include_str!("js/modules.js")),
    ("realm.js", include_str!("js/realm.js")),
    ("repl.js", include_str!("js/repl.js")),
    ("report.js", include_str!("js/report.js")),
    ("scan.js", include_str!("js/scan.js")),
    ("script.js", include_str!("js/script.js")),
    ("session.js", include_str!("js/session.js")),
    ("types.js", include_str!("js/types.js")),
    ("worker.js", include_str!("js/worker.js")),
];
/// Bytes kept of what a process prints before it is connected to its pipes: a complaint of the shell.
const COMPLAINT: u64 = 16 << 10;

/// Where and how Node.js code runs.
#[derive(Debug, Clone)]
pub struct NodeSettings {
    /// Starts the processes.
    pub spawner: Spawner,
    /// Serves them.
    pub tasks: TaskTracker,
    /// Private directory for pipes, programs and temporary files.
    pub directory: PathBuf,
    /// The environment of every process.
    pub environment: Surroundings,
    /// Bytes of each stream, and of results and errors, that one execution may return.
    pub output_bytes: usize,
}

/// Runs Node.js code. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Node(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: NodeSettings,
    /// Holds our programs.
    place: Place,
}

/// A process connected to its pipes.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) piped: Piped,
    pub(crate) traffic: Traffic,
    pub(crate) secret: String,
}

impl Node {
    /// Puts our programs where processes find them.
    pub fn new(settings: NodeSettings) -> Result<Self, NodeError> {
        let place = Place::make(&settings.directory)?;
        for (name, text) in PROGRAMS {
            place.write(name, text)?;
        }
        Ok(Self(Arc::new(Inner { settings, place })))
    }

    pub(crate) fn settings(&self) -> &NodeSettings {
        &self.0.settings
    }

    /// A directory for one process.
    pub(crate) fn place(&self) -> Result<Place, NodeError> {
        Place::make(&self.0.settings.directory)
    }

    /// Starts one of our programs with its pipes in `place`.
    pub(crate) async fn start(
        &self,
        node: &Path,
        program: &str,
        directory: &Path,
        place: &Place,
        stdin_bytes: usize,
    ) -> Result<Connected, NodeError> {
        let secret = uuid::Uuid::new_v4().simple().to_string();
        let traffic = Traffic::open(place, &secret, self.0.settings.output_bytes)?;
        let program = self.0.place.path().join(program);
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let command = Command {
            program: SHELL.into(),
            arguments: vec![
                "-c".to_owned(),
                Traffic::CONNECT.to_owned(),
                text(place.path()),
                text(node),
                text(&program),
            ],
            environment: self.0.settings.environment.now(),
            directory: directory.to_owned(),
        };
        let log = LogSettings {
            directory: self.0.settings.directory.clone(),
            kept_bytes: COMPLAINT,
            budget: SpillBudget::new(COMPLAINT),
        };
        let settings = PipedSettings { log, input_queue_bytes: stdin_bytes };
        let piped = Piped::start(&self.0.settings.spawner, &command, &settings).await?;
        Ok(Connected { piped, traffic, secret })
    }
}
