//! What code did, in one form for all runtimes.

use atoll_api::code::CodeExecution;
use atoll_api::jupyter::{JupyterExecution, JupyterStatus};
use atoll_api::nodejs::{NodeExecution, NodeStatus};
use serde::Serialize;
use serde_json::{Map, Value};

/// What ran in a kernel. A kernel has no exit code: 0 stands for success.
pub(super) fn of_kernel(language: String, stateful: bool, done: JupyterExecution) -> CodeExecution {
    let status = match done.status {
        JupyterStatus::Ok => "ok",
        JupyterStatus::Error => "error",
        JupyterStatus::Timeout => "timeout",
    };
    let exit_code = i32::from(done.status != JupyterStatus::Ok);
    let session_id = done.session_id.filter(|_| stateful);
    answer(language, status, &done.outputs, done.code, exit_code, session_id)
}

/// What ran in Node.js.
pub(super) fn of_node(language: String, stateful: bool, done: NodeExecution) -> CodeExecution {
    let status = match done.status {
        NodeStatus::Ok => "ok",
        NodeStatus::Error => "error",
        NodeStatus::Timeout => "timeout",
    };
    let session_id = done.session_id.filter(|_| stateful);
    answer(language, status, &done.outputs, done.code, done.exit_code, session_id)
}

/// Streams are put together from the outputs, as is the traceback of the first error.
pub(super) fn answer(
    language: String,
    status: &str,
    outputs: &[impl Serialize],
    code: String,
    exit_code: i32,
    session_id: Option<String>,
) -> CodeExecution {
    let outputs: Vec<_> = outputs.iter().map(object).collect();
    let stream = |name: &str| {
        let own = outputs.iter().filter(|output| output.get("name") == Some(&Value::from(name)));
        own.filter_map(|output| output.get("text")?.as_str()).collect::<String>()
    };
    let traceback = outputs.iter().find_map(|output| {
        let lines = output.get("traceback")?.as_array()?;
        Some(lines.iter().filter_map(|line| line.as_str().map(str::to_owned)).collect())
    });
    CodeExecution {
        language,
        status: status.to_owned(),
        stdout: Some(stream("stdout")),
        stderr: Some(stream("stderr")),
        outputs,
        code,
        exit_code: Some(exit_code),
        traceback,
        session_id,
    }
}

/// Something as the object it is on the wire.
pub(super) fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        Ok(_) | Err(_) => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn streams_and_traceback_are_put_together() {
        let outputs = [
            json!({"output_type": "stream", "name": "stdout", "text": "a"}),
            json!({"output_type": "stream", "name": "stderr", "text": "w"}),
            json!({"output_type": "display_data", "name": null, "data": {"text/plain": "x"}}),
            json!({"output_type": "stream", "name": "stdout", "text": "b"}),
            json!({"output_type": "error", "traceback": ["one", "two"]}),
        ];
        let done = answer("python".into(), "error", &outputs, "code".into(), 1, None);
        assert_eq!(done.stdout.as_deref(), Some("ab"));
        assert_eq!(done.stderr.as_deref(), Some("w"));
        assert_eq!(done.traceback, Some(vec!["one".to_owned(), "two".to_owned()]));
        assert_eq!(done.outputs.len(), 5);
        let json = serde_json::to_value(done).unwrap();
        assert_eq!((&json["session_id"], &json["exit_code"]), (&Value::Null, &json!(1)));
    }
}
