//! A session's process: it runs one piece of code after another and keeps their state.
//!
//! A task serves it. Output that comes while nothing runs is kept, bounded like any other, and goes to the execution that
//! follows. Code whose time is up is asked to stop, which it can when it only waits; then interrupted, which breaks off a
//! loop; then killed with everything it started, which loses the session's state.

use std::path::{Path, PathBuf};
use std::time::Duration;

use atoll_process::{Child, Exit, Piped};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::NodeError;
use crate::execution::{Finish, Status};
use crate::installation::Installation;
use crate::message::{DoneStatus, Message, Order, Settings, line};
use crate::node::{Connected, Node};
use crate::output::Outputs;
use crate::traffic::Traffic;

/// How long a process may take to come up on a machine that is busy.
const START: Duration = Duration::from_mins(1);
/// How long code may take to stop when it is asked to.
const ASKED: Duration = Duration::from_millis(250);
/// How long it may take when it is interrupted.
const INTERRUPTED: Duration = Duration::from_secs(5);
/// How long a signal may be on its way.
const PASSING: Duration = Duration::from_millis(50);
const SIGINT: i32 = 2;
const KILLED: Exit = Exit::Signal(9);

/// Code for a session.
#[derive(Debug, Clone)]
pub struct Code {
    /// The code.
    pub text: String,
    /// Whether it has types to be removed.
    pub typescript: bool,
    /// What it reads; nothing when `None`.
    pub stdin: Option<String>,
    /// Directory the session enters first; it stays where it is when `None`.
    pub directory: Option<PathBuf>,
    /// When its time is up.
    pub deadline: Instant,
    /// Cancelled when nobody wants it any more.
    pub unwanted: CancellationToken,
}

/// A session's process. Dropping it ends it.
#[derive(Debug)]
pub struct Worker {
    jobs: mpsc::Sender<Job>,
    child: Child,
}

/// Code that runs in a session.
#[derive(Debug)]
pub struct Running {
    /// What it says.
    pub outputs: Outputs,
    finish: oneshot::Receiver<Finish>,
}

impl Running {
    /// Waits until it is over.
    pub async fn finish(self) -> Result<Finish, NodeError> {
        self.finish.await.map_err(|_| NodeError::Gone)
    }
}

#[derive(Debug)]
struct Job {
    code: Code,
    started: oneshot::Sender<Running>,
}

impl Node {
    /// Starts a session's process in a directory.
    pub async fn session(
        &self,
        installation: &Installation,
        directory: &Path,
        roots: &[PathBuf],
    ) -> Result<Worker, NodeError> {
        let place = self.place()?;
        let program = &installation.program;
        let mut connected = self.start(program, "worker.js", directory, &place, 1).await?;
        // Its input is at its end from the start.
        let _ended = connected.piped.stdin().close();
        let roots: Vec<_> = roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
        let limit = self.settings().output_bytes;
        let settings = Settings { secret: &connected.secret, roots: &roots, limit, program: None };
        connected.traffic.send(&line(&settings));
        ready(&mut connected, program).await?;
        Traffic::hide(place.path());
        let Connected { piped, traffic, .. } = connected;
        let child = piped.child().clone();
        let (jobs, queue) = mpsc::channel(1);
        let service = Service { piped, traffic, queue, latest: 0 };
        self.settings().tasks.spawn(service.serve());
        Ok(Worker { jobs, child })
    }
}

/// Waits until the process can take code.
async fn ready(connected: &mut Connected, program: &Path) -> Result<(), NodeError> {
    let Connected { piped, traffic, .. } = connected;
    let waited = tokio::time::timeout(START, async {
        tokio::select! {
            exit = piped.wait() => Err(format!("it ended with code {}", exit.shell_code())),
            message = traffic.next() => match message {
                Some(_) => Ok(()),
                // It hung up, so it has ended or will.
                None => Err(format!("it ended with code {}", piped.wait().await.shell_code())),
            },
        }
    });
    let Err(mut reason) =
        waited.await.unwrap_or_else(|_| Err("it gave no sign of life".to_owned()))
    else {
        return Ok(());
    };
    traffic.drain_all();
    for output in traffic.recording().outputs().take() {
        if let crate::Output::Text { text, .. } = output {
            reason = format!("{reason}: {}", text.trim());
        }
    }
    let complaint = piped.stderr().read_text(0, 1000).text;
    if !complaint.is_empty() {
        reason = format!("{reason}: {}", complaint.trim());
    }
    Err(NodeError::NotReady { program: program.to_owned(), reason })
}

