//! One short command per request, against the same command started directly.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Setting, run_in_atoll, sampler};
use crate::Failure;
use crate::http::Request;
use crate::race::{Lane, race, report_lanes};
use crate::report::{Bar, Report, TIME_COLUMNS, millis};
use crate::server::{in_clean_environment, locate};
use crate::statistics::ratio;

const OVERHEAD_BAR: Duration = Duration::from_micros(500);
const TAIL_BAR: f64 = 2.0;

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let home = tempfile::tempdir()?;
    let bash = locate("bash")?;
    let atoll = setting.atoll.start()?;
    let (sandbox_agent, swe_rex) = (setting.sandbox_agent(), setting.swe_rex());

    let mut health = atoll.connect()?;
    let ping = Request::get("/health", ("accept", "*/*"));
    let mut lanes = [
        Lane::new("floor: spawn, pipe, wait", || spawn_directly(&bash, home.path())),
        Lane::new("Atoll", sampler(&atoll, run_in_atoll("true", None))?),
        Lane::new("Atoll, one session", sampler(&atoll, run_in_atoll("true", Some("bench")))?),
        Lane::prepared(sandbox_agent.name, sandbox_agent.sampler("true")),
        Lane::prepared(swe_rex.name, swe_rex.sampler("true")),
        Lane::new("Atoll, GET /health", || Ok(health.time(&ping)?.0)),
    ];
    race(setting.plan(50), &mut lanes);

    let (floor, ours) = (lanes[0].result()?, lanes[1].result()?);
    let (floor, median, tail) = (floor.median(), ours.median(), ours.percentile(99));
    let mut report = Report {
        title: "One-shot exec",
        about: "`bash -c true` in a process of its own per request, on one keep-alive connection per server. The floor \
                starts the same program directly, reads its output through a pipe and waits for it. `GET /health` \
                shows what HTTP alone costs."
            .to_owned(),
        columns: TIME_COLUMNS.into(),
        ..Report::default()
    };
    report_lanes(&mut report, &lanes, floor, median);
    let seconds = median.as_secs_f64();
    for lane in &lanes[1..=2] {
        let median = lane.result()?.median();
        let over = median.saturating_sub(floor);
        let text = format!("{}: p50 ≤ floor + 0.5 ms", lane.name);
        report.bars.push(Bar::new(
            text,
            format!("floor + {} ms", millis(over)),
            over <= OVERHEAD_BAR,
        ));
    }
    let times = ratio(tail, median);
    report.bars.extend([
        Bar::new("p99 ≤ 2 × p50", format!("{times:.2} × p50"), times <= TAIL_BAR),
        Bar::ahead(sandbox_agent.name, seconds, lanes[3].median_seconds(), true),
        Bar::ahead(swe_rex.name, seconds, lanes[4].median_seconds(), true),
    ]);
    Ok(report)
}

fn spawn_directly(bash: &str, home: &Path) -> Result<Duration, Failure> {
    let mut command = Command::new(bash);
    command.args(["-c", "true"]).stdin(Stdio::null()).stdout(Stdio::piped());
    in_clean_environment(&mut command, home);
    let started = Instant::now();
    let mut child = command.spawn()?;
    let mut output = Vec::new();
    if let Some(stdout) = &mut child.stdout {
        stdout.read_to_end(&mut output)?;
    }
    let status = child.wait()?;
    let duration = started.elapsed();
    if status.success() { Ok(duration) } else { Err(format!("bash ended with {status}").into()) }
}
