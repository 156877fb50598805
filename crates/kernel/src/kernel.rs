//! A running kernel: its process, its sockets, one request at a time.

use std::sync::Arc;
use std::time::Duration;

use atoll_process::{Exit, Piped};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::epitaph::tail;
use crate::message::Signer;
use crate::output::OutputLimits;
use crate::place::Place;
use crate::progress::{Progress, new_id};
use crate::router::Router;
use crate::spec::{Interrupt, KernelSpec};
use crate::zmtp::FrameWriter;

/// How long interrupted code may take to end.
const GRACE: Duration = Duration::from_secs(2);
/// How long a kernel may take to end by itself when asked to.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long the last messages of a kernel that died or was interrupted are waited for: they are there, or do not come.
const LAST_WORDS: Duration = Duration::from_millis(500);
const SIGINT: i32 = 2;

/// Why a request is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Its time is over.
    TimedOut,
    /// Nobody waits for it any more.
    Abandoned,
    /// Its session is closed.
    Closed,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The kernel is done with it.
    Done,
    /// It was given up, and the kernel is done with it.
    Interrupted(Why),
    /// It was given up, and the kernel does not react: it has to be killed.
    Stuck(Why),
    /// The kernel has ended.
    Died(Exit),
    /// The kernel had ended before it could be told of it.
    Untold(Exit),
}

/// A kernel. Dropping it ends it with everything it started.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) spec: Arc<KernelSpec>,
    pub(crate) process: Piped,
    pub(crate) shell: FrameWriter,
    pub(crate) control: FrameWriter,
    pub(crate) signer: Signer,
    pub(crate) router: Arc<Router>,
    pub(crate) is_python: bool,
    pub(crate) limits: OutputLimits,
    #[expect(dead_code, reason = "holds the directory as long as the kernel lives")]
    pub(crate) place: Place,
    #[expect(dead_code, reason = "ends the readers with the kernel")]
    pub(crate) readers: DropGuard,
}

impl Kernel {
    /// Whether it runs Python code.
    pub(crate) fn is_python(&self) -> bool {
        self.is_python
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&self) -> Option<Exit> {
        self.process.ended()
    }

    /// Bytes printed after the requests they belong to were over, since this was asked last.
    pub(crate) fn take_late(&self) -> u64 {
        self.router.take_late()
    }

    /// The end of what it printed itself since its log was this long.
    pub(crate) fn log_tail(&self, from: u64) -> String {
        tail(self.process.stderr(), from)
    }

    /// How long its log is.
    pub(crate) fn log_length(&self) -> u64 {
        self.process.stderr().progress().end
    }

    /// Runs code, for at most this long, until `abandoned` or `closed`.
    pub(crate) async fn execute(
        &mut self,
        code: &str,
        progress: &Arc<Progress>,
        limit: Duration,
        abandoned: &CancellationToken,
        closed: &CancellationToken,
    ) -> Outcome {
        self.router.attend(progress);
        let Self { spec, process, shell, control, signer, .. } = self;
        let trouble = async {
            tokio::select! {
                biased;
                exit = process.wait() => Err(exit),
                () = closed.cancelled() => Ok(Why::Closed),
                () = abandoned.cancelled() => Ok(Why::Abandoned),
                () = sleep(limit) => Ok(Why::TimedOut),
            }
        };
        let mut trouble = std::pin::pin!(trouble);
        let content = execute_request(code, false);
        let sent = tokio::select! {
            biased;
            sent = signer.send(shell, "execute_request", progress.id(), &content) => Ok(sent.is_ok()),
            trouble = &mut trouble => Err(trouble.map_or_else(Outcome::Died, Outcome::Stuck)),
        };
        let outcome = match sent {
            Err(outcome) => outcome,
            // A kernel that cannot be written to is about to end, or of no use.
            Ok(false) => {
                let exit = timeout(LAST_WORDS, process.wait()).await;
                Outcome::Untold(exit.unwrap_or(Exit::Lost))
            }
            Ok(true) => tokio::select! {
                biased;
                () = progress.done() => Outcome::Done,
                trouble = trouble => match trouble {
                    Err(exit) => Outcome::Died(exit),
                    Ok(Why::Closed) => Outcome::Stuck(Why::Closed),
                    Ok(why) => {
                        let channels = Channels { signer, shell, control };
                        tokio::select! {
                            biased;
                            () = settled(progress) => Outcome::Interrupted(why),
                            exit = process.wait() => Outcome::Died(exit),
                            () = closed.cancelled() => Outcome::Stuck(Why::Closed),
                            () = interrupt(spec, process, channels, progress) => Outcome::Stuck(why),
                        }
                    }
                },
            },
        };
        if matches!(outcome, Outcome::Died(_)) {
            let _held_open = timeout(LAST_WORDS, self.router.silent()).await;
        }
        self.router.dismiss();
        outcome
    }

