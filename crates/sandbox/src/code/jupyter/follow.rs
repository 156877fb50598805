//! The operation that runs code as a stream of events: each output as it comes, then the whole answer.

use atoll_api::jupyter::ExecuteJupyter;
use atoll_operation::{Context, Error, Event, Stream, Streaming};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::execute::request;
use super::outputs;
use super::run::{Answer, Running};
use super::service::Jupyters;

/// Events that wait for a slow reader; what code puts out waits in its own queue, which is bounded.
const WAITING: usize = 4;

impl Streaming<ExecuteJupyter> for Jupyters {
    async fn stream(&self, _cx: &Context, input: ExecuteJupyter) -> Result<Stream, Error> {
        let running = self.run(request(input, true)).await?;
        Ok(self.events(
            running,
            |output| output,
            |Answer { execution, hint }| {
                let mut data = json!(execution);
                data["hint"] = json!(hint);
                data
            },
        ))
    }
}

impl Jupyters {
    /// Code that runs as events: `output` for each, `completed` with the answer, or `error`.
    pub(crate) fn events(
        &self,
        running: Running,
        each: impl Fn(Value) -> Value + Send + 'static,
        whole: impl FnOnce(Answer) -> Value + Send + 'static,
    ) -> Stream {
        let (events, receiver) = mpsc::channel(WAITING);
        self.programs.tasks().spawn(async move {
            let reader = events.clone();
            // What follows is dropped with the reader, which interrupts the code.
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
    running: Running,
    events: mpsc::Sender<Event>,
    each: impl Fn(Value) -> Value,
    whole: impl FnOnce(Answer) -> Value,
) -> Option<()> {
    loop {
        let happened = running.execution.events().await;
        if happened.is_empty() {
            break;
        }
        for event in happened {
            let data = each(outputs::event(event));
            events.send(Event { name: "output", id: None, data }).await.ok()?;
        }
    }
    let event = match running.finish().await {
        Ok(answer) => Event { name: "completed", id: None, data: whole(answer) },
        Err(error) => {
            let data = json!({ "message": error.message(), "error_code": error.code() });
            Event { name: "error", id: None, data }
        }
    };
    events.send(event).await.ok()
}
