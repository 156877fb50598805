//! A gigabyte of output: it must cost the server no memory, and none of it may be lost.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;

use super::{Setting, check_success, run_in_atoll};
use crate::Failure;
use crate::report::{Bar, Report, megabytes};
use crate::sequence::Sequence;
use crate::server::authorised_post;
use crate::usage::{forget_peak, peak_bytes, to_float, tree, usage};

const MEMORY_BAR: u64 = 8 << 20;

#[derive(Deserialize)]
struct Answer<T> {
    data: T,
}

#[derive(Deserialize)]
struct Executed {
    session_id: String,
    command_id: String,
    exit_code: Option<i64>,
    offset: u64,
}

#[derive(Deserialize)]
struct Part {
    stdout: String,
    offset: u64,
}

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let bytes: u64 = setting.choose(1_000_000_000, 50_000_000);
    let atoll = setting.atoll.start()?;
    let mut connection = atoll.connect()?;
    check_success(&connection.ask(&run_in_atoll("true", None))?)?;
    // The server's own processes: what a command holds is not its.
    let own = tree(atoll.pid());

    let before = usage(&own).resident_bytes;
    forget_peak(&own);
    let command = format!("seq 1 {bytes} | head -c {bytes}");
    let exec = json!({"command": command, "session_id": "big", "max_output_length": 1000});
    let (took, response) = connection.time(&authorised_post("/v1/bash/exec", &exec))?;
    let running_peak = peak_bytes(&own);
    let executed = response.json::<Answer<Executed>>()?.data;
    if executed.exit_code != Some(0) {
        return Err(format!("the command ended with {:?}", executed.exit_code).into());
    }

    forget_peak(&own);
    let read_before = usage(&own).resident_bytes;
    let started = Instant::now();
    let (mut sequence, mut answers) = (Sequence::new(), 0);
    let mut asking = Duration::ZERO;
    let lossless = loop {
        let read = json!({
            "session_id": executed.session_id,
            "command_id": executed.command_id,
            "offset": sequence.total,
        });
        let (duration, response) = connection.time(&authorised_post("/v1/bash/output", &read))?;
        asking += duration;
        answers += 1;
        let part = response.json::<Answer<Part>>()?.data;
        if part.stdout.is_empty() {
            break Ok(());
        }
        if let Err(error) = sequence.accept(part.stdout.as_bytes()) {
            break Err(error);
        }
        if part.offset != sequence.total {
            break Err(format!("offset {} after {} bytes", part.offset, sequence.total).into());
        }
    };
    let reading = started.elapsed();
    let reading_peak = peak_bytes(&own);

    let grown = running_peak.saturating_sub(before);
    let mut report = Report {
        title: "1 GB of output",
        about: format!(
            "`{command}` through one exec that answers with 1000 characters of it; then all of it by offset in \
             {answers} answers, each byte compared with what `seq` must print. Peaks are the kernel's own high-water \
             marks of the server's processes."
        ),
        columns: vec!["", "MB", "s", "MB/s", "RSS before MB", "RSS peak MB", "growth MB"],
        ..Report::default()
    };
    let row = |name: &str, bytes: u64, time: Duration, before: u64, peak: u64| {
        let rate = to_float(bytes) / 1e6 / time.as_secs_f64();
        let memory = [before, peak, peak.saturating_sub(before)].map(megabytes);
        let mut row = vec![name.to_owned(), megabytes(bytes), format!("{:.2}", time.as_secs_f64())];
        row.push(format!("{rate:.0}"));
        row.extend(memory);
        row
    };
    report.row(row("command runs", executed.offset, took, before, running_peak));
    report.row(row("read by offset", sequence.total, asking, read_before, reading_peak));
    let verdict = match &lossless {
        Ok(()) => format!(
            "{} of {bytes} bytes, all in place ({:.1} s)",
            sequence.total,
            reading.as_secs_f64()
        ),
        Err(error) => error.to_string(),
    };
    report.bars = vec![
        Bar::new("RSS grows by ≤ 8 MiB", format!("{} MB", megabytes(grown)), grown <= MEMORY_BAR),
        Bar::new("lossless by offset", verdict, lossless.is_ok() && sequence.total == bytes),
    ];
    Ok(report)
}
