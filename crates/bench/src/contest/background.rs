//! A command that leaves a child behind which holds its output: the answer must not wait for the child.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Setting, check_success, run_in_atoll};
use crate::Failure;
use crate::race::{Lane, Plan, race, report_lanes};
use crate::report::{Bar, Report, TIME_COLUMNS, millis};
use crate::server::{Server, authorised_post};

const PLAIN: &str = "echo hi";
const WITH_CHILD: &str = "sleep 5 & echo hi";
const BAR: Duration = Duration::from_millis(10);

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let atoll = setting.atoll.start()?;
    let mut lanes = [
        Lane::new("Atoll, echo hi", closing_sampler(&atoll, PLAIN)?),
        Lane::new("Atoll, sleep 5 & echo hi", closing_sampler(&atoll, WITH_CHILD)?),
    ];
    race(setting.plan(15), &mut lanes);

    let peers = [setting.sandbox_agent(), setting.swe_rex()];
    let mut theirs = peers.each_ref().map(|peer| {
        Lane::prepared(format!("{}, sleep 5 & echo hi", peer.name), peer.sampler(WITH_CHILD))
    });
    race(Plan { warm_ups: 0, rounds: 1, samples_per_round: 1 }, &mut theirs);

    let (plain, with_child) = (lanes[0].result()?.median(), lanes[1].result()?.median());
    let late = with_child.saturating_sub(plain);
    let mut report = Report {
        title: "Background child holds the output",
        about: "`sleep 5 & echo hi` against `echo hi` alone (the floor here): how much later the answer comes although \
                nothing in the foreground runs any more. One sample of each peer."
            .to_owned(),
        columns: TIME_COLUMNS.into(),
        ..Report::default()
    };
    report_lanes(&mut report, &lanes, plain, with_child);
    report_lanes(&mut report, &theirs, plain, with_child);
    let measured = format!("{} ms later than without the child", millis(late));
    report.bars.push(Bar::new(
        "returns ≤ 10 ms after the foreground command's end",
        measured,
        late <= BAR,
    ));
    Ok(report)
}

/// Runs the command again and again, and closes its session after the time is taken: the child it leaves would hold the
/// session for five seconds, and their number is bounded.
fn closing_sampler(
    server: &Server,
    command: &str,
) -> Result<impl FnMut() -> Result<Duration, Failure>, Failure> {
    let mut connection = server.connect()?;
    let request = run_in_atoll(command, None);
    Ok(move || {
        let (duration, response) = connection.time(&request)?;
        check_success(&response)?;
        let answer: Value = response.json()?;
        let session = answer["data"]["session_id"].as_str().ok_or("no session id in the answer")?;
        let path = format!("/v1/bash/sessions/{session}/close");
        connection.ask(&authorised_post(&path, &json!({})))?.json::<Value>()?;
        Ok(duration)
    })
}
