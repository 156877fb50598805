//! The operation that runs code, in both its forms.

use std::time::Duration;

use atoll_api::code::{CodeExecution, ExecuteCode};
use atoll_operation::{Context, Error, Event, Handle, Stream, Streaming};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer::{answer, of_kernel, of_node};
use super::interpreter::{Interpreter, Program};
use super::service::{Codes, Runtime};
use crate::code::jupyter::{Answer, Request as KernelRequest};
use crate::code::nodejs::{Nodes, Request as NodeRequest, execution, output};
use crate::programs::starvation;

const DEFAULT_SECONDS: u64 = 30;

impl Handle<ExecuteCode> for Codes {
    async fn handle(&self, cx: &Context, input: ExecuteCode) -> Result<CodeExecution, Error> {
        let stateful = is_stateful(&input);
        let (language, runtime) = self.runtime(&input.language, stateful).await?;
        match runtime {
            Runtime::Kernel(kernel) => {
                let running = self.jupyters.run(for_kernel(input, kernel, false)).await?;
                let Answer { execution, hint } = running.finish().await?;
                tell(cx, hint);
                Ok(of_kernel(language, stateful, execution))
            }
            Runtime::Node { typescript } => {
                let code = input.code.clone();
                let version = typescript.map(|found| found.version.to_string());
                let running = self.nodes.run(for_node(input, version)?).await?;
                let outputs = running.outputs.clone();
                let mut report = running.ended().await?;
                tell(cx, report.hint.take());
                Ok(of_node(language, stateful, execution(code, outputs.take(), report)))
            }
            Runtime::Interpreter(known, executable) => {
                let (done, hint) = self.interpret(known, executable, language, input).await?;
                tell(cx, hint);
                Ok(done)
            }
        }
    }
}

impl Streaming<ExecuteCode> for Codes {
    async fn stream(&self, cx: &Context, input: ExecuteCode) -> Result<Stream, Error> {
        let stateful = is_stateful(&input);
        let (language, runtime) = self.runtime(&input.language, stateful).await?;
        match runtime {
            Runtime::Kernel(kernel) => {
                let running = self.jupyters.run(for_kernel(input, kernel, true)).await?;
                Ok(self.jupyters.events(
                    running,
                    |output| output,
                    move |Answer { execution, hint }| {
                        completed(&of_kernel(language, stateful, execution), hint.as_deref())
                    },
                ))
            }
            Runtime::Node { typescript } => {
                let code = input.code.clone();
                let version = typescript.map(|found| found.version.to_string());
                let running = self.nodes.run(for_node(input, version)?).await?;
                Ok(self.nodes.events(
                    running,
                    |output| json!(output),
                    move |said, mut report| {
                        let hint = report.hint.take();
                        completed(
                            &of_node(language, stateful, execution(code, said, report)),
                            hint.as_deref(),
                        )
                    },
                ))
            }
            Runtime::Interpreter(..) => {
                let done = self.handle(cx, input).await?;
                let hint = cx.take_hint();
                let outputs = done.outputs.clone().into_iter();
                let outputs = outputs.map(|output| event("output", Value::Object(output)));
                let all: Vec<_> = outputs
                    .chain([event("completed", completed(&done, hint.as_deref()))])
                    .collect();
                Ok(futures::stream::iter(all).boxed())
            }
        }
    }
}

impl Codes {
    /// Runs code with an interpreter; a caller who leaves takes it along.
    async fn interpret(
        &self,
        known: &'static Interpreter,
        executable: std::path::PathBuf,
        language: String,
        input: ExecuteCode,
    ) -> Result<(CodeExecution, Option<String>), Error> {
        let directory = Nodes::directory(input.cwd.as_ref())?;
        let seconds = input.timeout.unwrap_or(DEFAULT_SECONDS);
        let timeout = Duration::from_secs(seconds);
        let deadline = Instant::now() + timeout;
        let unwanted = self.programs.foundation().stop.child_token();
        let _left = unwanted.clone().drop_guard();
        let place = tokio::time::timeout_at(deadline, self.nodes.place_for_a_run()).await;
        let Ok(place) = place else {
            let hint = format!(
                "as many programs as may run at once were running for all of the {seconds} s; this one did not run"
            );
            let none: [Value; 0] = [];
            let done = answer(language, "timeout", &none, input.code, 124, None);
            return Ok((done, Some(hint)));
        };
        let timeout = deadline.saturating_duration_since(Instant::now());
        let program = Program { code: input.code.clone(), directory, timeout };
        let programs = self.programs.clone();
        let running = self.programs.tasks().spawn(async move {
            let ran = known.run(&programs, &executable, program, unwanted).await;
            drop(place);
            ran
        });
        let ran = running.await.map_err(|error| Error::internal("the code was lost", error))??;
        let exit_code = ran.exit.shell_code();
        let (status, hint) = match (ran.stopped, exit_code) {
            (true, _) => (
                "timeout",
                Some(format!(
                    "the program was killed after {seconds} s; a longer timeout can be asked for, up to 300 s"
                )),
            ),
            (false, 0) => ("ok", ran.starved.map(starvation)),
            (false, _) => ("error", ran.starved.map(starvation)),
        };
        let outputs: Vec<_> = ran.outputs.into_iter().map(output).collect();
        Ok((answer(language, status, &outputs, input.code, exit_code, None), hint))
    }
}

fn is_stateful(input: &ExecuteCode) -> bool {
    input.stateful || input.session_id.as_ref().is_some_and(|id| !id.is_empty())
}

fn for_kernel(input: ExecuteCode, kernel: Option<String>, followed: bool) -> KernelRequest {
    KernelRequest {
        keep_session: is_stateful(&input),
        timeout: Duration::from_secs(input.timeout.unwrap_or(DEFAULT_SECONDS)),
        code: input.code,
        kernel_name: kernel,
        session_id: input.session_id,
        cwd: input.cwd,
        followed,
    }
}

fn for_node(input: ExecuteCode, version: Option<String>) -> Result<NodeRequest, Error> {
    Ok(NodeRequest {
        directory: Nodes::directory(input.cwd.as_ref())?,
        code: input.code,
        typescript: version.is_some(),
        timeout: Duration::from_secs(input.timeout.unwrap_or(DEFAULT_SECONDS)),
        stateful: input.stateful,
        session_id: input.session_id.filter(|id| !id.is_empty()),
        version,
        ..NodeRequest::default()
    })
}

fn tell(cx: &Context, hint: Option<String>) {
    if let Some(hint) = hint {
        cx.hint(hint);
    }
}

fn completed(done: &CodeExecution, hint: Option<&str>) -> Value {
    let mut data = json!(done);
    data["hint"] = json!(hint);
    data
}

fn event(name: &'static str, data: Value) -> Event {
    Event { name, id: None, data }
}
