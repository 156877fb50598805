//! Starting a kernel: its process, its sockets, and the proof that both directions work.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use atoll_process::{Command, Exit, Log, Piped, SpawnError, Spawner};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::epitaph::{describe, said, tail};
use crate::kernel::{Kernel, Quiet};
use crate::message::Signer;
use crate::output::OutputLimits;
use crate::place::{Place, Socket};
use crate::progress::{Progress, new_id};
use crate::python::in_memory;
use crate::router::Router;
use crate::spec::KernelSpec;
use crate::zmtp::{self, FrameReader, FrameWriter, Role};

/// How long a kernel may take to start; hundreds of milliseconds unless the machine is very busy.
const START: Duration = Duration::from_mins(1);
/// How often a starting kernel's sockets are tried: a try costs microseconds, and a wait longer than this would be felt.
const KNOCK: Duration = Duration::from_millis(2);
/// How long a kernel that answers may be silent on what it publishes before it is asked again.
const HEAR: Duration = Duration::from_millis(100);
/// How long the end of a kernel is waited for whose connections are lost.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Prepares a Python kernel's streams.
const STREAMS: &str = include_str!("streams.py");

/// Why a kernel could not be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its program could not be run.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// Its directory could not be made.
    #[error("no directory for the sockets of a kernel: {0}")]
    Place(#[source] io::Error),
    /// It ended while it started.
    #[error("the kernel {kernel} {} while it started{}", describe(*.exit), said(.log))]
    Died {
        /// Its name.
        kernel: String,
        /// How.
        exit: Exit,
        /// The last lines it printed.
        log: String,
    },
    /// Its sockets cannot be used.
    #[error("the sockets of the kernel {kernel} cannot be used: {error}")]
    Sockets {
        /// Its name.
        kernel: String,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// It did not answer in time.
    #[error("the kernel {kernel} did not answer within {} s{}", START.as_secs(), said(.log))]
    Silent {
        /// Its name.
        kernel: String,
        /// The last lines it printed.
        log: String,
    },
}

impl StartError {
    fn died(spec: &KernelSpec, exit: Exit, log: &Log) -> Self {
        Self::Died { kernel: spec.name.clone(), exit, log: tail(log, 0) }
    }

    fn silent(spec: &KernelSpec, log: &Log) -> Self {
        Self::Silent { kernel: spec.name.clone(), log: tail(log, 0) }
    }
}

/// What starting a kernel takes.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) spawner: &'a Spawner,
    pub(crate) tasks: &'a TaskTracker,
    pub(crate) environment: &'a BTreeMap<String, String>,
    pub(crate) runtime_dir: &'a Path,
    pub(crate) limits: OutputLimits,
}

