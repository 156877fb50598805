//! A storm of changes to files: all of them must arrive, and soon.

use std::fs::File;
use std::time::Instant;

use serde_json::{Value, json};

use super::Setting;
use crate::Failure;
use crate::report::{Bar, Report, millis};
use crate::server::authorised_post;
use crate::statistics::Samples;

const BAR: f64 = 10_000.0;
const STORMS: usize = 5;

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let files: u32 = setting.choose(15_000, 1_000);
    let atoll = setting.atoll.start()?;
    let mut connection = atoll.connect()?;
    let (mut making, mut arriving) = (Samples::default(), Samples::default());
    for _ in 0..setting.choose(STORMS, 1) {
        let directory = tempfile::tempdir()?;
        let create = json!({"path": directory.path(), "debounce": 50});
        let created = connection.ask(&authorised_post("/v1/file/watch", &create))?;
        let created: Value = created.json()?;
        let id = created["data"]["watcher_id"].as_str().ok_or("no watcher")?.to_owned();
        let started = Instant::now();
        for number in 0..files {
            File::create(directory.path().join(number.to_string()))?;
        }
        making.push(started.elapsed());
        let (mut seen, mut cursor) = (0, 0);
        while seen < files {
            let poll = json!({"cursor": cursor, "limit": 1000, "timeout": 30});
            let poll = authorised_post(&format!("/v1/file/watch/{id}/poll"), &poll);
            let answer: Value = connection.ask(&poll)?.json()?;
            let events = answer["data"]["events"].as_array().ok_or("no events")?;
            if events.is_empty() || answer["data"]["overflow"] == true {
                return Err(format!("{seen} of {files} changes arrived").into());
            }
            let creations = events.iter().filter(|event| event["type"] == "create").count();
            seen += u32::try_from(creations)?;
            cursor = answer["data"]["cursor"].as_u64().unwrap_or_default();
        }
        arriving.push(started.elapsed());
    }

    let rate = |samples: &Samples| f64::from(files) / samples.median().as_secs_f64();
    let mut report = Report {
        title: "A storm of changes",
        about: format!(
            "{files} files made as fast as one thread can in a watched directory, read by polling 1000 at a time over \
             one connection, from the first file made to the last event read."
        ),
        columns: vec!["", "storms", "p50 ms", "files/s"],
        ..Report::default()
    };
    for (name, samples) in [("files made", &making), ("all events read", &arriving)] {
        let row = [
            name.to_owned(),
            samples.count().to_string(),
            millis(samples.median()),
            format!("{:.0}", rate(samples)),
        ];
        report.row(row);
    }
    let delivered = rate(&arriving);
    let text = "≥ 10,000 events/s delivered, none lost";
    report.bars = vec![Bar::new(text, format!("{delivered:.0} events/s"), delivered >= BAR)];
    Ok(report)
}
