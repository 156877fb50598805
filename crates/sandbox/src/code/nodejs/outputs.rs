//! What code said, in the words of the API.

use atoll_api::nodejs::{NodeExecution, NodeLanguage, NodeOutput, NodeOutputType, NodeStatus};
use atoll_node::{Channel, Output, Status};
use serde_json::{Map, Value};

use super::run::Report;

/// One output.
pub(crate) fn output(said: Output) -> NodeOutput {
    let (kind, none) = match &said {
        Output::Text { .. } => (NodeOutputType::Stream, None),
        Output::Result { .. } => (NodeOutputType::ExecuteResult, None),
        Output::Error { .. } => (NodeOutputType::Error, None::<String>),
    };
    let mut output = NodeOutput {
        output_type: kind,
        name: none.clone(),
        text: none.clone(),
        ename: none.clone(),
        evalue: none,
        traceback: None,
        data: None,
        metadata: None,
    };
    match said {
        Output::Text { channel, text } => {
            output.name = Some(name(channel).to_owned());
            output.text = Some(text);
        }
        Output::Result { text } => {
            output.data = Some(Map::from_iter([("text/plain".to_owned(), Value::String(text))]));
            output.metadata = Some(Map::new());
        }
        Output::Error { name, message, traceback } => {
            output.ename = Some(name);
            output.evalue = Some(message);
            output.traceback = Some(traceback);
        }
    }
    output
}

fn name(channel: Channel) -> &'static str {
    match channel {
        Channel::Stdout => "stdout",
        Channel::Stderr => "stderr",
    }
}

/// The whole answer. Clients read `outputs[0].text` as all of standard output, so each stream is in one piece and that one
/// comes first; results and errors follow in their order.
pub(crate) fn execution(code: String, said: Vec<Output>, report: Report) -> NodeExecution {
    let (mut stdout, mut stderr, mut others) = (String::new(), String::new(), Vec::new());
    for each in said {
        match each {
            Output::Text { channel: Channel::Stdout, text } => stdout.push_str(&text),
            Output::Text { channel: Channel::Stderr, text } => stderr.push_str(&text),
            other => others.push(output(other)),
        }
    }
    let streams = [(Channel::Stdout, &stdout), (Channel::Stderr, &stderr)];
    let mut outputs: Vec<_> = streams
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(channel, text)| output(Output::Text { channel, text: text.clone() }))
        .collect();
    outputs.append(&mut others);
    outputs.extend(report.signal.map(|signal| output(ended_by(signal))));
    NodeExecution {
        language: NodeLanguage::Javascript,
        status: status(report.status),
        execution_count: report.execution_count,
        outputs,
        code,
        stdout,
        stderr,
        exit_code: report.exit_code,
        session_id: report.session_id,
    }
}

fn status(status: Status) -> NodeStatus {
    match status {
        Status::Ok => NodeStatus::Ok,
        Status::Error | Status::Interrupted => NodeStatus::Error,
        Status::TimedOut => NodeStatus::Timeout,
    }
}

/// A process cannot tell itself that a signal ended it.
fn ended_by(signal: i32) -> Output {
    let name = match signal {
        4 => "SIGILL".to_owned(),
        6 => "SIGABRT".to_owned(),
        7 => "SIGBUS".to_owned(),
        8 => "SIGFPE".to_owned(),
        9 => "SIGKILL".to_owned(),
        11 => "SIGSEGV".to_owned(),
        15 => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    };
    let message = format!("the process was ended by {name}");
    Output::Error { name: "ProcessEnded".to_owned(), traceback: vec![message.clone()], message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(channel: Channel, text: &str) -> Output {
        Output::Text { channel, text: text.to_owned() }
    }

    #[test]
    fn each_stream_is_in_one_piece_and_standard_output_first() {
        let said = vec![
            text(Channel::Stderr, "a"),
            text(Channel::Stdout, "b"),
            Output::Result { text: "1".into() },
            text(Channel::Stderr, "c"),
            text(Channel::Stdout, "d"),
        ];
        let report = Report {
            status: Status::Ok,
            exit_code: 0,
            signal: None,
            session_id: None,
            execution_count: Some(3),
            hint: None,
        };
        let execution = execution("code".into(), said, report);
        let texts: Vec<_> = execution.outputs.iter().map(|output| output.text.clone()).collect();
        assert_eq!(texts, [Some("bd".to_owned()), Some("ac".to_owned()), None]);
        assert_eq!((execution.stdout.as_str(), execution.stderr.as_str()), ("bd", "ac"));
        let data = execution.outputs[2].data.as_ref().unwrap();
        assert_eq!(data["text/plain"], "1");
        let json = serde_json::to_value(&execution.outputs[0]).unwrap();
        let keys =
            ["output_type", "name", "text", "ename", "evalue", "traceback", "data", "metadata"];
        assert!(keys.iter().all(|key| json.get(key).is_some()), "{json}");
    }
}
