//! What code put out, in the words of the API.

use std::time::Duration;

use atoll_api::jupyter::{JupyterOutput, JupyterOutputType, JupyterStatus};
use atoll_kernel::{Event, Finished, Loss, Note, Output, Rich, Status};
use atoll_process::Exit;
use serde_json::{Value, json};

use crate::programs::MEMORY_CURE;

pub(super) fn status(status: Status) -> JupyterStatus {
    match status {
        Status::Ok => JupyterStatus::Ok,
        Status::Error => JupyterStatus::Error,
        Status::TimedOut => JupyterStatus::Timeout,
    }
}

/// All outputs. Clients read `outputs[0].text` as standard output, so that what a library said on standard error before
/// it goes behind it.
pub(super) fn outputs(outputs: Vec<Output>) -> Vec<JupyterOutput> {
    let mut outputs: Vec<_> = outputs.into_iter().map(output).collect();
    if let [first, second, ..] = &mut outputs[..]
        && is_stream(first, "stderr")
        && is_stream(second, "stdout")
    {
        std::mem::swap(first, second);
        if outputs.get(2).is_some_and(|third| is_stream(third, "stderr")) {
            let third = outputs.remove(2);
            if let Some(text) = outputs.get_mut(1).and_then(|second| second.text.as_mut()) {
                text.push_str(&third.text.unwrap_or_default());
            }
        }
    }
    outputs
}

fn is_stream(output: &JupyterOutput, name: &str) -> bool {
    output.output_type == JupyterOutputType::Stream && output.name.as_deref() == Some(name)
}

/// One output.
fn output(output: Output) -> JupyterOutput {
    match output {
        Output::Stream { name, text } => {
            JupyterOutput { name: Some(name), text: Some(text), ..empty(JupyterOutputType::Stream) }
        }
        Output::Result(value) => rich(JupyterOutputType::ExecuteResult, value),
        Output::Display(value) => rich(JupyterOutputType::DisplayData, value),
        Output::Error { name, value, traceback } => JupyterOutput {
            ename: Some(name),
            evalue: Some(value),
            traceback: Some(traceback),
            ..empty(JupyterOutputType::Error)
        },
    }
}

fn rich(output_type: JupyterOutputType, value: Rich) -> JupyterOutput {
    JupyterOutput {
        data: Some(value.data),
        metadata: Some(value.metadata),
        execution_count: value.execution_count,
        ..empty(output_type)
    }
}

fn empty(output_type: JupyterOutputType) -> JupyterOutput {
    JupyterOutput {
        output_type,
        name: None,
        text: None,
        data: None,
        metadata: None,
        execution_count: None,
        ename: None,
        evalue: None,
        traceback: None,
    }
}

/// What happened to the outputs, for whoever follows them: an output, or what changes those before. Displays carry the
/// id by which they are updated.
pub(super) fn event(event: Event) -> Value {
    match event {
        Event::Output(Output::Display(value)) => {
            let display_id = value.display_id.clone();
            let mut data = json!(rich(JupyterOutputType::DisplayData, value));
            if let Some(display_id) = display_id {
                data["display_id"] = Value::String(display_id);
            }
            data
        }
        Event::Output(other) => json!(output(other)),
        Event::Update(Rich { data, metadata, display_id, .. }) => json!({
            "output_type": "update_display_data",
            "data": data,
            "metadata": metadata,
            "display_id": display_id,
        }),
        Event::Clear { wait } => json!({ "output_type": "clear_output", "wait": wait }),
    }
}

const GONE: &str = "variables, functions and imports from before are gone";