impl Worker {
    /// Runs code, after what was given before.
    pub async fn execute(&self, code: Code) -> Result<Running, NodeError> {
        let (started, running) = oneshot::channel();
        self.jobs.send(Job { code, started }).await.map_err(|_| NodeError::Gone)?;
        running.await.map_err(|_| NodeError::Gone)
    }

    /// Whether it takes code.
    pub fn is_alive(&self) -> bool {
        !self.jobs.is_closed()
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.child.pid()
    }

    /// Ends it with everything it started, and waits until nothing is left.
    pub async fn close(&self) {
        self.child.kill_all().await;
    }
}

/// Serves one process until it ends or nobody has use for it.
struct Service {
    piped: Piped,
    traffic: Traffic,
    queue: mpsc::Receiver<Job>,
    latest: u64,
}

impl Service {
    async fn serve(mut self) {
        loop {
            let job = tokio::select! {
                job = self.queue.recv() => job,
                // It ended while it had nothing to do, or can never tell that it has done something.
                _ = self.piped.wait() => break,
                () = silence(&mut self.traffic) => break,
            };
            let Some(job) = job else { break };
            let (finish, finished) = oneshot::channel();
            let outputs = self.traffic.recording().outputs().clone();
            // Whoever asked may be gone already; then the code is unwanted too.
            let _gone = job.started.send(Running { outputs, finish: finished });
            let how = self.run(&job.code).await;
            let ended = how.exit.is_some();
            if ended {
                // Nobody shall give it more code from now on, and nothing it started shall outlive it.
                self.queue.close();
                self.piped.child().kill_all().await;
                self.traffic.drain_all();
            }
            self.traffic.finish_recording();
            let _gone = finish.send(how);
            if ended {
                break;
            }
        }
        self.queue.close();
        self.piped.child().kill_all().await;
    }

    async fn run(&mut self, code: &Code) -> Finish {
        self.latest += 1;
        let id = self.latest;
        let directory = code.directory.as_ref().map(|directory| directory.to_string_lossy());
        let order = Order::Execute {
            id,
            code: &code.text,
            typescript: code.typescript,
            stdin: code.stdin.as_deref(),
            directory: directory.as_deref(),
        };
        self.traffic.send(&line(&order));
        let mut stage = Stage::Wanted;
        let mut next = code.deadline;
        let mut reason = None;
        loop {
            tokio::select! {
                message = self.traffic.next() => match message {
                    Some(Message::Done { id: done, status, cwd }) if done == id => {
                        self.let_signals_pass(stage).await;
                        let status = reason.unwrap_or(match status {
                            DoneStatus::Ok => Status::Ok,
                            DoneStatus::Error => Status::Error,
                            DoneStatus::Interrupted => Status::Interrupted,
                        });
                        return Finish::done(status, cwd.map(PathBuf::from));
                    }
                    Some(_) => {}
                    // It closed its way to us: if it does not end by itself, it must.
                    None => {
                        let exit = tokio::time::timeout(INTERRUPTED, self.piped.wait()).await;
                        return Finish::ended(exit.unwrap_or(KILLED), reason);
                    }
                },
                exit = self.piped.wait() => return Finish::ended(exit, reason),
                () = tokio::time::sleep_until(next) => {
                    reason.get_or_insert(Status::TimedOut);
                    let Some(stopping) = self.stop(stage, id).await else {
                        return Finish::ended(KILLED, reason);
                    };
                    (stage, next) = (stopping.0, Instant::now() + stopping.1);
                }
                () = code.unwanted.cancelled(), if reason.is_none() => {
                    reason = Some(Status::Interrupted);
                    next = Instant::now();
                }
            }
        }
    }

    /// Takes the next step to stop what runs, and says how long it may take; `None` when only killing is left.
    async fn stop(&mut self, stage: Stage, id: u64) -> Option<(Stage, Duration)> {
        match stage {
            Stage::Wanted => {
                self.traffic.send(&line(&Order::Interrupt { id }));
                Some((Stage::Asked, ASKED))
            }
            Stage::Asked => {
                self.piped.child().signal_group(SIGINT).await;
                Some((Stage::Signalled, INTERRUPTED))
            }
            Stage::Signalled => None,
        }
    }

    /// A signal may arrive when what it was for is over; it shall not hit what comes next.
    async fn let_signals_pass(&mut self, stage: Stage) {
        if stage == Stage::Signalled {
            // One that hung up meanwhile is noticed by whoever looks next.
            let _mute = tokio::time::timeout(PASSING, silence(&mut self.traffic)).await;
        }
    }
}

/// How far stopping code has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Wanted,
    Asked,
    Signalled,
}

/// Serves the pipes until the process can send no more messages; those it sends are about nothing that matters.
async fn silence(traffic: &mut Traffic) {
    while traffic.next().await.is_some() {}
}
