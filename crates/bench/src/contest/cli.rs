//! The command line: what a person or a script waits for, from the start of the program to its end.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Setting;
use crate::Failure;
use crate::race::{Lane, race, report_lanes};
use crate::report::{Bar, Report, TIME_COLUMNS, millis};
use crate::server::{in_clean_environment, locate};

const EXEC_BAR: Duration = Duration::from_millis(15);

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let home = tempfile::tempdir()?;
    let server = setting.atoll.start()?;
    let url = format!("http://127.0.0.1:{}", server.port);
    let (bash, curl) = (locate("bash")?, locate("curl"));
    let atoll = setting.atoll.program();
    let ours = |words: &'static [&'static str]| {
        let (url, home) = (url.clone(), home.path());
        move || time(atoll, words, &url, home)
    };
    let address = format!("{url}/v1/bash/exec");
    let by_curl = curl.map(|curl| {
        let address = address.clone();
        let home = home.path();
        move || {
            let json = "content-type: application/json";
            let words = ["-sf", "-H", json, "-d", "{\"command\":\"true\"}", address.as_str()];
            time(Path::new(&curl), &words, "", home)
        }
    });
    let mut lanes = [
        Lane::new("floor: bash -c true, here", || {
            time(Path::new(&bash), &["-c", "true"], "", home.path())
        }),
        Lane::new("atoll exec true", ours(&["exec", "true"])),
        Lane::new("atoll system ping", ours(&["system", "ping"])),
        Lane::new("atoll browser --help", ours(&["browser", "--help"])),
        Lane::new("atoll --version", ours(&["--version"])),
        Lane::prepared("curl, POST /v1/bash/exec", by_curl),
    ];
    race(setting.plan(20), &mut lanes);
    let (floor, median) = (lanes[0].result()?.median(), lanes[1].result()?.median());
    let mut report = Report {
        title: "Command line",
        about: "From the start of a program to its end, output thrown away. `exec` connects, runs the command in the \
                sandbox on three pipes and passes its exit code on; `--version` is what starting the program costs."
            .to_owned(),
        columns: TIME_COLUMNS.into(),
        ..Report::default()
    };
    report_lanes(&mut report, &lanes, floor, median);
    let measured = format!("{} ms", millis(median));
    report.bars.push(Bar::new("`atoll exec true` ≤ 15 ms in all", measured, median <= EXEC_BAR));
    Ok(report)
}

fn time(program: &Path, words: &[&str], url: &str, home: &Path) -> Result<Duration, Failure> {
    let mut command = Command::new(program);
    in_clean_environment(&mut command, home);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !url.is_empty() {
        command.env("ATOLL_URL", url);
    }
    let started = Instant::now();
    let status = command.status()?;
    let duration = started.elapsed();
    let name = program.display();
    if status.success() { Ok(duration) } else { Err(format!("{name} ended with {status}").into()) }
}
