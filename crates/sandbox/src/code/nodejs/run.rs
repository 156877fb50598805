//! Running code, with or without a session, whoever asks for it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use atoll_node::{
    Code, Finish, Installation, NodeError, Outputs, Script, Status, Worker, is_confined,
    write_files,
};
use atoll_operation::{Error, Kind};
use atoll_process::Exit;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::failure;
use super::service::{Asked, Nodes};
use super::session::Session;
use crate::programs::MEMORY_CURE;
use crate::session::Entry;

/// Times a process is started anew for code when the one before ended by itself in the meantime.
const ATTEMPTS: usize = 3;

/// Code to run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) code: String,
    pub(crate) typescript: bool,
    pub(crate) timeout: Duration,
    pub(crate) stdin: Option<String>,
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) stateful: bool,
    pub(crate) session_id: Option<String>,
    pub(crate) version: Option<String>,
}

/// How code ended.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) status: Status,
    pub(crate) exit_code: i32,
    /// The signal that ended its process, unless we sent it.
    pub(crate) signal: Option<i32>,
    pub(crate) session_id: Option<String>,
    pub(crate) execution_count: Option<u64>,
    pub(crate) hint: Option<String>,
}

/// Code that runs. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Execution {
    /// What it says; nothing more once it has ended.
    pub(crate) outputs: Outputs,
    ended: oneshot::Receiver<Result<Report, Error>>,
    _unwanted: DropGuard,
}

impl Execution {
    /// Waits until it has ended.
    pub(crate) async fn ended(self) -> Result<Report, Error> {
        let Self { ended, .. } = self;
        match ended.await {
            Ok(report) => report,
            Err(_) => Err(stopping()),
        }
    }
}

/// Tells the caller what code says, once it runs.
type Started = oneshot::Sender<Outputs>;

impl Nodes {
    /// Starts code. Errors before it runs are told at once.
    pub(crate) async fn run(&self, request: Request) -> Result<Execution, Error> {
        if let Some(name) = request.files.keys().find(|name| !is_confined(name)) {
            let message = format!(
                "{name:?} does not stay in the directory the code runs in: use a relative path without .."
            );
            return Err(Error::field("files", "path", message));
        }
        let deadline = Instant::now() + request.timeout;
        let unwanted = self.programs.foundation().stop.child_token();
        let guard = unwanted.clone().drop_guard();
        let (started, outputs) = oneshot::channel();
        let (ending, mut ended) = oneshot::channel();
        let nodes = self.clone();
        if request.stateful || request.session_id.is_some() {
            let directory = request.directory.as_deref();
            let (id, version) = (request.session_id.as_ref(), request.version.as_ref());
            let asked = self.find_or_make(id, version, directory, super::manage::MAX_IDLE).await?;
            self.programs.tasks().spawn(async move {
                let report = nodes.in_session(asked, request, deadline, unwanted, started).await;
                let _caller_gone = ending.send(report);
            });
        } else {
            let installation = self.installation(request.version.as_ref()).await?;
            self.programs.tasks().spawn(async move {
                let report = nodes.once(&installation, request, deadline, unwanted, started).await;
                let _caller_gone = ending.send(report);
            });
        }
        tokio::select! {
            biased;
            Ok(outputs) = outputs => Ok(Execution { outputs, ended, _unwanted: guard }),
            report = &mut ended => match report {
                // It never ran, and that is its result.
                Ok(Ok(report)) => {
                    let (ending, ended) = oneshot::channel();
                    let _just_made = ending.send(Ok(report));
                    let outputs = Outputs::closed();
                    Ok(Execution { outputs, ended, _unwanted: guard })
                }
                Ok(Err(error)) => Err(error),
                Err(_) => Err(stopping()),
            },
        }
    }

    /// Runs a program once.
    async fn once(
        &self,
        installation: &Installation,
        request: Request,
        deadline: Instant,
        unwanted: CancellationToken,
        started: Started,
    ) -> Result<Report, Error> {
        let seconds = request.timeout.as_secs();
        let place = tokio::select! {
            place = self.place_for_a_run() => place,
            () = tokio::time::sleep_until(deadline) => {
                let hint = format!("as many programs as may run at once were running for all of the {seconds} s; this one did not run");
                return Ok(Report::unstarted(None, hint));
            }
            () = unwanted.cancelled() => return Err(stopping()),
        };
        let script = Script {
            code: request.code,
            typescript: request.typescript,
            stdin: request.stdin.unwrap_or_default(),
            files: request.files,
            directory: request.directory,
            roots: self.package_roots(&installation.program),
            timeout: deadline.saturating_duration_since(Instant::now()),
        };
        let mut running = self.node()?.run(installation, &script).await.map_err(failure)?;
        let _caller_gone = started.send(running.outputs());
        let finish = running.finish(unwanted).await;
        drop(place);
        let hint = match finish.status {
            Status::TimedOut => Some(format!(
                "the program was killed after {seconds} s; a longer timeout can be asked for, up to 300 s"
            )),
            Status::Interrupted => Some(STOPPED.to_owned()),
            Status::Ok | Status::Error => starved(finish.exit),
        };
        Ok(Report::of(&finish, hint))
    }

