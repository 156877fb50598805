//! Running a command as this family does: killed at its deadline, both streams in one text, or left in the background
//! with a file for what it prints.

use std::time::{SystemTime, UNIX_EPOCH};

use atoll_operation::{Error, Event};
use serde_json::{Map, Value, json};

use super::base::Base;
use super::values::duration;
use crate::dialect::Failure;

const MILLISECONDS: u64 = 30_000;
const BACKGROUND_MILLISECONDS: u64 = 600_000;
/// Where what background commands print is kept, from the directory they run in.
const LOGS: &str = ".logs/background_outputs";

/// A command asked for in this family's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exec {
    /// When it is killed, if this family's rule says so.
    deadline: Option<u64>,
    background: bool,
}

/// Reads a command; `theirs` says that a client of this family asks. `None` for one in the other family's words.
pub(in crate::dialect) fn exec(
    input: &mut Map<String, Value>,
    theirs: bool,
    base: Option<&Base>,
) -> Result<Option<Exec>, Failure> {
    let limit = whole(input.remove("timeout_ms"))?;
    let background = flag(input.remove("run_in_background").as_ref())?;
    if !theirs && limit.is_none() && background.is_none() {
        return Ok(None);
    }
    if let Some(base) = base {
        let given = input.get("exec_dir").and_then(Value::as_str).filter(|path| !path.is_empty());
        let directory = given.map_or_else(|| base.path(), |path| base.join(path));
        input.insert("exec_dir".to_owned(), json!(directory));
    } else if input.get("exec_dir").is_some_and(|given| given == "") {
        input.remove("exec_dir");
    }
    let background = background.unwrap_or(false);
    let own_rule = ["timeout", "hard_timeout", "async_mode"]
        .iter()
        .any(|name| input.get(*name).is_some_and(|value| !value.is_null()));
    let usual = if background { BACKGROUND_MILLISECONDS } else { MILLISECONDS };
    let deadline = match limit.filter(|limit| *limit > 0) {
        None if own_rule || !(theirs || background) => None,
        limit => Some(limit.unwrap_or(usual)),
    };
    if let Some(milliseconds) = deadline {
        #[expect(clippy::cast_precision_loss, reason = "no deadline is that far away")]
        let seconds = milliseconds as f64 / 1000.0;
        input.insert("hard_timeout".to_owned(), json!(seconds));
    }
    if background {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        input.insert("async_mode".to_owned(), json!(true));
        input.insert("output_file".to_owned(), json!(format!("{LOGS}/bg_{}.log", now.as_nanos())));
    }
    input.entry("max_output_length").or_insert(json!(0));
    Ok(Some(Exec { deadline, background }))
}

fn whole(value: Option<Value>) -> Result<Option<u64>, Failure> {
    let wrong = || Error::field("timeout_ms", "type", "must be a whole number of milliseconds");
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => {
            let whole = number.as_i64().map(|number| u64::try_from(number).unwrap_or(0));
            whole.or(number.as_u64()).map(Some).ok_or_else(|| wrong().into())
        }
        Some(Value::String(text)) => text.parse().map(Some).map_err(|_| wrong().into()),
        Some(_) => Err(wrong().into()),
    }
}

fn flag(value: Option<&Value>) -> Result<Option<bool>, Failure> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(*value)),
        Some(_) => Err(Error::field("run_in_background", "type", "must be true or false").into()),
    }
}

/// Adds what this family reads of a command's result.
pub(in crate::dialect) fn answer(exec: Exec, result: &mut Map<String, Value>) {
    let text = |name: &str| result.get(name).and_then(Value::as_str).unwrap_or_default();
    let status = text("status").to_owned();
    let mut output = format!("{}{}", text("stdout"), text("stderr"));
    let mut error = None;
    match status.as_str() {
        "timed_out" => {
            let told = match exec.deadline {
                Some(deadline) => format!("command timed out after {}", duration(deadline)),
                None => "command timed out".to_owned(),
            };
            let gap = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
            output = format!("{output}{gap}\n<bash_metadata>\n{told}\n</bash_metadata>");
            error = Some(told);
            result.insert("exit_code".to_owned(), json!(-1));
        }
        "running" if exec.background => {
            let pid = result.get("pid").cloned().unwrap_or_default();
            output = format!("Command started in background (PID: {pid})");
            result.insert("exit_code".to_owned(), json!(0));
        }
        "running" => error = Some("the command is still running".to_owned()),
        "killed" => error = Some("the command was killed".to_owned()),
        _ => {}
    }
    result.insert("output".to_owned(), json!(output));
    result.insert("error".to_owned(), json!(error.unwrap_or_default()));
}