    /// Runs code of ours, which prints nothing and leaves no trace; the error it raised, if it did.
    pub(crate) async fn run_quietly(&mut self, code: &str, limit: Duration) -> Quiet {
        let progress = Arc::new(Progress::new(self.limits, false));
        self.router.attend(&progress);
        let content = execute_request(code, true);
        let asked = self.signer.send(&mut self.shell, "execute_request", progress.id(), &content);
        let done = async {
            let _gone = asked.await;
            progress.done().await;
        };
        let quiet = tokio::select! {
            biased;
            () = done => {
                let reply = progress.take().reply.unwrap_or_default();
                match reply.status.as_str() {
                    "ok" => Quiet::Done,
                    _ => Quiet::Failed(reply.evalue),
                }
            }
            exit = self.process.wait() => Quiet::Died(exit),
            () = sleep(limit) => Quiet::Stuck,
        };
        self.router.dismiss();
        quiet
    }

    /// Asks it to end, and ends it with everything it started.
    pub(crate) async fn stop(mut self) {
        let (id, content) = (new_id(), json!({ "restart": false }));
        let asked = self.signer.send(&mut self.control, "shutdown_request", &id, &content);
        let farewell = async {
            let _gone = asked.await;
            self.process.wait().await;
        };
        let _unwilling = timeout(FAREWELL, farewell).await;
        self.kill().await;
    }

    /// Ends it with everything it started.
    pub(crate) async fn kill(self) {
        self.process.child().kill_all().await;
    }
}

/// What became of code of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Quiet {
    Done,
    Failed(String),
    Stuck,
    Died(Exit),
}

fn execute_request(code: &str, silent: bool) -> Value {
    json!({
        "code": code,
        "silent": silent,
        "store_history": !silent,
        "user_expressions": {},
        "allow_stdin": false,
        // The kernel would refuse what we send right after an error.
        "stop_on_error": false,
    })
}

/// Waits until the kernel is done with interrupted code. An interrupt at the wrong moment costs the answer: being idle
/// has to do then.
async fn settled(progress: &Progress) {
    progress.idle().await;
    let _unanswered = timeout(LAST_WORDS, progress.done()).await;
}

/// The ways to tell a kernel something.
struct Channels<'a> {
    signer: &'a Signer,
    shell: &'a mut FrameWriter,
    control: &'a mut FrameWriter,
}

/// Interrupts running code, once more if it does not end, and returns when it has had its time.
async fn interrupt(
    spec: &KernelSpec,
    process: &Piped,
    channels: Channels<'_>,
    progress: &Progress,
) {
    let Channels { signer, shell, control } = channels;
    // Before the code runs the kernel would take no notice.
    let _never_started = timeout(GRACE / 2, progress.started()).await;
    for _ in 0..2 {
        let (id, nothing) = (new_id(), json!({}));
        let interrupting = async {
            match spec.interrupt {
                Interrupt::Signal => process.child().signal_group(SIGINT).await,
                Interrupt::Message => {
                    let _gone = signer.send(control, "interrupt_request", &id, &nothing).await;
                }
            }
            // A Python kernel that awaits something notices only when something else happens.
            let _gone = signer.send(shell, "kernel_info_request", &id, &nothing).await;
            std::future::pending::<()>().await;
        };
        let _over = timeout(GRACE / 2, interrupting).await;
    }
}
