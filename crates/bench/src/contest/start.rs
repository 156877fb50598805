//! How soon a server works after its exec, and what it holds then.

use std::thread::sleep;
use std::time::Duration;

use super::Setting;
use crate::Failure;
use crate::report::{Bar, Report, megabytes, millis};
use crate::server::Launch;
use crate::statistics::Samples;
use crate::usage::{Usage, tree, usage};

/// What is still going on after the first answer has ended by then.
const SETTLING: Duration = Duration::from_millis(500);
const START_BAR: Duration = Duration::from_millis(50);
const MEMORY_BAR: u64 = 20_000_000;

struct Contender {
    launch: Launch,
    rounds: usize,
    samples: Samples,
    idle: Usage,
    failure: Option<String>,
}

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let rounds = setting.choose(20, 3);
    let contender = |launch: Launch, rounds| {
        let (samples, idle) = (Samples::default(), Usage::default());
        Contender { launch, rounds, samples, idle, failure: None }
    };
    let mut contenders = [
        contender(setting.atoll.clone(), rounds),
        contender(Launch::sandbox_agent(&setting.peers), rounds),
        // More than a second each, and far from the others.
        contender(Launch::swe_rex(&setting.peers), rounds.min(5)),
    ];
    // The first start of each reads its program from the disk: it does not count.
    for round in 0..=rounds {
        for contender in &mut contenders {
            if round <= contender.rounds && contender.failure.is_none() {
                let measured = contender.measure(round);
                contender.failure = measured.err().map(|error| error.to_string());
            }
        }
    }

    let mut report = Report {
        title: "Start and idle memory",
        about: "From the exec of the server to its first healthy answer, the first start left out; then what all its \
                processes hold half a second later. RSS counts a page shared by two of them twice, PSS once."
            .to_owned(),
        columns: vec!["", "samples", "min ms", "p50 ms", "max ms", "processes", "RSS MB", "PSS MB"],
        ..Report::default()
    };
    for contender in &contenders {
        match &contender.failure {
            Some(why) => report.absent(contender.launch.name, why),
            None => report.row(contender.row()),
        }
    }
    let [atoll, ..] = &contenders;
    if let Some(why) = &atoll.failure {
        return Err(why.clone().into());
    }
    let (median, resident) = (atoll.samples.median(), atoll.idle.resident_bytes);
    report.bars = vec![
        Bar::new("ready ≤ 50 ms after exec", format!("{} ms", millis(median)), median <= START_BAR),
        Bar::new("idle RSS ≤ 20 MB", format!("{} MB", megabytes(resident)), resident <= MEMORY_BAR),
    ];
    Ok(report)
}

impl Contender {
    fn measure(&mut self, round: usize) -> Result<(), Failure> {
        let server = self.launch.start()?;
        if round > 0 {
            self.samples.push(server.start);
        }
        if round == self.rounds {
            sleep(SETTLING);
            self.idle = usage(&tree(server.pid()));
        }
        Ok(())
    }

    fn row(&self) -> [String; 8] {
        [
            self.launch.name.to_owned(),
            self.samples.count().to_string(),
            millis(self.samples.least()),
            millis(self.samples.median()),
            millis(self.samples.greatest()),
            self.idle.processes.to_string(),
            megabytes(self.idle.resident_bytes),
            megabytes(self.idle.proportional_bytes),
        ]
    }
}
