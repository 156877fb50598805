//! What capabilities that run programs share: the spawner, the bash to use, the space for output, background tasks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_api::system::Limits;
use atoll_egress::Egress;
use atoll_operation::{Error, Kind};
use atoll_process::{
    Confinement, LogSettings, PipedSettings, SpawnError, Spawner, SpillBudget, Surroundings,
    is_variable_name, machine_memory, size,
};
use tokio_util::task::TaskTracker;

use crate::foundation::Foundation;

/// Where programs are started and their output is kept. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Programs {
    foundation: Foundation,
    spawner: Spawner,
    /// The same spawner for what sessions run, which has limits.
    confined: Spawner,
    spill: Arc<SpillBudget>,
    tasks: TaskTracker,
    /// Tells programs of a proxy, while there is something to tell.
    egress: Option<Egress>,
}

/// The least memory that a session's program gets, unless the operator decides otherwise.
const LEAST_MEMORY: u64 = 512 << 20;

impl Programs {
    /// Shares one spawner and one budget for output on disk.
    pub fn new(mut foundation: Foundation, spawner: Spawner) -> Self {
        if foundation.limits.session_memory_bytes == 0 {
            let memory = (machine_memory() / 2).max(LEAST_MEMORY);
            Arc::make_mut(&mut foundation.limits).session_memory_bytes = memory;
        }
        let spill = SpillBudget::new(foundation.limits.output_spill_bytes);
        let confined = spawner.confined(confinement(&foundation.limits));
        let means = spawner.enforcement();
        tracing::info!("what sessions run is limited: {means}");
        Self { foundation, spawner, confined, spill, tasks: TaskTracker::new(), egress: None }
    }

    /// The same for programs that find the way out through this.
    #[must_use]
    pub(crate) fn through(self, egress: &Egress) -> Self {
        Self { egress: Some(egress.clone()), ..self }
    }

    /// The way out, where one was given.
    pub(crate) fn egress(&self) -> Option<&Egress> {
        self.egress.as_ref()
    }

    pub(crate) fn foundation(&self) -> &Foundation {
        &self.foundation
    }

    /// For programs of the sandbox itself.
    pub(crate) fn spawner(&self) -> &Spawner {
        &self.spawner
    }

    /// For what a session runs.
    pub(crate) fn confined_spawner(&self) -> &Spawner {
        &self.confined
    }

    /// Tasks that outlive a call: watchdogs, the readers of sockets.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    pub(crate) fn log_settings(&self) -> LogSettings {
        LogSettings {
            directory: self.foundation.runtime_dir.clone(),
            kept_bytes: self.foundation.limits.output_kept_bytes,
            budget: Arc::clone(&self.spill),
        }
    }

    pub(crate) fn piped_settings(&self) -> PipedSettings {
        PipedSettings { log: self.log_settings(), input_queue_bytes: self.input_queue_bytes() }
    }

    pub(crate) fn input_queue_bytes(&self) -> usize {
        usize::try_from(self.foundation.limits.input_queue_bytes).unwrap_or(usize::MAX)
    }

    /// The environment of a program, with these variables added.
    pub(crate) fn environment(
        &self,
        extra: Option<&BTreeMap<String, String>>,
    ) -> BTreeMap<String, String> {
        let told = self.egress.iter().flat_map(Egress::environment);
        let mut added: BTreeMap<String, String> =
            told.map(|(name, value)| (name.to_owned(), value)).collect();
        added
            .extend(extra.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
        self.foundation.environment.with(&added).into_iter().collect()
    }

    /// The same for programs that are started later: what it is then.
    pub(crate) fn surroundings(&self) -> Surroundings {
        let programs = self.clone();
        Surroundings::new(move || programs.environment(None))
    }

    /// The bash that runs commands.
    pub(crate) fn bash(&self) -> Result<PathBuf, Error> {
        let path = self.foundation.environment.get("PATH").unwrap_or_default();
        ["/bin", "/usr/bin"]
            .into_iter()
            .chain(path.split(':'))
            .map(|directory| Path::new(directory).join("bash"))
            .find(|candidate| candidate.is_file())
            .ok_or_else(|| {
                Error::new(
                    Kind::Unavailable,
                    "process.bash_missing",
                    "bash is not installed in this sandbox; install it with your package manager (apt-get install bash)",
                )
            })
    }
}

fn confinement(limits: &Limits) -> Confinement {
    let unless_zero = |limit: u64| Some(limit).filter(|limit| *limit > 0);
    Confinement {
        memory_bytes: unless_zero(limits.session_memory_bytes),
        processes: unless_zero(limits.session_processes),
        open_files: unless_zero(limits.session_open_files),
    }
}

/// What to do when memory ran out.
pub(crate) const MEMORY_CURE: &str =
    "use less memory at once, or have ATOLL_LIMIT_SESSION_MEMORY_BYTES raised";

/// Tells that something was killed because the program, with everything it started, may have no more memory than this.
pub(crate) fn starvation(limit: u64) -> String {
    let size = size(limit);
    format!(
        "a process was killed because memory ran out: all of them together may use {size}; {MEMORY_CURE}"
    )
}

/// Refuses names that cannot be variables, before anything is started.
pub(crate) fn check_environment(
    environment: Option<&BTreeMap<String, String>>,
) -> Result<(), Error> {
    match environment.into_iter().flatten().find(|(name, _)| !is_variable_name(name)) {
        None => Ok(()),
        Some((name, _)) => Err(Error::field(
            "env",
            "name",
            format!(
                "{name:?} cannot be the name of an environment variable: use letters, digits and _"
            ),
        )),
    }
}

/// What is wrong with a directory a command shall run in.
pub(crate) enum DirectoryFault {
    /// Never acceptable.
    Relative(Error),
    /// Not there, or not a directory, or not to be entered.
    Unusable(String),
}

/// Looks at a directory a command shall run in.
pub(crate) fn check_directory(directory: &str) -> Result<PathBuf, DirectoryFault> {
    let path = PathBuf::from(directory);
    if !path.is_absolute() {
        return Err(DirectoryFault::Relative(Error::field(
            "exec_dir",
            "absolute",
            format!("must be an absolute path, not {directory:?}"),
        )));
    }
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => Ok(path),
        Ok(_) => Err(DirectoryFault::Unusable(format!("{directory} is not a directory"))),
        Err(error) => Err(DirectoryFault::Unusable(format!(
            "the directory {directory} cannot be used: {error}"
        ))),
    }
}

/// Why a program could not be started, for the caller.
pub(crate) fn spawn_failure(error: SpawnError, directory_code: &'static str) -> Error {
    let message = error.to_string();
    match error {
        SpawnError::Directory { .. } => Error::new(Kind::InvalidArgument, directory_code, message),
        SpawnError::Execute { ref source, .. }
            if source.kind() == std::io::ErrorKind::ArgumentListTooLong =>
        {
            Error::new(
                Kind::TooLarge,
                "process.arguments_too_long",
                "the environment is too large for the system; pass large data in a file or on standard input",
            )
        }
        SpawnError::Execute { .. } => {
            Error::new(Kind::Unavailable, "process.not_executable", message).with_source(error)
        }
        SpawnError::Fork(_) | SpawnError::Streams(_) | SpawnError::Confine(_) => Error::new(
            Kind::ResourceExhausted,
            "process.resources",
            format!("{message}; end some commands or sessions and try again"),
        )
        .with_source(error),
        SpawnError::SpawnerGone(_) => Error::new(
            Kind::Unavailable,
            "process.spawner_gone",
            format!("{message}; restart the server"),
        )
        .with_source(error),
    }
}
