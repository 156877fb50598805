//! MCP: a tool call against the same call over REST, and a tool that only echoes against the servers of others.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Setting, run_in_atoll, sampler};
use crate::Failure;
use crate::http::{Connection, Request, Response};
use crate::race::{Lane, race, report_lanes};
use crate::report::{Bar, Report, TIME_COLUMNS, millis};
use crate::server::{Launch, Server};
use crate::statistics::ratio;

const CALL_BAR: f64 = 1.2;
const ECHO_BAR: Duration = Duration::from_micros(300);
const FASTMCP_BAR: f64 = 10.0;
const EVERYTHING_BAR: f64 = 5.0;
const LIST_BAR: Duration = Duration::from_millis(2);
const SESSIONS: usize = 200;

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let atoll = setting.atoll.start()?;
    // The suite's server has a tool that only answers; the sandbox's own all do something.
    let plain = setting.atoll.clone().with("--conformance").start()?;
    let fastmcp = Launch::fastmcp(&setting.peers).start();
    let everything = Launch::everything(&setting.peers).start();

    let command = json!({"command": "true", "session_id": "bench"});
    let mut calls = [
        Lane::new(
            "Atoll, REST /v1/bash/exec",
            sampler(&atoll, run_in_atoll("true", Some("bench")))?,
        ),
        Lane::new("Atoll, tools/call bash_exec, session", tool(&atoll, "bash_exec", &command)?),
        Lane::new("Atoll, tools/call bash_exec, no session", bare(&atoll, "bash_exec", &command)?),
    ];
    race(setting.plan(50), &mut calls);
    let hello = json!({"message": "hello"});
    let mut echoes = [
        Lane::new("Atoll, echo, session", tool(&plain, "test_simple_text", &json!({}))?),
        Lane::new("Atoll, echo, no session", bare(&plain, "test_simple_text", &json!({}))?),
        Lane::prepared("FastMCP, echo", peer(&fastmcp, &hello)),
        Lane::prepared("server-everything, echo", peer(&everything, &hello)),
        Lane::new("Atoll, tools/list, session", list(&atoll)?),
    ];
    race(setting.plan(25), &mut echoes);
    let held = hold_sessions(&atoll)?;

    let rest = calls[0].result()?.median();
    let (called, unsessioned) = (calls[1].result()?.median(), calls[2].result()?.median());
    let echo = echoes[0].result()?.median();
    let listed = echoes[4].result()?.median();
    let mut report = Report {
        title: "MCP",
        about: "`bash -c true` as a tool call over streamable HTTP, in a session and without one, against the same \
                operation over REST; a tool that only answers, against the same in FastMCP and in the reference \
                server; and the list of tools. One keep-alive connection per server, whole answers."
            .to_owned(),
        columns: TIME_COLUMNS.into(),
        ..Report::default()
    };
    report_lanes(&mut report, &calls, rest, called);
    report_lanes(&mut report, &echoes, echo, echo);
    report.bars = vec![
        Bar::new(
            "tools/call ≤ 1.2 × REST, in a session",
            format!("{:.2} ×", ratio(called, rest)),
            ratio(called, rest) <= CALL_BAR,
        ),
        Bar::new(
            "tools/call ≤ 1.2 × REST, without a session",
            format!("{:.2} ×", ratio(unsessioned, rest)),
            ratio(unsessioned, rest) <= CALL_BAR,
        ),
        Bar::new("echo p50 ≤ 0.3 ms", format!("{} ms", millis(echo)), echo <= ECHO_BAR),
        times_faster(&echoes[0], &echoes[2], "echo ≥ 10 × FastMCP", FASTMCP_BAR)?,
        times_faster(&echoes[0], &echoes[3], "echo ≥ 5 × server-everything", EVERYTHING_BAR)?,
        Bar::new("tools/list ≤ 2 ms", format!("{} ms", millis(listed)), listed <= LIST_BAR),
        Bar::new("200 sessions hold", format!("{held} answered"), held == SESSIONS),
    ];
    Ok(report)
}

/// How many times as fast ours is as a peer's, if the peer was measured.
fn times_faster(ours: &Lane<'_>, theirs: &Lane<'_>, text: &str, bar: f64) -> Result<Bar, Failure> {
    let ours = ours.result()?.median();
    Ok(match theirs.result() {
        Ok(samples) => {
            let times = ratio(samples.median(), ours);
            Bar::new(text, format!("{times:.1} ×"), times >= bar)
        }
        Err(why) => Bar::unknown(text, why.to_string()),
    })
}

