//! Small files through one keep-alive connection, against the system calls alone.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Setting;
use crate::Failure;
use crate::http::Request;
use crate::race::{Lane, race, report_lanes};
use crate::report::{Bar, Report, TIME_COLUMNS, millis};
use crate::server::{Server, authorised_post};

const BAR: Duration = Duration::from_micros(500);
const BYTES: usize = 4096;

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let directory = tempfile::tempdir()?;
    let (read, written) = (directory.path().join("read"), directory.path().join("written"));
    let text = "0123456789abcde\n".repeat(BYTES / 16);
    fs::write(&read, &text)?;
    let atoll = setting.atoll.start()?;
    let read_request = authorised_post("/v1/file/read", &json!({"file": read}));
    let write = json!({"file": written, "content": text});
    let write_request = authorised_post("/v1/file/write", &write);
    let mut lanes = [
        Lane::new("floor: read", || read_directly(&read)),
        Lane::new("Atoll, read", api(&atoll, read_request)?),
        Lane::new("floor: write, rename", || write_directly(directory.path(), &text)),
        Lane::new("Atoll, write", api(&atoll, write_request)?),
    ];
    race(setting.plan(50), &mut lanes);
    if fs::read(&written)? != text.as_bytes() {
        return Err("what was written is not what was sent".into());
    }

    let mut report = Report {
        title: "Small files",
        about: format!(
            "A file of {BYTES} bytes read, and written anew, per request on one keep-alive connection. The floors are \
             the system calls alone: reading the file, and writing a new one and renaming it over the old."
        ),
        columns: TIME_COLUMNS.into(),
        ..Report::default()
    };
    for pair in lanes.chunks(2) {
        let [floor, ours] = pair else { continue };
        let (floor, median) = (floor.result()?.median(), ours.result()?.median());
        report_lanes(&mut report, pair, floor, median);
        let text = format!("{}: p50 ≤ 0.5 ms", ours.name);
        report.bars.push(Bar::new(text, format!("{} ms", millis(median)), median <= BAR));
    }
    Ok(report)
}

fn read_directly(file: &Path) -> Result<Duration, Failure> {
    let started = Instant::now();
    let bytes = fs::read(file)?;
    let duration = started.elapsed();
    if bytes.len() == BYTES { Ok(duration) } else { Err("the file is not whole".into()) }
}

fn write_directly(directory: &Path, text: &str) -> Result<Duration, Failure> {
    let (new, old) = (directory.join("floor.new"), directory.join("floor"));
    let started = Instant::now();
    fs::write(&new, text)?;
    fs::rename(&new, &old)?;
    Ok(started.elapsed())
}

fn api(
    server: &Server,
    request: Request,
) -> Result<impl FnMut() -> Result<Duration, Failure> + use<>, Failure> {
    let mut connection = server.connect()?;
    Ok(move || {
        let (duration, response) = connection.time(&request)?;
        let answer: Value = response.json()?;
        match answer["success"].as_bool() {
            Some(true) => Ok(duration),
            _ => Err(answer["message"].to_string().into()),
        }
    })
}