/// An event of a command as this family names it; some are not told.
pub(in crate::dialect) fn event(exec: Exec, begun: SystemTime, event: Event) -> Option<Event> {
    match event.name {
        "output" => {
            let data = json!({"data": event.data["data"], "source": event.data["source"]});
            Some(Event { name: "chunk", id: None, data })
        }
        "result" => {
            let Value::Object(mut result) = event.data else { return None };
            let cut = |name: &str| result.get(name).is_some_and(Value::is_string);
            let truncated =
                cut("stdout_full_output_file_path") || cut("stderr_full_output_file_path");
            let timed_out = result.get("status").is_some_and(|status| status == "timed_out");
            answer(exec, &mut result);
            let took = begun.elapsed().unwrap_or_default().as_millis();
            let data = json!({
                "output": result["output"],
                "exit_code": result["exit_code"],
                "duration_ms": u64::try_from(took).unwrap_or(u64::MAX),
                "timed_out": timed_out,
                "truncated": truncated,
            });
            Some(Event { name: "done", id: None, data })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut input: Value, theirs: bool, base: Option<&Base>) -> (Option<Exec>, Value) {
        let exec = exec(input.as_object_mut().unwrap(), theirs, base).unwrap();
        (exec, input)
    }

    #[test]
    fn deadlines_follow_the_family_and_the_fields() {
        let table = [
            // input, whether a client of this family asks, seconds until it is killed
            (json!({}), true, Some(30.0)),
            (json!({"timeout_ms": 0}), true, Some(30.0)),
            (json!({"timeout_ms": -5}), true, Some(30.0)),
            (json!({"timeout_ms": 1500}), true, Some(1.5)),
            (json!({"timeout_ms": 1500}), false, Some(1.5)),
            (json!({"timeout_ms": "1500"}), false, Some(1.5)),
            (json!({"timeout": 5}), true, None),
            (json!({"async_mode": true}), true, None),
            (json!({"timeout_ms": 0}), false, None),
            (json!({"run_in_background": true}), true, Some(600.0)),
            (json!({"run_in_background": true}), false, Some(600.0)),
            (json!({"run_in_background": true, "timeout_ms": 2000}), true, Some(2.0)),
        ];
        for (input, theirs, seconds) in table {
            let (exec, read) = read(input.clone(), theirs, None);
            assert!(exec.is_some(), "{input}");
            assert_eq!(read.get("hard_timeout").and_then(Value::as_f64), seconds, "{input}");
            assert_eq!(read.get("max_output_length"), Some(&json!(0)), "{input}");
        }
        let same = json!({"command": "x", "timeout": 1, "max_output_length": 5});
        assert_eq!(read(same.clone(), false, None), (None, same));
    }

    #[test]
    fn the_directory_begins_at_the_base() {
        let base = Base::Directory("/w/s".to_owned());
        for (given, meant) in [
            (json!(null), "/w/s"),
            (json!(""), "/w/s"),
            (json!("x"), "/w/s/x"),
            (json!("/y"), "/y"),
        ] {
            let (_, input) = read(json!({"exec_dir": given}), true, Some(&base));
            assert_eq!(input["exec_dir"], meant);
        }
    }

    #[test]
    fn what_is_no_number_of_milliseconds_is_refused_by_name() {
        for (field, value) in [
            ("timeout_ms", json!("soon")),
            ("timeout_ms", json!(1.5)),
            ("timeout_ms", json!([])),
            ("run_in_background", json!("yes")),
        ] {
            let mut input = json!({field: value});
            let failure = exec(input.as_object_mut().unwrap(), true, None).unwrap_err();
            assert_eq!(failure.error.fields()[0].path, [field], "{value}");
        }
    }

    fn told(exec: Exec, result: Value) -> Value {
        let Value::Object(mut result) = result else { unreachable!("an object") };
        answer(exec, &mut result);
        Value::Object(result)
    }

    #[test]
    fn a_result_is_one_text_with_a_whole_number() {
        let plain = Exec { deadline: Some(30_000), background: false };
        let done = json!({"status": "completed", "stdout": "a\n", "stderr": "b\n", "exit_code": 3});
        let answer = told(plain, done);
        assert_eq!((&answer["output"], &answer["exit_code"]), (&json!("a\nb\n"), &json!(3)));
        assert_eq!(answer["error"], "");
        assert_eq!(answer["stdout"], "a\n", "what the other family reads stays");

        let killed = json!({"status": "timed_out", "stdout": "a", "stderr": "", "exit_code": -9});
        let answer = told(plain, killed);
        let output = "a\n\n<bash_metadata>\ncommand timed out after 30s\n</bash_metadata>";
        assert_eq!((&answer["output"], &answer["exit_code"]), (&json!(output), &json!(-1)));
        assert_eq!(answer["error"], "command timed out after 30s");

        let running = json!({"status": "running", "exit_code": null, "pid": 7});
        let answer = told(plain, running.clone());
        assert_ne!(answer["error"], "", "Go reads no exit code as 0");
        let answer = told(Exec { background: true, ..plain }, running);
        assert_eq!(answer["output"], "Command started in background (PID: 7)");
        assert_eq!((&answer["exit_code"], &answer["error"]), (&json!(0), &json!("")));
    }

    #[test]
    fn events_carry_this_familys_names() {
        let exec = Exec { deadline: Some(1000), background: false };
        let of = |name, data| event(exec, SystemTime::now(), Event { name, id: None, data });
        assert_eq!(of("started", json!({})), None);
        let chunk = of("output", json!({"data": "x", "source": "stderr", "offset": 1})).unwrap();
        assert_eq!((chunk.name, chunk.data), ("chunk", json!({"data": "x", "source": "stderr"})));
        let done = of("result", json!({"status": "completed", "stdout": "x", "exit_code": 0}));
        let done = done.unwrap();
        assert_eq!((done.name, &done.data["output"]), ("done", &json!("x")));
        assert_eq!(done.data["timed_out"], false);
        assert!(done.data["duration_ms"].is_u64());
    }
}