/// What the agent should know of an execution in a kernel that may have this much memory.
pub(super) fn hint(finished: &Finished, timeout: Duration, memory: u64) -> Option<String> {
    let seconds = timeout.as_secs();
    let mut hints: Vec<String> = finished.notes.iter().map(|note| advice(note, seconds)).collect();
    let killed = finished.notes.contains(&Note::KernelKilled);
    if finished.status == Status::TimedOut && !killed {
        hints.push(format!(
            "the code was interrupted after {seconds} s and the session keeps its variables; a longer timeout can be \
             asked for, up to 300 s"
        ));
    }
    let last_words = finished.outputs.iter().find_map(|output| match output {
        Output::Error { name, value, .. } if name == "DeadKernelError" => Some(value),
        _ => None,
    });
    if let Some(last_words) = last_words {
        hints.push(format!("the next execution in this session gets a fresh kernel: {GONE}"));
        if last_words.contains(&Exit::OutOfMemory { limit: memory }.to_string()) {
            hints.push(MEMORY_CURE.to_owned());
        }
    }
    (!hints.is_empty()).then(|| hints.join("; "))
}

fn advice(note: &Note, seconds: u64) -> String {
    match note {
        Note::FreshKernel(Loss::Ended(exit @ Exit::OutOfMemory { .. })) => format!(
            "the session's kernel {exit}, so this ran in a fresh one: {GONE}; {MEMORY_CURE}"
        ),
        Note::FreshKernel(Loss::Ended(_)) => {
            format!("the session's kernel had ended, so this ran in a fresh one: {GONE}")
        }
        Note::FreshKernel(Loss::Killed) => {
            format!("the session's kernel had to be killed, so this ran in a fresh one: {GONE}")
        }
        Note::KernelKilled => format!(
            "the code ignored the interrupt after {seconds} s, so its kernel was killed; the session goes on with a \
             fresh one: {GONE}"
        ),
        Note::Cut(bytes) => format!(
            "{bytes} bytes of output were left out; write large output to a file and read it from there"
        ),
        Note::LateOutput(bytes) => format!(
            "about {bytes} bytes that background threads or processes printed between executions were dropped; let \
             them write to a file"
        ),
        Note::DirectoryIgnored => "this kernel cannot change its directory, so cwd was ignored; \
             create a session in that directory instead"
            .to_owned(),
        Note::NoInput => {
            "nobody can answer input() here: put the value into the code instead".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(name: &str, text: &str) -> Output {
        Output::Stream { name: name.to_owned(), text: text.to_owned() }
    }

    fn texts(all: &[JupyterOutput]) -> Vec<&str> {
        all.iter().filter_map(|output| output.text.as_deref()).collect()
    }

    #[test]
    fn warnings_do_not_stand_before_standard_output() {
        let [err, out] = ["stderr", "stdout"];
        let warned = outputs(vec![stream(err, "w"), stream(out, "o"), stream(err, "x")]);
        assert_eq!(texts(&warned), ["o", "wx"]);
        let later = vec![stream(out, "a"), stream(err, "b"), stream(out, "c")];
        assert_eq!(texts(&outputs(later)), ["a", "b", "c"]);
        assert_eq!(texts(&outputs(vec![stream(err, "only")])), ["only"]);
        let shown = vec![stream(err, "a"), Output::Display(Rich::default()), stream(out, "b")];
        assert_eq!(texts(&outputs(shown)), ["a", "b"]);
    }

    #[test]
    fn every_key_is_there_and_events_tell_what_changes() {
        let json = json!(output(stream("stdout", "x")));
        let keys = [
            "output_type",
            "name",
            "text",
            "data",
            "metadata",
            "execution_count",
            "ename",
            "evalue",
            "traceback",
        ];
        assert!(keys.iter().all(|key| json.get(key).is_some()), "{json}");
        let value = Rich { display_id: Some("id".to_owned()), ..Rich::default() };
        let shown = event(Event::Output(Output::Display(value.clone())));
        assert_eq!(
            (&shown["output_type"], &shown["display_id"]),
            (&json!("display_data"), &json!("id"))
        );
        assert_eq!(event(Event::Update(value))["output_type"], "update_display_data");
        assert_eq!(event(Event::Clear { wait: true })["wait"], true);
    }
}
