//! Code in sessions that live on, in fresh processes, and in the kernel that stands ready.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Setting;
use crate::Failure;
use crate::http::{Request, Response};
use crate::race::{Lane, race, report_lanes};
use crate::report::{Bar, Report, TIME_COLUMNS, millis, time_row};
use crate::server::{Server, authorised_get, authorised_post, in_clean_environment, locate};
use crate::statistics::{Samples, ratio};
use crate::stopwatch::Stopwatch;
use crate::usage::{tree, usage};

const LIVE_PYTHON_BAR: f64 = 1.3;
const READY_BAR: Duration = Duration::from_millis(100);
const LIVE_NODE_BAR: Duration = Duration::from_millis(5);
const FRESH_NODE_BAR: f64 = 1.5;
const KERNEL_PATIENCE: Duration = Duration::from_mins(1);

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let python = setting.python.as_deref().ok_or("--python names no python with a kernel")?;
    let launch = setting.atoll.clone().finding_programs_in(python);
    let atoll = launch.start()?;
    let idle = usage(&tree(atoll.pid())).processes;
    let script = setting.peers.join("jupyter_floor.py").display().to_string();
    let mut kernel = Stopwatch::start(&python.join("python"), &[&script]);
    let node = locate("node")?;

    let mut python_lanes = [
        Lane::prepared(
            "floor: jupyter_client, Python 1+1",
            kernel
                .as_mut()
                .map(|kernel| || kernel.time("1+1"))
                .map_err(|error| error.to_string().into()),
        ),
        Lane::new("Atoll, Python 1+1 in a session", two(&atoll, "/v1/jupyter/execute", Some("b"))?),
    ];
    race(setting.plan(15), &mut python_lanes);
    let mut node_lanes = [
        Lane::new("floor: node -e 1+1", || plain_node(&node)),
        Lane::new("Atoll, Node 1+1 in a fresh process", two(&atoll, "/v1/nodejs/execute", None)?),
        Lane::new("Atoll, Node 1+1 in a session", two(&atoll, "/v1/nodejs/execute", Some("b"))?),
    ];
    // Forty milliseconds per sample.
    race(setting.plan(5), &mut node_lanes);
    let ready = on_a_ready_kernel(setting, python)?;

    let (floor, live) = (python_lanes[0].result()?.median(), python_lanes[1].result()?.median());
    let plain = node_lanes[0].result()?.median();
    let (fresh, kept) = (node_lanes[1].result()?.median(), node_lanes[2].result()?.median());
    let mut report = Report {
        title: "Code",
        about: "Python: `1+1` in a live kernel, over HTTP, against jupyter_client on a kernel of its own; then the \
                first execution after a start with `--warm-kernel`, from the request to its result, session \
                included. Node: `1+1` in a live session and in a process of its own, against `node -e`."
            .to_owned(),
        columns: TIME_COLUMNS.into(),
        ..Report::default()
    };
    report_lanes(&mut report, &python_lanes, floor, live);
    report.row(time_row("Atoll, first Python on a ready kernel", &ready, floor, live));
    report_lanes(&mut report, &node_lanes, plain, fresh);
    let times = |ours: Duration, theirs| format!("{:.2}", ratio(ours, theirs));
    report.bars = vec![
        Bar::new(
            "Python in a session ≤ 1.3 × jupyter_client",
            times(live, floor),
            ratio(live, floor) <= LIVE_PYTHON_BAR,
        ),
        Bar::new(
            "first Python on a ready kernel ≤ 100 ms",
            format!("{} ms", millis(ready.median())),
            ready.median() <= READY_BAR,
        ),
        Bar::new("Node in a session ≤ 5 ms", format!("{} ms", millis(kept)), kept <= LIVE_NODE_BAR),
        Bar::new(
            "Node in a fresh process ≤ 1.5 × node -e",
            times(fresh, plain),
            ratio(fresh, plain) <= FRESH_NODE_BAR,
        ),
        Bar::new("nothing runs for code before it is used", format!("{idle} processes"), idle <= 4),
    ];
    Ok(report)
}

/// Runs `1+1` on one connection, in a session or without one.
fn two(
    server: &Server,
    path: &str,
    session: Option<&str>,
) -> Result<impl FnMut() -> Result<Duration, Failure>, Failure> {
    let request = execution(path, session);
    let mut connection = server.connect()?;
    let is_python = path.contains("jupyter");
    Ok(move || {
        let (duration, response) = connection.time(&request)?;
        // A program's last value is nobody's; only a session's is told.
        check(&response, is_python || session.is_some())?;
        Ok(duration)
    })
}

fn execution(path: &str, session: Option<&str>) -> Request {
    authorised_post(path, &json!({"code": "1+1", "session_id": session}))
}

fn check(response: &Response, told: bool) -> Result<(), Failure> {
    let answer: Value = response.json()?;
    let data = &answer["data"];
    let result = data["outputs"].as_array().and_then(|outputs| {
        outputs.iter().find_map(|output| output.pointer("/data/text~1plain")?.as_str())
    });
    if data["status"] == "ok" && (!told || result == Some("2")) {
        Ok(())
    } else {
        Err(format!("1+1 ended as {answer}").into())
    }
}

/// The first execution of servers that keep a kernel ready, once it is.
fn on_a_ready_kernel(setting: &Setting, python: &Path) -> Result<Samples, Failure> {
    let launch = setting.atoll.clone().finding_programs_in(python).with("--warm-kernel");
    let mut samples = Samples::default();
    for _ in 0..setting.choose(10, 3) {
        let server = launch.start()?;
        let mut connection = server.connect()?;
        let metrics = authorised_get("/metrics");
        let began = Instant::now();
        loop {
            let text = connection.ask(&metrics)?;
            if String::from_utf8_lossy(&text.body).contains("\natoll_jupyter_kernels_ready 1") {
                break;
            }
            if began.elapsed() > KERNEL_PATIENCE {
                return Err("no kernel stood ready in time".into());
            }
            sleep(Duration::from_millis(20));
        }
        let (duration, response) = connection.time(&execution("/v1/jupyter/execute", None))?;
        check(&response, true)?;
        samples.push(duration);
    }
    Ok(samples)
}

fn plain_node(node: &str) -> Result<Duration, Failure> {
    let mut command = Command::new(node);
    command.args(["-e", "1+1"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    in_clean_environment(&mut command, &std::env::temp_dir());
    let started = Instant::now();
    let output = command.spawn()?.wait_with_output()?;
    let duration = started.elapsed();
    if output.status.success() { Ok(duration) } else { Err("node -e 1+1 failed".into()) }
}