/// A connection with a session of MCP.
struct Session {
    connection: Connection,
    id: Option<String>,
}

impl Session {
    fn open(server: &Server) -> Result<Self, Failure> {
        let mut connection = server.connect()?;
        let hello = json!({
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        });
        let (head, response) = connection.ask_for_head(&message(None, &hello))?;
        result(&response)?;
        let mut fields = head.lines().filter_map(|line| line.split_once(':'));
        let id = fields.find(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id"));
        let id = id.map(|(_, id)| id.trim().to_owned());
        let mut session = Self { connection, id };
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let note = session.message(&note);
        session.connection.ask(&note)?;
        Ok(session)
    }

    fn message(&self, body: &Value) -> Request {
        message(self.id.as_deref(), body)
    }

    fn time(&mut self, request: &Request) -> Result<Duration, Failure> {
        let (duration, response) = self.connection.time(request)?;
        let result = result(&response)?;
        if result["isError"] == true {
            return Err(format!("the tool failed: {result}").into());
        }
        Ok(duration)
    }
}

fn message(session: Option<&str>, body: &Value) -> Request {
    let mut headers = vec![
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    headers.extend(session.map(|id| ("mcp-session-id", id)));
    Request::post_with("/mcp", &headers, body)
}

fn call(name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

/// The result in an answer, which is JSON or a stream of events.
fn result(response: &Response) -> Result<Value, Failure> {
    let text = String::from_utf8_lossy(&response.body);
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let whole = data.rfind(|data| !data.is_empty()).unwrap_or(&text);
    let answer: Value =
        serde_json::from_str(whole).map_err(|error| format!("{error} in {text:.300}"))?;
    match answer.get("result") {
        Some(result) if response.status == 200 => Ok(result.clone()),
        _ => Err(format!("HTTP {}: {text:.300}", response.status).into()),
    }
}

/// Calls a tool in a session, again and again.
fn tool(
    server: &Server,
    name: &str,
    arguments: &Value,
) -> Result<impl FnMut() -> Result<Duration, Failure> + use<>, Failure> {
    let mut session = Session::open(server)?;
    let request = session.message(&call(name, arguments));
    Ok(move || session.time(&request))
}

/// Calls a tool without a session, again and again.
fn bare(
    server: &Server,
    name: &str,
    arguments: &Value,
) -> Result<impl FnMut() -> Result<Duration, Failure> + use<>, Failure> {
    let mut session = Session { connection: server.connect()?, id: None };
    let request = session.message(&call(name, arguments));
    Ok(move || session.time(&request))
}

/// Calls the tool `echo` of a peer, if it is there.
fn peer(
    server: &Result<Server, Failure>,
    arguments: &Value,
) -> Result<impl FnMut() -> Result<Duration, Failure> + use<>, Failure> {
    match server {
        Ok(server) => tool(server, "echo", arguments),
        Err(why) => Err(why.to_string().into()),
    }
}

/// Lists the tools in a session, again and again.
fn list(server: &Server) -> Result<impl FnMut() -> Result<Duration, Failure> + use<>, Failure> {
    let mut session = Session::open(server)?;
    let request = session.message(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    Ok(move || session.time(&request))
}

/// Opens many sessions at once and uses each; how many answered.
fn hold_sessions(server: &Server) -> Result<usize, Failure> {
    let mut sessions =
        (0..SESSIONS).map(|_| Session::open(server)).collect::<Result<Vec<_>, Failure>>()?;
    let mut answered = 0;
    for session in &mut sessions {
        let ping = session.message(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        answered += usize::from(session.time(&ping).is_ok());
    }
    Ok(answered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_found_in_both_forms_of_an_answer() {
        for body in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#,
            "id: 0\ndata:\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n\n",
        ] {
            let response = Response { status: 200, body: body.as_bytes().to_vec() };
            assert_eq!(result(&response).unwrap(), json!({"a": 1}), "{body}");
        }
        let refused = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602}}"#.to_vec();
        assert!(result(&Response { status: 200, body: refused }).is_err());
    }
}
