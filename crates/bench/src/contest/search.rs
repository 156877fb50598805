//! Searching a large tree by content and by name, against the programs people would run for it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Setting;
use crate::Failure;
use crate::http::Request;
use crate::race::{Lane, race, report_lanes};
use crate::report::{Bar, Report, TIME_COLUMNS};
use crate::server::{Server, authorised_post, in_clean_environment, locate};

/// How many times the program's time the same search may take through the API.
const BAR: f64 = 1.2;
/// What is looked for, and in how many of the files it is.
const NEEDLE: &str = "needle_in_a_haystack";
const EVERY: usize = 250;

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let files = setting.choose(50_000, 2_000);
    let directory = tempfile::tempdir()?;
    let tree = directory.path();
    grow(tree, files)?;
    let hits = files / EVERY;
    let pythons = files / 5;
    let atoll = setting.atoll.start()?;
    let path = tree.display().to_string();

    let grep = json!({"path": path, "pattern": NEEDLE, "max_results": 10_000});
    let grep = authorised_post("/v1/file/grep", &grep);
    let mut contents = [
        Lane::prepared("rg, contents", program("rg", &["--no-ignore", "-n", NEEDLE, &path], hits)),
        Lane::new("Atoll, contents", api(&atoll, grep, "/data/match_count", hits)?),
        Lane::prepared("grep -r, contents", program("grep", &["-rn", NEEDLE, &path], hits)),
    ];
    let glob = json!({"path": path, "pattern": "**/*.py", "max_results": 50_000, "include_metadata": false});
    let glob = authorised_post("/v1/file/glob", &glob);
    let fd = program("fdfind", &["--no-ignore", "--glob", "*.py", &path], pythons);
    let find = program("find", &[&path, "-name", "*.py", "-type", "f"], pythons);
    let mut names = [
        Lane::prepared("fd, names", fd),
        Lane::new("Atoll, names", api(&atoll, glob, "/data/total_count", pythons)?),
        Lane::prepared("find, names", find),
    ];
    let mut plan = setting.plan(10);
    (plan.warm_ups, plan.samples_per_round) = (2, 3);
    race(plan, &mut contents);
    race(plan, &mut names);

    let mut report = Report {
        title: "Searching 50,000 files",
        about: format!(
            "A tree of {files} files in {} directories, in the page cache. Contents: {hits} matches, with their lines. \
             Names: {pythons} files by `*.py`. The programs' times include their start, Atoll's include HTTP and JSON; \
             Atoll's results are in order, theirs are not.",
            files / 100
        ),
        columns: TIME_COLUMNS.into(),
        ..Report::default()
    };
    for (lanes, peer) in [(&contents, "rg"), (&names, "fd")] {
        let ours = lanes[1].result()?.median();
        let theirs = lanes[0].median_seconds();
        let floor = lanes[0].result().map_or(Duration::ZERO, crate::statistics::Samples::median);
        report_lanes(&mut report, lanes, floor, ours);
        let text = format!("{}: ≤ {BAR} × {peer}", lanes[1].name);
        report.bars.push(match theirs {
            Some(theirs) => {
                let times = ours.as_secs_f64() / theirs;
                Bar::new(text, format!("{times:.2} × {peer}"), times <= BAR)
            }
            None => Bar::unknown(text, format!("{peer} is not installed")),
        });
    }
    Ok(report)
}

/// Makes the tree: text of a few kilobytes per file, the needle in some.
fn grow(tree: &Path, files: usize) -> Result<(), Failure> {
    let line =
        "fn ordinary(line: &str) -> usize { line.split_whitespace().count() } // and so on\n";
    for number in 0..files {
        let directory = tree.join(format!("part{:03}", number / 1000));
        let directory = directory.join(format!("module{:02}", number / 100 % 10));
        if number % 100 == 0 {
            fs::create_dir_all(&directory)?;
        }
        let mut text = line.repeat(10 + number % 30);
        if number % EVERY == 0 {
            text.push_str("let found = ");
            text.push_str(NEEDLE);
            text.push('\n');
        }
        let extension = ["rs", "py", "md", "txt", "js"][number % 5];
        fs::write(directory.join(format!("file{number}.{extension}")), text)?;
    }
    Ok(())
}

/// Runs a program and counts the lines it prints.
fn program(
    name: &str,
    arguments: &[&str],
    expected: usize,
) -> Result<impl FnMut() -> Result<Duration, Failure> + use<>, Failure> {
    let program = locate(name)?;
    let arguments: Vec<_> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    Ok(move || {
        let mut command = Command::new(&program);
        command.args(&arguments).stdin(Stdio::null()).stderr(Stdio::null());
        in_clean_environment(&mut command, &std::env::temp_dir());
        let started = Instant::now();
        let output = command.output()?;
        let duration = started.elapsed();
        match memchr::memchr_iter(b'\n', &output.stdout).count() {
            found if found == expected => Ok(duration),
            found => Err(format!("found {found} instead of {expected}").into()),
        }
    })
}

/// Asks Atoll and compares the number it found.
fn api(
    server: &Server,
    request: Request,
    count: &'static str,
    expected: usize,
) -> Result<impl FnMut() -> Result<Duration, Failure> + use<>, Failure> {
    let mut connection = server.connect()?;
    Ok(move || {
        let (duration, response) = connection.time(&request)?;
        let answer: Value = response.json()?;
        match answer.pointer(count).and_then(Value::as_u64) {
            Some(found) if usize::try_from(found) == Ok(expected) => Ok(duration),
            found => Err(format!("found {found:?} instead of {expected}").into()),
        }
    })
}
