//! A builtin in a shell that lives on, against a line given to a resident bash over pipes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Setting, check_success, sampler};
use crate::Failure;
use crate::race::{Lane, race, report_lanes};
use crate::report::{Bar, Report, TIME_COLUMNS, millis};
use crate::server::{Launch, Server, authorised_post, in_clean_environment, locate};

const BAR: Duration = Duration::from_micros(1500);

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let mut resident = ResidentBash::start()?;
    let atoll = setting.atoll.start()?;
    let id = "bench";
    let create = authorised_post("/v1/shell/sessions/create", &json!({"id": id}));
    let created = atoll.connect()?.ask(&create)?;
    created.json::<serde_json::Value>()?;
    let request = authorised_post("/v1/shell/exec", &json!({"id": id, "command": "true"}));
    let launch = Launch::swe_rex(&setting.peers);
    let swe_rex = launch.start();

    let mut lanes = [
        Lane::new("floor: line to a resident bash", || resident.run_true()),
        Lane::new("Atoll", sampler(&atoll, request)?),
        Lane::prepared(
            launch.name,
            swe_rex
                .as_ref()
                .map_err(ToString::to_string)
                .map_err(Into::into)
                .and_then(swe_rex_sampler),
        ),
    ];
    // A tenth of a second per sample for the peer: the fewest rounds the rules of a contest allow.
    race(setting.plan(15), &mut lanes);

    let (floor, ours) = (lanes[0].result()?.median(), lanes[1].result()?.median());
    let mut report = Report {
        title: "Builtin in a live shell session",
        about: "`true` in a session that exists: no process is started, the shell in its terminal runs it and says how \
                it ended. The floor writes a line to a bash over pipes, without a terminal, and reads the answer."
            .to_owned(),
        columns: TIME_COLUMNS.into(),
        ..Report::default()
    };
    report_lanes(&mut report, &lanes, floor, ours);
    report.bars = vec![
        Bar::new("p50 ≤ 1.5 ms", format!("{} ms", millis(ours)), ours <= BAR),
        Bar::ahead(launch.name, ours.as_secs_f64(), lanes[2].median_seconds(), true),
    ];
    Ok(report)
}

fn swe_rex_sampler(server: &Server) -> Result<impl FnMut() -> Result<Duration, Failure>, Failure> {
    let create = json!({"session_type": "bash", "startup_timeout": 10});
    let created = server.connect()?.ask(&authorised_post("/create_session", &create))?;
    created.json::<serde_json::Value>()?;
    let run = json!({"action_type": "bash", "command": "true"});
    let request = authorised_post("/run_in_session", &run);
    let mut connection = server.connect()?;
    Ok(move || {
        let (duration, response) = connection.time(&request)?;
        check_success(&response)?;
        Ok(duration)
    })
}

/// A bash that reads commands from a pipe.
struct ResidentBash {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl ResidentBash {
    fn start() -> Result<Self, Failure> {
        let mut command = Command::new(locate("bash")?);
        command.args(["--norc", "--noprofile"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        in_clean_environment(&mut command, &std::env::temp_dir());
        let mut child = command.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("bash has no pipes".into());
        };
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    fn run_true(&mut self) -> Result<Duration, Failure> {
        let started = Instant::now();
        self.input.write_all(b"true; echo $?\n")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let duration = started.elapsed();
        if line == "0\n" { Ok(duration) } else { Err(format!("bash said {line:?}").into()) }
    }
}

impl Drop for ResidentBash {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
