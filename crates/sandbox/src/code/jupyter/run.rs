//! Running code: what an operation of any face asks for, and what becomes of it.

use std::sync::Arc;
use std::time::Duration;

use atoll_api::jupyter::JupyterExecution;
use atoll_kernel::Execution;
use atoll_operation::Error;

use super::error::{failure, stopping};
use super::outputs::{self, hint};
use super::service::{Asked, Jupyters};
use super::session::Session;
use crate::session::Entry;

/// Code to run.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) code: String,
    pub(crate) timeout: Duration,
    pub(crate) kernel_name: Option<String>,
    pub(crate) session_id: Option<String>,
    pub(crate) cwd: Option<String>,
    /// Whether its outputs are followed as they come.
    pub(crate) followed: bool,
    /// Whether a session made up for it is kept.
    pub(crate) keep_session: bool,
}

/// Code that runs. Dropping it interrupts the code.
#[derive(Debug)]
pub(crate) struct Running {
    pub(super) execution: Execution,
    entry: Arc<Entry<Session>>,
    jupyters: Jupyters,
    code: String,
    timeout: Duration,
    _one_off: Option<OneOff>,
}

/// What became of code, with advice for the agent.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) execution: JupyterExecution,
    pub(crate) hint: Option<String>,
}

/// Closes a session made up for one execution.
#[derive(Debug)]
struct OneOff(Jupyters, Arc<Entry<Session>>);

impl Drop for OneOff {
    fn drop(&mut self) {
        self.0.discard(&self.1, "was made up for one execution and closed after it");
    }
}

impl Jupyters {
    /// Starts code when its turn in its session has come.
    pub(crate) async fn run(&self, request: Request) -> Result<Running, Error> {
        let directory = Self::directory(request.cwd.as_ref())?;
        let (id, kernel) = (request.session_id.as_ref(), request.kernel_name.as_ref());
        let Asked { entry, hold, is_new } =
            self.find_or_make(id, kernel, directory.as_deref()).await?;
        let made_up = id.is_none_or(String::is_empty);
        let one_off =
            (made_up && !request.keep_session).then(|| OneOff(self.clone(), Arc::clone(&entry)));
        let code = atoll_kernel::Request {
            code: request.code.clone(),
            timeout: request.timeout,
            directory,
            followed: request.followed,
        };
        let started = entry.session.0.execute(code).await;
        drop(hold);
        match started {
            Ok(execution) => Ok(Running {
                execution,
                entry,
                jupyters: self.clone(),
                code: request.code,
                timeout: request.timeout,
                _one_off: one_off,
            }),
            Err(error) => {
                if is_new && !entry.session.0.busy() {
                    self.discard(&entry, "had a kernel that could not be started");
                }
                Err(failure(&entry.id, error))
            }
        }
    }
}

impl Running {
    /// Waits for its end.
    pub(crate) async fn finish(self) -> Result<Answer, Error> {
        let Self { execution, entry, jupyters, code, timeout, _one_off } = self;
        let msg_id = execution.id().to_owned();
        let finished = tokio::select! {
            biased;
            finished = execution.finish() => finished,
            () = jupyters.programs.foundation().stop.cancelled() => return Err(stopping()),
        };
        entry.touch();
        let memory = jupyters.programs.foundation().limits.session_memory_bytes;
        let hint = hint(&finished, timeout, memory);
        let execution = JupyterExecution {
            kernel_name: entry.session.kernel_name().to_owned(),
            session_id: Some(entry.id.clone()),
            status: outputs::status(finished.status),
            execution_count: finished.execution_count,
            outputs: outputs::outputs(finished.outputs),
            code,
            msg_id: Some(msg_id),
        };
        Ok(Answer { execution, hint })
    }
}