impl Start<'_> {
    /// Starts a kernel in a directory and waits until it answers.
    pub(crate) async fn kernel(
        &self,
        spec: &Arc<KernelSpec>,
        directory: &Path,
    ) -> Result<Kernel, StartError> {
        let key = format!("{}{}", new_id(), new_id());
        let place = Place::create(self.runtime_dir, &spec.name, &key).map_err(StartError::Place)?;
        let connection_file = place.connection_file().to_string_lossy().into_owned();
        let mut command = spec
            .command
            .iter()
            .map(|argument| argument.replace("{connection_file}", &connection_file));
        let program = command.next().unwrap_or_default().into();
        let mut environment = self.environment.clone();
        environment.extend(spec.environment.clone());
        let arguments = command.collect();
        let command = Command { program, arguments, environment, directory: directory.to_owned() };
        let process = Piped::start(self.spawner, &command, &in_memory()).await?;
        let _closed = process.stdin().close();

        let opened = tokio::select! {
            opened = timeout(START, self.open(spec, place, &key, &process)) => opened,
            exit = process.wait() => return Err(StartError::died(spec, exit, process.stderr())),
        };
        let opened = match opened {
            Ok(Ok(opened)) => opened,
            // A kernel whose connections are lost is usually about to end.
            Ok(Err(error)) => match timeout(LAST_WORDS, process.wait()).await {
                Ok(exit) => return Err(StartError::died(spec, exit, process.stderr())),
                Err(_) => return Err(StartError::Sockets { kernel: spec.name.clone(), error }),
            },
            Err(_) => return Err(StartError::silent(spec, process.stderr())),
        };
        let Opened { shell, control, signer, router, is_python, place, readers } = opened;
        let mut kernel = Kernel {
            spec: Arc::clone(spec),
            process,
            shell,
            control,
            signer,
            router,
            is_python,
            limits: self.limits,
            place,
            readers,
        };
        if kernel.is_python {
            prepare(&mut kernel).await?;
        }
        Ok(kernel)
    }

    /// Connects to the sockets as soon as they are there, and waits until both directions work.
    async fn open(
        &self,
        spec: &KernelSpec,
        place: Place,
        key: &str,
        process: &Piped,
    ) -> io::Result<Opened> {
        let session = new_id();
        let signer = Signer::new(key, session.clone());
        let router = Router::new(self.limits);
        let asking = Role::Dealer { identity: &session };
        let (answers, mut shell) = knock(&place, Socket::Shell, asking, process).await?;
        let (replies, control) = knock(&place, Socket::Control, asking, process).await?;
        let (published, subscribing) =
            knock(&place, Socket::Published, Role::Subscriber, process).await?;
        subscribing.forget();
        let stop = CancellationToken::new();
        router.follow_published(self.tasks, stop.clone(), signer.clone(), published);
        for reader in [answers, replies] {
            router.follow_answers(self.tasks, stop.clone(), signer.clone(), reader);
        }
        let readers = stop.drop_guard();
        // A subscription takes effect on its own time, and what is published before that is lost. New kernels greet
        // their subscribers; of others something is heard when they work on a question, so they are asked until then.
        let reply = loop {
            let question = Arc::new(Progress::new(self.limits, false));
            router.attend(&question);
            signer.send(&mut shell, "kernel_info_request", question.id(), &json!({})).await?;
            question.replied().await;
            if timeout(HEAR, router.heard()).await.is_ok() {
                break question.take().reply.unwrap_or_default();
            }
        };
        router.dismiss();
        let language = reply.language_info.name.to_lowercase();
        let is_python = if language.is_empty() { spec.is_python() } else { language == "python" };
        Ok(Opened { shell, control, signer, router, is_python, place, readers })
    }
}

/// Makes a Python kernel's streams complete.
async fn prepare(kernel: &mut Kernel) -> Result<(), StartError> {
    // Code that awaits nothing runs with streams of its own, which are put back when it ends.
    let awaiting = "await __import__('asyncio').sleep(0)";
    let code = format!("exec({}, {{}})\n{awaiting}", Value::from(STREAMS));
    match kernel.run_quietly(&code, START).await {
        Quiet::Done => Ok(()),
        Quiet::Failed(reason) => {
            tracing::debug!(kernel = kernel.spec.name, reason, "its streams stay as they are");
            Ok(())
        }
        Quiet::Died(exit) => Err(StartError::died(&kernel.spec, exit, kernel.process.stderr())),
        Quiet::Stuck => Err(StartError::silent(&kernel.spec, kernel.process.stderr())),
    }
}

struct Opened {
    shell: FrameWriter,
    control: FrameWriter,
    signer: Signer,
    router: Arc<Router>,
    is_python: bool,
    place: Place,
    readers: DropGuard,
}

/// Connects to a socket once the kernel has bound it.
async fn knock(
    place: &Place,
    socket: Socket,
    role: Role<'_>,
    process: &Piped,
) -> io::Result<(FrameReader, FrameWriter)> {
    let path = place.socket(socket);
    loop {
        match zmtp::connect(&path, role).await {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                ) && process.ended().is_none() =>
            {
                sleep(KNOCK).await;
            }
            result => return result,
        }
    }
}
