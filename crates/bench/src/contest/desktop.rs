//! The desktop: pictures of the screen against ImageMagick, a viewer's traffic against websockify on the same X server,
//! and what a recording costs.

mod bridge;

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde_json::{Value, json};

use super::Setting;
use crate::Failure;
use crate::http::Request;
use crate::race::{Lane, Plan, race, report_lanes};
use crate::report::{Bar, Report, TIME_COLUMNS, millis};
use crate::server::{Server, authorised_get, authorised_post, in_clean_environment};
use crate::statistics::{Samples, ratio};
use crate::usage::{processor_seconds, tree};

const PNG_BAR: Duration = Duration::from_millis(60);
const JPEG_BAR: Duration = Duration::from_millis(30);
const CLICK_BAR: Duration = Duration::from_millis(5);
const IMPORT_BAR: f64 = 5.0;
const RECORD_BAR: f64 = 0.5;
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let atoll = setting.atoll.start()?;
    let mut report = Report {
        title: "Desktop",
        about: "A screen of 1280x1024 with Chromium on it: pictures through the API and by ImageMagick's `import`, one \
                click, and a VNC viewer that asks for whole raw pictures through our WebSocket and through websockify, \
                both in front of the same X server: bytes carried per processor second of the bridge. Below both is what the \
                kernel asks of whoever only reads these bytes from one socket and writes them to another. A recording at \
                15 pictures per second of 1280x720: processor seconds of ffmpeg per second."
            .to_owned(),
        columns: TIME_COLUMNS.into(),
        ..Report::default()
    };
    atoll.connect()?.ask(&authorised_get("/v1/browser/screenshot"))?;
    let told: Value = atoll.connect()?.ask(&authorised_get("/v1/desktop/info"))?.json()?;
    let told = &told["data"];
    if told["running"] != true {
        return Err(format!("the desktop does not run: {told}").into());
    }
    pictures(setting, &atoll, told, &mut report)?;
    bridge::compare(setting, &atoll, told, &mut report)?;
    recording(setting, &atoll, &mut report)?;
    Ok(report)
}

fn pictures(
    setting: &Setting,
    atoll: &Server,
    told: &Value,
    report: &mut Report,
) -> Result<(), Failure> {
    let shot = |form: &str| authorised_get(&format!("/v1/browser/screenshot?format={form}"));
    let click = json!({"action_type": "CLICK", "x": 900, "y": 900});
    let plan = Plan { warm_ups: 3, rounds: setting.choose(10, 2), samples_per_round: 5 };
    let text = |field: &str| told[field].as_str().unwrap_or_default().to_owned();
    let (display, authority) = (text("display"), text("authority"));
    let mut lanes = [
        Lane::new("ImageMagick import, PNG", || import(&display, &authority, "png")),
        Lane::new("ImageMagick import, JPEG", || import(&display, &authority, "jpg")),
        Lane::new("Atoll, PNG", sampler(atoll, shot("png"))?),
        Lane::new("Atoll, JPEG", sampler(atoll, shot("jpeg"))?),
        Lane::new("Atoll, click", sampler(atoll, authorised_post("/v1/browser/actions", &click))?),
    ];
    race(plan, &mut lanes);
    let medians: Vec<_> = lanes.iter().map(|lane| lane.result().map(Samples::median)).collect();
    let median = |at: usize| medians[at].as_ref().copied().unwrap_or_default();
    report_lanes(report, &lanes, median(0), median(2));
    for (name, at, bar) in [("PNG", 2, PNG_BAR), ("JPEG", 3, JPEG_BAR), ("click", 4, CLICK_BAR)] {
        let text = format!("{name} ≤ {} ms", bar.as_millis());
        report.bars.push(match &medians[at] {
            Ok(median) => Bar::new(text, format!("{} ms", millis(*median)), *median <= bar),
            Err(error) => Bar::unknown(text, error.to_string()),
        });
    }
    for (name, theirs, ours) in [("PNG", 0, 2), ("JPEG", 1, 3)] {
        let text = format!("{name} ≥ {IMPORT_BAR} × faster than import");
        report.bars.push(match (&medians[theirs], &medians[ours]) {
            (Ok(theirs), Ok(ours)) => {
                let times = ratio(*theirs, *ours);
                Bar::new(text, format!("{times:.1} ×"), times >= IMPORT_BAR)
            }
            (Err(error), _) | (_, Err(error)) => Bar::unknown(text, error.to_string()),
        });
    }
    Ok(())
}

fn sampler(
    server: &Server,
    request: Request,
) -> Result<impl FnMut() -> Result<Duration, Failure>, Failure> {
    let mut connection = server.connect()?;
    Ok(move || {
        let (duration, response) = connection.time(&request)?;
        if response.status == 200 {
            Ok(duration)
        } else {
            Err(String::from_utf8_lossy(&response.body).into_owned().into())
        }
    })
}

fn import(display: &str, authority: &str, form: &str) -> Result<Duration, Failure> {
    let mut command = Command::new("import");
    in_clean_environment(&mut command, Path::new("/tmp"));
    command.args(["-silent", "-window", "root", &format!("{form}:-")]);
    command.env("DISPLAY", display).env("XAUTHORITY", authority);
    let started = Instant::now();
    let output = command.output()?;
    let duration = started.elapsed();
    if output.status.success() && !output.stdout.is_empty() {
        Ok(duration)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
    }
}

/// What ffmpeg uses of a processor while it records.
fn recording(setting: &Setting, atoll: &Server, report: &mut Report) -> Result<(), Failure> {
    let mut connection = atoll.connect()?;
    let mut ask = |path: &str, body: Value| -> Result<Value, Failure> {
        connection.ask(&authorised_post(path, &body))?.json()
    };
    ask("/v1/browser/config", json!({"resolution": {"width": 1280, "height": 720}}))?;
    let film = tempfile::tempdir()?;
    let path = film.path().join("film.mp4");
    let start = json!({"action": "start", "save_path": path, "fps": 15});
    let started = ask("/v1/display/record", start)?;
    let text = format!("recording ≤ {:.0} % of a processor", RECORD_BAR * 100.0);
    if started["success"] != true {
        report.bars.push(Bar::unknown(text, started.to_string()));
        return Ok(());
    }
    let named = |pid: &Pid| {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_pid()));
        name.is_ok_and(|name| name.trim() == "ffmpeg")
    };
    let makers: Vec<_> = tree(atoll.pid()).into_iter().filter(named).collect();
    let seconds = setting.choose(10.0, 2.0);
    let (before, began) = (processor_seconds(&makers), Instant::now());
    sleep(Duration::from_secs_f64(seconds));
    let share = (processor_seconds(&makers) - before) / began.elapsed().as_secs_f64();
    ask("/v1/display/record", json!({"action": "stop"}))?;
    report.row(["Atoll, recording".to_owned(), format!("{:.0} % of a processor", share * 100.0)]);
    let met = !makers.is_empty() && share <= RECORD_BAR;
    report.bars.push(Bar::new(text, format!("{:.0} %", share * 100.0), met));
    Ok(())
}
