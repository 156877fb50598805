//! The operation that runs code as a stream of events: each output as it comes, then the whole answer.

use atoll_api::nodejs::ExecuteNode;
use atoll_operation::{Context, Error, Event, Stream, Streaming};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::execute::request;
use super::outputs::{execution, output};
use super::run::{Execution, Report};
use super::service::Nodes;

/// Events that wait for a slow reader; what code says waits in its own queue, which is bounded.
const WAITING: usize = 4;

impl Streaming<ExecuteNode> for Nodes {
    async fn stream(&self, _cx: &Context, input: ExecuteNode) -> Result<Stream, Error> {
        let code = input.code.clone();
        let running = self.run(request(input)?).await?;
        Ok(self.events(
            running,
            |output| json!(output),
            move |said, mut report| {
                let hint = report.hint.take();
                let mut data = json!(execution(code, said, report));
                data["hint"] = json!(hint);
                data
            },
        ))
    }
}

impl Nodes {
    /// Code that runs as events: `output` for each, `completed` with the answer, or `error`.
    pub(crate) fn events(
        &self,
        running: Execution,
        each: impl Fn(atoll_api::nodejs::NodeOutput) -> Value + Send + 'static,
        whole: impl FnOnce(Vec<atoll_node::Output>, Report) -> Value + Send + 'static,
    ) -> Stream {
        let (events, receiver) = mpsc::channel(WAITING);
        self.programs.tasks().spawn(async move {
            // Dropped with the reader, which stops the code.
            let reader = events.clone();
            tokio::select! {
                _done = follow(running, events, each, whole) => {}
                () = reader.closed() => {}
            }
        });
        futures::stream::unfold(receiver, async |mut receiver| {
            Some((receiver.recv().await?, receiver))
        })
        .boxed()
    }
}

async fn follow(
    running: Execution,
    events: mpsc::Sender<Event>,
    each: impl Fn(atoll_api::nodejs::NodeOutput) -> Value,
    whole: impl FnOnce(Vec<atoll_node::Output>, Report) -> Value,
) -> Option<()> {
    let mut said = Vec::new();
    while let Some(next) = running.outputs.next().await {
        said.push(next.clone());
        let data = each(output(next));
        events.send(Event { name: "output", id: None, data }).await.ok()?;
    }
    let event = match running.ended().await {
        Ok(report) => Event { name: "completed", id: None, data: whole(said, report) },
        Err(error) => {
            let data = json!({ "message": error.message(), "error_code": error.code() });
            Event { name: "error", id: None, data }
        }
    };
    events.send(event).await.ok()
}
