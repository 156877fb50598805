//! The operation that runs code and answers once.

use std::time::Duration;

use atoll_api::jupyter::{ExecuteJupyter, JupyterExecution};
use atoll_operation::{Context, Error, Handle};

use super::run::{Answer, Request};
use super::service::Jupyters;

const DEFAULT_SECONDS: u64 = 30;

impl Handle<ExecuteJupyter> for Jupyters {
    async fn handle(&self, cx: &Context, input: ExecuteJupyter) -> Result<JupyterExecution, Error> {
        let running = self.run(request(input, false)).await?;
        let Answer { execution, hint } = running.finish().await?;
        if let Some(hint) = hint {
            cx.hint(hint);
        }
        Ok(execution)
    }
}

/// What an input asks for.
pub(super) fn request(input: ExecuteJupyter, followed: bool) -> Request {
    Request {
        code: input.code,
        timeout: Duration::from_secs(input.timeout.unwrap_or(DEFAULT_SECONDS)),
        kernel_name: input.kernel_name,
        session_id: input.session_id,
        cwd: input.cwd,
        followed,
        keep_session: true,
    }
}
