//! The operation that runs code and answers once.

use std::time::Duration;

use atoll_api::nodejs::{ExecuteNode, NodeExecution};
use atoll_operation::{Context, Error, Handle};

use super::outputs::execution;
use super::run::Request;
use super::service::Nodes;

const DEFAULT_SECONDS: u64 = 30;

impl Handle<ExecuteNode> for Nodes {
    async fn handle(&self, cx: &Context, input: ExecuteNode) -> Result<NodeExecution, Error> {
        let code = input.code.clone();
        let running = self.run(request(input)?).await?;
        let outputs = running.outputs.clone();
        let mut report = running.ended().await?;
        if let Some(hint) = report.hint.take() {
            cx.hint(hint);
        }
        Ok(execution(code, outputs.take(), report))
    }
}

/// What an input asks for.
pub(super) fn request(input: ExecuteNode) -> Result<Request, Error> {
    Ok(Request {
        directory: Nodes::directory(input.cwd.as_ref())?,
        code: input.code,
        typescript: false,
        timeout: Duration::from_secs(input.timeout.unwrap_or(DEFAULT_SECONDS)),
        stdin: input.stdin,
        files: input.files.unwrap_or_default(),
        stateful: input.stateful.unwrap_or(false),
        session_id: input.session_id.filter(|id| !id.is_empty()),
        version: input.version,
    })
}
