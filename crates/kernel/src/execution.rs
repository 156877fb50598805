//! One execution in a session: followed, waited for, interrupted when nobody waits any more.

use std::sync::Arc;

use tokio::sync::{OwnedMutexGuard, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::epitaph::describe;
use crate::kernel::{Outcome, Why};
use crate::output::{Event, Output};
use crate::progress::Progress;
use crate::session::{Hold, Loss, Note, Request, Slot, Source};

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// By itself, without an exception.
    Ok,
    /// With an exception, or with its kernel.
    Error,
    /// It was interrupted because its time was over.
    TimedOut,
}

/// What an execution came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// How it ended.
    pub status: Status,
    /// Its number in its kernel, if the kernel gave it one.
    pub execution_count: Option<u64>,
    /// What it put out.
    pub outputs: Vec<Output>,
    /// What its caller should know.
    pub notes: Vec<Note>,
}

/// Running code. Dropping it interrupts the code.
#[derive(Debug)]
pub struct Execution {
    progress: Arc<Progress>,
    finished: watch::Receiver<Option<Finished>>,
    _abandon: DropGuard,
}

impl Execution {
    /// Runs code with the kernel in the slot, which is given back when it has ended.
    pub(crate) fn start(
        mut slot: OwnedMutexGuard<Slot>,
        request: Request,
        notes: Vec<Note>,
        hold: Hold,
        source: Source,
    ) -> Self {
        let settings = source.host.settings();
        let progress = Arc::new(Progress::new(settings.limits, request.followed));
        let abandoned = CancellationToken::new();
        let (sender, finished) = watch::channel(None);
        let execution = Self {
            progress: Arc::clone(&progress),
            finished,
            _abandon: abandoned.clone().drop_guard(),
        };
        let tasks = settings.tasks.clone();
        tasks.spawn(async move {
            let finished = run(&mut slot, &request, &progress, notes, &abandoned, &source).await;
            // Given back first: who hears of the end may go on at once.
            drop((slot, hold));
            sender.send_replace(Some(finished));
        });
        execution
    }

    /// Its id in the kernel's messages.
    pub fn id(&self) -> &str {
        self.progress.id()
    }

    /// What happened since this was asked last; waits for something. Empty when nothing more will happen. Only for
    /// executions that are followed.
    pub async fn events(&self) -> Vec<Event> {
        let mut finished = self.finished.clone();
        let over = async move {
            let _task_gone = finished.wait_for(Option::is_some).await.map(|_| ());
        };
        self.progress.events(over).await
    }

    /// Waits for its end.
    pub async fn finish(self) -> Finished {
        let mut finished = self.finished.clone();
        let finished = match finished.wait_for(Option::is_some).await {
            Ok(finished) => finished.clone(),
            Err(_) => None,
        };
        finished.unwrap_or_else(|| lost(&self.progress))
    }
}

/// The runtime is shutting down, and the task that ran it is gone.
fn lost(progress: &Progress) -> Finished {
    progress.fail(DEAD.to_owned(), "the server stopped while this ran".to_owned(), Vec::new());
    let result = progress.take();
    Finished {
        status: Status::Error,
        execution_count: result.execution_count,
        outputs: result.outputs,
        notes: Vec::new(),
    }
}

/// Name of the error that stands for a kernel's death.
const DEAD: &str = "DeadKernelError";
/// The exception a kernel raises when code asks for input.
const NO_INPUT: &str = "StdinNotImplementedError";

async fn run(
    slot: &mut Slot,
    request: &Request,
    progress: &Arc<Progress>,
    mut notes: Vec<Note>,
    abandoned: &CancellationToken,
    source: &Source,
) -> Finished {
    let Request { code, timeout, .. } = request;
    let mut retried = false;
    let (outcome, log_start) = loop {
        let Some(kernel) = &mut slot.kernel else { return lost(progress) };
        let late = kernel.take_late();
        if late > 0 {
            notes.push(Note::LateOutput(late));
        }
        let log_start = kernel.log_length();
        let outcome = kernel.execute(code, progress, *timeout, abandoned, &source.closed).await;
        let Outcome::Untold(exit) = outcome else { break (outcome, log_start) };
        if retried {
            break (Outcome::Died(exit), log_start);
        }
        // It ended unnoticed since it was used last. Nothing of the code has run, so that a fresh one may run it.
        retried = true;
        slot.kernel = None;
        if let Err(error) = slot.revive(source).await {
            progress.fail(DEAD.to_owned(), error.to_string(), Vec::new());
            slot.lost = Some(Loss::Ended(exit));
            break (Outcome::Untold(exit), 0);
        }
        notes.push(Note::FreshKernel(Loss::Ended(exit)));
    };
    match outcome {
        Outcome::Done | Outcome::Interrupted(_) | Outcome::Untold(_) => {}
        Outcome::Stuck(why) => {
            if let Some(kernel) = slot.kernel.take() {
                kernel.kill().await;
            }
            slot.lost = Some(Loss::Killed);
            if why == Why::Closed {
                let value = "the session was deleted while this ran".to_owned();
                progress.fail(DEAD.to_owned(), value, Vec::new());
            } else {
                notes.push(Note::KernelKilled);
            }
        }
        Outcome::Died(exit) => {
            let value = format!("the kernel {}", describe(exit));
            let log = slot.kernel.as_ref().map(|kernel| kernel.log_tail(log_start));
            let mut traceback = vec![format!("{DEAD}: {value}")];
            traceback.extend(log.iter().flat_map(|log| log.lines()).map(str::to_owned));
            progress.fail(DEAD.to_owned(), value, traceback);
            if let Some(kernel) = slot.kernel.take() {
                kernel.kill().await;
            }
            slot.lost = Some(Loss::Ended(exit));
        }
    }
    let result = progress.take();
    if result.left_out > 0 {
        notes.push(Note::Cut(result.left_out));
    }
    let asked_for_input =
        |output: &Output| matches!(output, Output::Error { name, .. } if name == NO_INPUT);
    if result.outputs.iter().any(asked_for_input) {
        notes.push(Note::NoInput);
    }
    let status = match (outcome, result.reply) {
        (Outcome::Done, Some(reply)) if reply.status == "ok" => Status::Ok,
        (Outcome::Interrupted(Why::TimedOut) | Outcome::Stuck(Why::TimedOut), _) => {
            Status::TimedOut
        }
        _ => Status::Error,
    };
    Finished { status, execution_count: result.execution_count, outputs: result.outputs, notes }
}
