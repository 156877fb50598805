//! The echo of a key: from the message that brings it to the one that shows it, alone and beside a flood.
//!
//! The flood runs in another terminal of the same server and is read as fast as it comes, as a second window would.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Setting;
use super::terminal::{Decode, Terminal, decode_atoll, decode_terminado};
use crate::Failure;
use crate::report::{Bar, Report};
use crate::server::{Launch, Server};
use crate::statistics::Samples;

const BAR: Duration = Duration::from_millis(5);
/// Letters typed before the line is wiped.
const LINE: usize = 50;
/// Wipes the line.
const KILL_LINE: &str = "\u{15}";

/// How a server's terminals are spoken to.
#[derive(Clone, Copy)]
struct Accent {
    path: &'static str,
    decode: Decode,
    input: fn(&str) -> Value,
}

const ATOLL: Accent = Accent {
    path: "/v1/shell/ws",
    decode: decode_atoll,
    input: |text| json!({"type": "input", "data": text}),
};
const TERMINADO: Accent =
    Accent { path: "/terminal", decode: decode_terminado, input: |text| json!(["stdin", text]) };

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let keys = setting.choose(5000, 500);
    let terminado = Launch::terminado(&setting.peers);
    let mut report = Report {
        title: "The echo of a key",
        about: format!(
            "{keys} letters, one at a time, typed at the prompt of a shell; the time until each shows. Beside a flood: \
             another terminal of the same server prints `yes` and is read as fast as it comes."
        ),
        columns: vec!["", "keys", "p50 ms", "p95 ms", "p99 ms", "worst ms"],
        ..Report::default()
    };
    let mut ours = None;
    let mut theirs = None;
    for (launch, accent) in [(&setting.atoll, ATOLL), (&terminado, TERMINADO)] {
        for flooded in [false, true] {
            let name =
                format!("{}, {}", launch.name, if flooded { "beside a flood" } else { "alone" });
            let measured =
                launch.start().and_then(|server| type_keys(&server, accent, keys, flooded));
            let samples = match measured {
                Ok(samples) => samples,
                Err(error) if launch.name == setting.atoll.name => return Err(error),
                Err(error) => {
                    report.absent(&name, &error.to_string());
                    continue;
                }
            };
            let milliseconds = |time: Duration| format!("{:.2}", time.as_secs_f64() * 1000.0);
            report.row([
                name,
                samples.count().to_string(),
                milliseconds(samples.median()),
                milliseconds(samples.percentile(95)),
                milliseconds(samples.percentile(99)),
                milliseconds(samples.greatest()),
            ]);
            if flooded {
                let kept = samples.percentile(99);
                *if launch.name == setting.atoll.name { &mut ours } else { &mut theirs } =
                    Some(kept);
            }
        }
    }
    if let Some(ours) = ours {
        let told = format!("{:.2} ms", ours.as_secs_f64() * 1000.0);
        report.bars.push(Bar::new("beside a flood: p99 ≤ 5 ms", told, ours <= BAR));
        let theirs = theirs.map(|time| time.as_secs_f64());
        let ahead = Bar::ahead(terminado.name, ours.as_secs_f64(), theirs, true);
        report.bars.push(ahead.about("beside a flood"));
    }
    Ok(report)
}

fn type_keys(
    server: &Server,
    accent: Accent,
    keys: usize,
    flooded: bool,
) -> Result<Samples, Failure> {
    let mut terminal = Terminal::open(server, accent.path, accent.decode)?;
    terminal.wait_for(|shown| shown.contains(['$', '#']))?;
    let flood = flooded.then(|| Flood::start(server, accent)).transpose()?;
    let mut samples = Samples::default();
    for count in 0..keys {
        if count > 0 && count % LINE == 0 {
            wipe(&mut terminal, accent)?;
        }
        let started = Instant::now();
        terminal.send(&(accent.input)("x"))?;
        terminal.wait_for(|shown| shown.contains('x'))?;
        samples.push(started.elapsed());
    }
    if let Some(flood) = flood {
        flood.end()?;
    }
    Ok(samples)
}

/// Wipes the line and waits until that has been done: what is typed behind it shows after it.
fn wipe(terminal: &mut Terminal, accent: Accent) -> Result<(), Failure> {
    terminal.send(&(accent.input)(&format!("{KILL_LINE}w")))?;
    terminal.wait_for(|shown| shown.contains('w'))?;
    Ok(())
}

/// A terminal that prints without end, and its reader.
struct Flood {
    stop: Arc<AtomicBool>,
    reader: JoinHandle<Result<(), Failure>>,
}

impl Flood {
    fn start(server: &Server, accent: Accent) -> Result<Self, Failure> {
        let mut terminal = Terminal::open(server, accent.path, accent.decode)?;
        terminal.wait_for(|shown| shown.contains(['$', '#']))?;
        terminal.send(&(accent.input)("yes\n"))?;
        terminal.wait_for(|shown| shown.contains("y\r\ny\r\n"))?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let reader = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                terminal.read()?;
            }
            Ok(())
        });
        Ok(Self { stop, reader })
    }

    /// Ends the reading; an error in it would mean that there was no flood.
    fn end(self) -> Result<(), Failure> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.reader.join().map_err(|_| "the reader of the flood panicked")?;
        ended.map_err(|error| format!("the flood: {error}").into())
    }
}