    /// Runs code in a session when it is its turn.
    async fn in_session(
        &self,
        asked: Asked,
        request: Request,
        deadline: Instant,
        unwanted: CancellationToken,
        started: Started,
    ) -> Result<Report, Error> {
        let Asked { entry, pending: _pending, is_new } = asked;
        let session = Arc::clone(&entry.session);
        let seconds = request.timeout.as_secs();
        let turn = tokio::select! {
            turn = session.turn.lock() => turn,
            () = tokio::time::sleep_until(deadline) => {
                let hint = format!("the session ran other code for all of the {seconds} s; this code did not run");
                return Ok(Report::unstarted(Some(&entry), hint));
            }
            () = unwanted.cancelled() => return Err(stopping()),
        };
        if let Some(directory) = request.directory.as_deref().filter(|_| !is_new) {
            session.enter(directory);
        }
        write_files(&session.directory(), &request.files).map_err(failure)?;
        let count = session.next_number();
        let mut started = Some(started);
        for _ in 0..ATTEMPTS {
            let worker = self.worker(&entry, &unwanted).await?;
            let directory = session.begin();
            let code = Code {
                text: request.code.clone(),
                typescript: request.typescript,
                stdin: request.stdin.clone(),
                directory,
                deadline,
                unwanted: unwanted.clone(),
            };
            let finish = match worker.execute(code).await {
                Ok(running) => {
                    let outputs = running.outputs.clone();
                    let _caller_gone = started.take().map(|started| started.send(outputs));
                    running.finish().await
                }
                Err(error) => Err(error),
            };
            entry.touch();
            session.end(finish.as_ref().ok().and_then(|finish| finish.directory.clone()));
            match finish {
                // It ended before it took the code; nothing of it ran.
                Err(NodeError::Gone) if started.is_some() => {}
                Err(error) => return Err(failure(error)),
                Ok(finish) => {
                    drop(turn);
                    let hint = hint(&finish, seconds, session.is_closed());
                    let mut report = Report::of(&finish, hint);
                    report.session_id = Some(entry.id.clone());
                    report.execution_count = Some(count);
                    return Ok(report);
                }
            }
        }
        Err(failure(NodeError::Gone))
    }

    /// The session's process, started if need be. Its caller holds the turn.
    pub(super) async fn worker(
        &self,
        entry: &Entry<Session>,
        unwanted: &CancellationToken,
    ) -> Result<Arc<Worker>, Error> {
        let session = &entry.session;
        if let Some(worker) = session.worker() {
            return Ok(worker);
        }
        if session.is_closed() {
            return Err(closed(&entry.id));
        }
        let installation = session.installation();
        let roots = self.package_roots(&installation.program);
        let (node, directory) = (self.node()?, session.directory());
        let starting = node.session(installation, &directory, &roots);
        let worker = match unwanted.run_until_cancelled(starting).await {
            Some(worker) => Arc::new(worker.map_err(failure)?),
            None => return Err(stopping()),
        };
        if session.keep(&worker) {
            return Ok(worker);
        }
        worker.close().await;
        Err(closed(&entry.id))
    }
}

impl Report {
    fn of(finish: &Finish, hint: Option<String>) -> Self {
        let by_itself = matches!(finish.status, Status::Ok | Status::Error);
        let signal = finish.exit_code.checked_sub(128).filter(|signal| *signal > 0);
        Self {
            status: finish.status,
            exit_code: finish.exit_code,
            signal: signal.filter(|_| by_itself && is_signal(finish)),
            session_id: None,
            execution_count: None,
            hint,
        }
    }

    /// Its time was up before it ran.
    fn unstarted(entry: Option<&Entry<Session>>, hint: String) -> Self {
        Self {
            status: Status::TimedOut,
            exit_code: 124,
            signal: None,
            session_id: entry.map(|entry| entry.id.clone()),
            execution_count: None,
            hint: Some(hint),
        }
    }
}

fn is_signal(finish: &Finish) -> bool {
    !matches!(finish.exit, None | Some(Exit::Code(_)))
}

/// What the caller should know of a program that was killed because memory ran out.
fn starved(exit: Option<Exit>) -> Option<String> {
    let exit = exit.filter(|exit| matches!(exit, Exit::OutOfMemory { .. }))?;
    Some(format!("the program {exit}; {MEMORY_CURE}"))
}

const STOPPED: &str = "the code was stopped because its caller left or the server stops";

/// What the caller should know of how code in a session ended.
fn hint(finish: &Finish, seconds: u64, closed: bool) -> Option<String> {
    const FRESH: &str = "its variables are gone, and the next execution begins in a fresh process";
    match (finish.status, finish.exit) {
        _ if closed => Some("the session was closed while the code ran".to_owned()),
        (Status::TimedOut, None) => Some(format!(
            "the code was interrupted after {seconds} s; the session goes on with its variables"
        )),
        (Status::TimedOut, Some(_)) => Some(format!(
            "the code could not be interrupted after {seconds} s, so the session's process was killed: {FRESH}"
        )),
        (Status::Interrupted, _) => Some(STOPPED.to_owned()),
        (_, Some(exit @ Exit::OutOfMemory { .. })) => {
            Some(format!("the session's process {exit}: {FRESH}; {MEMORY_CURE}"))
        }
        (_, Some(_)) => Some(format!(
            "the code ended the session's process with code {}: {FRESH}",
            finish.exit_code
        )),
        (_, None) => None,
    }
}

fn closed(id: &str) -> Error {
    let message = format!("Session {id} was closed before the code ran");
    Error::new(Kind::NotFound, "nodejs.session_not_found", message)
}

fn stopping() -> Error {
    Error::new(Kind::Cancelled, "nodejs.stopped", STOPPED)
}
