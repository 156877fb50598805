//! Ten thousand commands: nothing of a server may grow with them, and every exit code must be the right one.

use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use super::{Setting, exit_code, run_in_atoll};
use crate::Failure;
use crate::http::Connection;
use crate::report::{Bar, Report, megabytes};
use crate::statistics::slope;
use crate::usage::{Usage, to_float, tree, usage};

const CONNECTIONS: usize = 8;
const BATCHES: usize = 10;
/// Growth that a page more here and there can explain.
const MEMORY_SLACK: u64 = 1 << 20;
/// How long ended processes and closed files may take to go.
const SETTLING: Duration = Duration::from_secs(5);

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let per_batch = setting.choose(1000, 50);
    let atoll = setting.atoll.start()?;
    let mut connections =
        (0..CONNECTIONS).map(|_| atoll.connect()).collect::<Result<Vec<_>, _>>()?;
    let look = || usage(&tree(atoll.pid()));

    // Beyond the number of sessions that are kept, so that every table and every pool has its full size.
    let warm_up = setting.choose(2000, 500);
    let mut wrong = exec_many(&mut connections, warm_up)?;
    sleep(Duration::from_secs(1));
    let before = look();
    let mut points = vec![(0.0, to_float(before.own_bytes))];
    let mut busy = Duration::ZERO;
    for batch in 1..=BATCHES {
        let started = Instant::now();
        wrong += exec_many(&mut connections, per_batch)?;
        busy += started.elapsed();
        points.push((to_float((batch * per_batch) as u64), to_float(look().own_bytes)));
    }
    let after = settled(before, look);
    let total = BATCHES * per_batch;
    let bytes_per_exec = slope(&points);

    let mut report = Report {
        title: "10,000 execs",
        about: format!(
            "{total} commands `exit N` over {CONNECTIONS} connections at once, after {warm_up} to warm up: {:.0} per \
             second, {:+.0} bytes of memory of its own per exec (slope of {} looks). What the server and everything below it hold, \
             before and after:",
            to_float(total as u64) / busy.as_secs_f64(),
            bytes_per_exec,
            points.len()
        ),
        columns: vec!["", "before", "after", "growth"],
        ..Report::default()
    };
    let kinds = [
        ("descriptors", before.descriptors, after.descriptors),
        ("threads", before.threads, after.threads),
        ("processes", before.processes, after.processes),
        ("zombies", before.zombies, after.zombies),
    ];
    let mut grown = Vec::new();
    for (name, before, after) in kinds {
        report.row([name.to_owned(), before.to_string(), after.to_string(), growth(before, after)]);
        if after > before {
            grown.push(name);
        }
    }
    let (held, holds) = (before.own_bytes, after.own_bytes);
    let more = (to_float(holds) - to_float(held)) / 1e6;
    report.row([
        "own memory MB".to_owned(),
        megabytes(held),
        megabytes(holds),
        format!("{more:+.1}"),
    ]);
    let measured = if grown.is_empty() { "none".to_owned() } else { grown.join(", ") };
    report.bars = vec![
        Bar::new(
            "no growth in descriptors, threads, processes, zombies",
            measured,
            grown.is_empty(),
        ),
        Bar::new(
            "memory of its own grows by no more than 1 MiB",
            format!("{more:+.1} MB, {bytes_per_exec:+.0} bytes per exec"),
            holds <= held + MEMORY_SLACK,
        ),
        Bar::new("every exit code is right", format!("{wrong} wrong"), wrong == 0),
    ];
    Ok(report)
}

/// Runs this many commands over all connections together; how many exit codes were wrong.
fn exec_many(connections: &mut [Connection], count: usize) -> Result<usize, Failure> {
    let step = connections.len();
    thread::scope(|scope| {
        let run = |first: usize, connection: &mut Connection| -> Result<usize, Failure> {
            let mut wrong = 0;
            for number in (first..count).step_by(step) {
                let code = number % 256;
                let response = connection.ask(&run_in_atoll(&format!("exit {code}"), None))?;
                wrong += usize::from(usize::try_from(exit_code(&response)?) != Ok(code));
            }
            Ok(wrong)
        };
        let running: Vec<_> = connections
            .iter_mut()
            .enumerate()
            .map(|(first, connection)| scope.spawn(move || run(first, connection)))
            .collect();
        let joined = running.into_iter().map(|running| {
            running.join().unwrap_or_else(|_| Err("a connection's thread panicked".into()))
        });
        joined.sum()
    })
}

/// The usage once it is back to what it was, or what it is when it has had time enough for that.
fn settled(before: Usage, look: impl Fn() -> Usage) -> Usage {
    let started = Instant::now();
    loop {
        let now = look();
        let back = now.descriptors <= before.descriptors
            && now.threads <= before.threads
            && now.processes <= before.processes
            && now.zombies <= before.zombies;
        if back || started.elapsed() > SETTLING {
            return now;
        }
        sleep(Duration::from_millis(50));
    }
}

fn growth(before: u64, after: u64) -> String {
    if after >= before { format!("+{}", after - before) } else { format!("-{}", before - after) }
}
