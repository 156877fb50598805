//! The contests, in the order they run, and what they share: the setting, and how each server is asked to run a command.

mod auth;
mod background;
mod browser;
mod cli;
mod code;
mod convert;
mod desktop;
mod egress;
mod endurance;
mod exec;
mod file;
mod keystroke;
mod mcp;
mod output;
mod parallel;
mod preview;
mod search;
mod session;
mod start;
mod terminal;
mod transfer;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Failure;
use crate::http::{Request, Response};
use crate::race::Plan;
use crate::report::Report;
use crate::server::{Launch, Server, authorised_post, locate};

/// A contest: measures, and tells.
pub(crate) type Contest = fn(&Setting) -> Result<Report, Failure>;

/// Every contest by its name on the command line.
pub(crate) const CONTESTS: &[(&str, Contest)] = &[
    ("start", start::run),
    ("exec", exec::run),
    ("cli", cli::run),
    ("session", session::run),
    ("parallel", parallel::run),
    ("endurance", endurance::run),
    ("terminal", terminal::run),
    ("keystroke", keystroke::run),
    ("output", output::run),
    ("background", background::run),
    ("file", file::run),
    ("search", search::run),
    ("transfer", transfer::run),
    ("preview", preview::run),
    ("egress", egress::run),
    ("watch", watch::run),
    ("code", code::run),
    ("auth", auth::run),
    ("mcp", mcp::run),
    ("browser", browser::run),
    ("desktop", desktop::run),
    ("convert", convert::run),
];

/// What is measured, and how thoroughly.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) atoll: Launch,
    /// Where the peers are installed; empty when nowhere.
    pub(crate) peers: PathBuf,
    /// Where the python with a Jupyter kernel lies, if anywhere.
    pub(crate) python: Option<PathBuf>,
    pub(crate) quick: bool,
}

impl Setting {
    /// One of two amounts: the one for a measurement, or the one for a quick look.
    fn choose<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// The plan of a contest of short requests.
    fn plan(&self, rounds: usize) -> Plan {
        Plan { warm_ups: 20, rounds: self.choose(rounds, 3), samples_per_round: 20 }
    }

    fn sandbox_agent(&self) -> Peer {
        Peer::start(&Launch::sandbox_agent(&self.peers), run_in_sandbox_agent)
    }

    fn swe_rex(&self) -> Peer {
        Peer::start(&Launch::swe_rex(&self.peers), run_in_swe_rex)
    }
}

/// A peer that runs commands, or why it is not there.
struct Peer {
    name: &'static str,
    server: Result<Server, String>,
    request: fn(command: &str) -> Result<Request, Failure>,
}

impl Peer {
    fn start(launch: &Launch, request: fn(&str) -> Result<Request, Failure>) -> Self {
        let server = launch.start().map_err(|error| error.to_string());
        Self { name: launch.name, server, request }
    }

    fn server(&self) -> Result<&Server, Failure> {
        self.server.as_ref().map_err(|why| why.as_str().into())
    }

    /// What is to be done for a sample of this command.
    fn sampler<'a>(
        &'a self,
        command: &str,
    ) -> Result<impl FnMut() -> Result<Duration, Failure> + 'a, Failure> {
        sampler(self.server()?, (self.request)(command)?)
    }
}

/// Sends a request on one connection, again and again; an answer that is no success is an error.
fn sampler(
    server: &Server,
    request: Request,
) -> Result<impl FnMut() -> Result<Duration, Failure>, Failure> {
    let mut connection = server.connect()?;
    Ok(move || {
        let (duration, response) = connection.time(&request)?;
        check_success(&response)?;
        Ok(duration)
    })
}

/// Runs a command in Atoll, in a session of its own or in the one named.
fn run_in_atoll(command: &str, session: Option<&str>) -> Request {
    let body = json!({"command": command, "session_id": session});
    authorised_post("/v1/bash/exec", &body)
}

fn run_in_sandbox_agent(command: &str) -> Result<Request, Failure> {
    let body = json!({"command": locate("bash")?, "args": ["-c", command]});
    Ok(authorised_post("/v1/processes/run", &body))
}

fn run_in_swe_rex(command: &str) -> Result<Request, Failure> {
    let body = json!({"command": [locate("bash")?, "-c", command]});
    Ok(authorised_post("/execute", &body))
}

/// Whether the command ran and ended well, whichever server answers.
fn check_success(response: &Response) -> Result<(), Failure> {
    match exit_code(response)? {
        0 => Ok(()),
        code => Err(format!("the command ended with {code}").into()),
    }
}

fn exit_code(response: &Response) -> Result<i64, Failure> {
    let answer: Value = response.json()?;
    let mut places = ["/data/exit_code", "/exitCode", "/exit_code"].iter();
    let code = places.find_map(|place| answer.pointer(place)?.as_i64());
    code.ok_or_else(|| format!("no exit code in {answer}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_found_in_every_servers_answer() {
        for body in [
            r#"{"success":true,"data":{"exit_code":3}}"#,
            r#"{"exitCode":3,"stdout":""}"#,
            r#"{"stdout":"","exit_code":3}"#,
        ] {
            let response = Response { status: 200, body: body.as_bytes().to_vec() };
            assert_eq!(exit_code(&response).unwrap(), 3);
            assert!(check_success(&response).is_err());
        }
        let running = Response { status: 200, body: br#"{"data":{"exit_code":null}}"#.to_vec() };
        assert!(exit_code(&running).is_err());
    }
}
