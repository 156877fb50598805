//! `atoll-bench`: Atoll beside the physical floor and its peers, on one machine, in one run.
//!
//! Absolute times of a shared machine mean little, so everything is measured in turns and compared as ratios. A missed
//! bar is told, never an error: only a contest that Atoll could not run at all makes the program fail.

mod arguments;
mod contest;
mod http;
mod race;
mod report;
mod sequence;
mod server;
mod statistics;
mod stopwatch;
mod usage;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use arguments::{Arguments, USAGE};
use contest::{CONTESTS, Setting};
use report::{Report, Verdict};
use server::Launch;

/// What went wrong, in words for the table.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args_os().skip(1)).and_then(known_contests) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("atoll-bench: {error}\n\n{}", usage_text());
            return ExitCode::from(2);
        }
    };
    if arguments.help {
        print(&usage_text());
        return ExitCode::SUCCESS;
    }
    let setting = Setting {
        atoll: Launch::atoll(&arguments.atoll),
        peers: arguments.peers.clone().unwrap_or_default(),
        python: arguments.python.clone(),
        quick: arguments.quick,
    };
    let (reports, failures) = run(&setting, &arguments.contests);
    print(&summary(&reports, &failures));
    if let Some(path) = &arguments.markdown {
        let mut text: String = reports.iter().map(|report| report.to_markdown() + "\n").collect();
        for failure in &failures {
            writeln!(text, "- **failed**: {failure}").ok();
        }
        if let Err(error) = std::fs::write(path, text.trim_end().to_owned() + "\n") {
            eprintln!("atoll-bench: {} could not be written: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the contests asked for, all when none is named. What went wrong is told beside the results of the others.
fn run(setting: &Setting, wanted: &[String]) -> (Vec<Report>, Vec<String>) {
    let (mut reports, mut failures) = (Vec::new(), Vec::new());
    for (name, contest) in CONTESTS {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        eprintln!("==> {name}");
        match contest(setting) {
            Ok(report) => {
                print(&report.to_text());
                reports.push(report);
            }
            Err(error) => {
                eprintln!("    failed: {error}");
                failures.push(format!("{name}: {error}"));
            }
        }
    }
    (reports, failures)
}

fn summary(reports: &[Report], failures: &[String]) -> String {
    let bars = || reports.iter().flat_map(|report| &report.bars);
    let count = |verdict| bars().filter(|bar| bar.verdict == verdict).count();
    let mut text = format!(
        "\n{} bars met, {} missed, {} not measured",
        count(Verdict::Met),
        count(Verdict::Missed),
        count(Verdict::Unknown)
    );
    for report in reports {
        for bar in report.bars.iter().filter(|bar| bar.verdict == Verdict::Missed) {
            write!(text, "\n  missed: {}: {}: {}", report.title, bar.text, bar.measured).ok();
        }
    }
    for failure in failures {
        write!(text, "\n  failed: {failure}").ok();
    }
    text
}

fn known_contests(arguments: Arguments) -> Result<Arguments, Failure> {
    let unknown = |wanted: &&String| !CONTESTS.iter().any(|(name, _)| name == *wanted);
    match arguments.contests.iter().find(unknown) {
        Some(wanted) => Err(format!("there is no contest {wanted:?}").into()),
        None => Ok(arguments),
    }
}

fn usage_text() -> String {
    let names: Vec<_> = CONTESTS.iter().map(|(name, _)| *name).collect();
    format!("{USAGE}\n                     {}", names.join(" "))
}

/// Prints a line; a reader that went away is no reason to stop measuring.
fn print(text: &str) {
    writeln!(std::io::stdout(), "{text}").ok();
}
