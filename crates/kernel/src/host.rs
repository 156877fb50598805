//! Where kernels are started, and the one that stands ready if one shall: it is handed to the first session it fits,
//! and another is started in its place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atoll_process::{Spawner, Surroundings};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::kernel::{Kernel, Quiet};
use crate::launch::{Start, StartError};
use crate::output::OutputLimits;
use crate::spec::KernelSpec;

/// How long a kernel that stands ready may take for our own code; it takes milliseconds.
const OWN_CODE: Duration = Duration::from_secs(20);

/// What kernels are started with.
#[derive(Debug, Clone)]
pub struct HostSettings {
    /// Starts their processes.
    pub spawner: Spawner,
    /// Their whole environment: nothing is inherited.
    pub environment: Surroundings,
    /// Private directory with a short path, for their sockets.
    pub runtime_dir: PathBuf,
    /// How much is kept of what one execution puts out.
    pub limits: OutputLimits,
    /// Runs what serves them.
    pub tasks: TaskTracker,
    /// Cancelled when no more shall be started.
    pub stop: CancellationToken,
}

/// Starts kernels.
#[derive(Debug)]
pub struct Host {
    settings: HostSettings,
    ready: Mutex<Ready>,
}

/// The kernel that stands ready.
#[derive(Debug, Default)]
struct Ready {
    /// What shall stand ready, and where.
    wanted: Option<(Arc<KernelSpec>, PathBuf)>,
    kernel: Option<Kernel>,
    /// What it was started with; where that is not what it would be now, it fits nobody.
    environment: BTreeMap<String, String>,
    starting: bool,
}

impl Host {
    /// Starts nothing yet.
    pub fn new(settings: HostSettings) -> Arc<Self> {
        Arc::new(Self { settings, ready: Mutex::default() })
    }

    /// Keeps a kernel of this kind ready in this directory from now on. Needs a tokio runtime.
    pub fn keep_ready(self: &Arc<Self>, spec: Arc<KernelSpec>, directory: PathBuf) {
        self.ready().wanted = Some((spec, directory));
        self.refill();
    }

    /// Whether a kernel stands ready.
    pub fn is_ready(&self) -> bool {
        self.ready().kernel.as_ref().is_some_and(|kernel| kernel.ended().is_none())
    }

    /// Ends the kernel that stands ready, and starts no other.
    pub async fn close(&self) {
        let kernel = {
            let mut ready = self.ready();
            ready.wanted = None;
            ready.kernel.take()
        };
        if let Some(kernel) = kernel {
            kernel.kill().await;
        }
    }

    pub(crate) fn settings(&self) -> &HostSettings {
        &self.settings
    }

    /// A kernel in this directory: the one that stands ready if it fits, else a fresh one.
    pub(crate) async fn kernel(
        self: &Arc<Self>,
        spec: &Arc<KernelSpec>,
        directory: &Path,
    ) -> Result<Kernel, StartError> {
        if let Some(kernel) = self.take_ready(spec, directory).await {
            return Ok(kernel);
        }
        self.start(spec, directory).await
    }

    async fn take_ready(
        self: &Arc<Self>,
        spec: &Arc<KernelSpec>,
        directory: &Path,
    ) -> Option<Kernel> {
        let (kernel, stands_in) = {
            let mut ready = self.ready();
            let (wanted, stands_in) = ready.wanted.clone()?;
            if !wanted.is_same_kernel(spec) || (stands_in != directory && !spec.is_python()) {
                return None;
            }
            let current = ready.environment == self.settings.environment.now();
            (ready.kernel.take().map(|kernel| (kernel, current)), stands_in)
        };
        self.refill();
        let (mut kernel, current) = kernel.filter(|(kernel, _)| kernel.ended().is_none())?;
        if !current {
            kernel.kill().await;
            return None;
        }
        let moved = stands_in == directory
            || kernel.run_quietly(&change_directory(directory), OWN_CODE).await == Quiet::Done;
        moved.then(|| {
            kernel.spec = Arc::clone(spec);
            kernel
        })
    }

    /// Starts the kernel that shall stand ready, in the background, unless it does.
    fn refill(self: &Arc<Self>) {
        let (spec, directory) = {
            let mut ready = self.ready();
            let Some(wanted) = ready.wanted.clone() else { return };
            if ready.starting || ready.kernel.is_some() {
                return;
            }
            ready.starting = true;
            wanted
        };
        let (host, stop) = (Arc::clone(self), self.settings.stop.clone());
        self.settings.tasks.spawn(async move {
            let environment = host.settings.environment.now();
            let starting = async {
                let mut kernel = host.start(&spec, &directory).await?;
                // The first execution loads what later ones have at hand.
                kernel.run_quietly("", OWN_CODE).await;
                Ok::<_, StartError>(kernel)
            };
            let started = stop.run_until_cancelled(starting).await;
            let mut ready = host.ready();
            ready.starting = false;
            match started {
                Some(Ok(kernel)) if ready.wanted.is_some() => {
                    ready.kernel = Some(kernel);
                    ready.environment = environment;
                }
                Some(Err(error)) => tracing::warn!(%error, "no kernel stands ready"),
                Some(Ok(_)) | None => {}
            }
        });
    }

    async fn start(&self, spec: &Arc<KernelSpec>, directory: &Path) -> Result<Kernel, StartError> {
        let HostSettings { spawner, environment, runtime_dir, limits, tasks, .. } = &self.settings;
        let environment = &environment.now();
        let start = Start { spawner, tasks, environment, runtime_dir, limits: *limits };
        start.kernel(spec, directory).await
    }

    fn ready(&self) -> MutexGuard<'_, Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Python code that changes to a directory and leaves no name behind. A JSON text is a Python literal.
pub(crate) fn change_directory(directory: &Path) -> String {
    let literal = serde_json::Value::from(directory.to_string_lossy());
    format!("__import__('os').chdir({literal})")
}
