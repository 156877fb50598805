//! A hundred commands at once, each of which only waits: what a server adds is queueing.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use super::{Setting, check_success, run_in_atoll};
use crate::Failure;
use crate::http::{Connection, Request};
use crate::report::{Bar, Report};
use crate::server::{Server, in_clean_environment, locate};
use crate::statistics::{Samples, ratio};

const COMMANDS: usize = 100;
const COMMAND: &str = "sleep 1";
const BAR: Duration = Duration::from_millis(1200);
/// Ten times what is to be done; a server that runs one command after the other would need a hundred.
const PATIENCE: Duration = Duration::from_secs(10);

/// One round: how many commands ended well, and after how long all had.
type Round = Result<(usize, Duration), Failure>;

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let rounds = setting.choose(5, 1);
    let home = tempfile::tempdir()?;
    let bash = locate("bash")?;
    let atoll = setting.atoll.start()?;
    let request = run_in_atoll(COMMAND, None);
    let (sandbox_agent, swe_rex) = (setting.sandbox_agent(), setting.swe_rex());
    let of_peer =
        |peer: &super::Peer| -> Round { burst(peer.server()?, &(peer.request)(COMMAND)?) };

    let (mut direct, mut ours, mut agents) = (Tally::default(), Tally::default(), Tally::default());
    for _ in 0..rounds {
        direct.add(spawn_directly(&bash, home.path()));
        ours.add(burst(&atoll, &request));
        agents.add(of_peer(&sandbox_agent));
    }
    let mut serial = Tally::default();
    serial.add(of_peer(&swe_rex));

    let mut report = Report {
        title: "100 parallel `sleep 1`",
        about: format!(
            "A hundred connections ask at the same moment; the time until the last answer. One that takes more \
             than {} s is given up. The floor starts a hundred `bash -c 'sleep 1'` itself.",
            PATIENCE.as_secs()
        ),
        columns: vec!["", "rounds", "ended well", "p50 s", "max s", "p50 / floor"],
        ..Report::default()
    };
    let floor = direct.times.median();
    for (name, tally) in [
        ("floor: spawned directly", &direct),
        ("Atoll", &ours),
        (sandbox_agent.name, &agents),
        (swe_rex.name, &serial),
    ] {
        match &tally.failure {
            Some(why) => report.absent(name, why),
            None => report.row(tally.row(name, floor)),
        }
    }
    if let Some(why) = ours.failure {
        return Err(why.into());
    }
    let (median, well) = (ours.times.median(), ours.well == rounds * COMMANDS);
    let measured = format!("{:.3} s, {} of {}", median.as_secs_f64(), ours.well, rounds * COMMANDS);
    report.bars.push(Bar::new("all 100 in ≤ 1.2 s", measured, median <= BAR && well));
    let theirs = agents.failure.is_none().then(|| agents.times.median().as_secs_f64());
    report.bars.push(Bar::ahead(sandbox_agent.name, median.as_secs_f64(), theirs, true));
    Ok(report)
}

#[derive(Default)]
struct Tally {
    times: Samples,
    well: usize,
    failure: Option<String>,
}

impl Tally {
    fn add(&mut self, round: Round) {
        match round {
            Ok((well, duration)) => {
                self.well += well;
                self.times.push(duration);
            }
            Err(error) => self.failure = Some(error.to_string()),
        }
    }

    fn row(&self, name: &str, floor: Duration) -> [String; 6] {
        let (median, greatest) = (self.times.median(), self.times.greatest());
        [
            name.to_owned(),
            self.times.count().to_string(),
            format!("{}/{}", self.well, self.times.count() * COMMANDS),
            format!("{:.3}", median.as_secs_f64()),
            format!("{:.3}", greatest.as_secs_f64()),
            format!("{:.2}", ratio(median, floor)),
        ]
    }
}

/// Sends the request on all connections at once.
fn burst(server: &Server, request: &Request) -> Round {
    let connect = || -> Result<Connection, Failure> {
        let connection = server.connect()?;
        connection.set_patience(PATIENCE)?;
        Ok(connection)
    };
    let connections = (0..COMMANDS).map(|_| connect()).collect::<Result<Vec<_>, _>>()?;
    let gate = Barrier::new(COMMANDS);
    thread::scope(|scope| {
        // Each thread takes its own times: whoever leaves the gate last would start the clock too late.
        let ask = |mut connection: Connection| {
            gate.wait();
            let started = Instant::now();
            let well = connection.ask(request).is_ok_and(|answer| check_success(&answer).is_ok());
            (well, started, Instant::now())
        };
        let asking: Vec<_> = connections
            .into_iter()
            .map(|connection| scope.spawn(move || ask(connection)))
            .collect();
        let asked: Vec<_> = asking.into_iter().filter_map(|asking| asking.join().ok()).collect();
        let well = asked.iter().filter(|(well, ..)| *well).count();
        let first = asked.iter().map(|(_, started, _)| *started).min();
        let last = asked.iter().map(|(.., ended)| *ended).max();
        let (Some(first), Some(last)) = (first, last) else {
            return Err("no connection could be used".into());
        };
        Ok((well, last.duration_since(first)))
    })
}

fn spawn_directly(bash: &str, home: &Path) -> Round {
    let started = Instant::now();
    let mut children = Vec::new();
    for _ in 0..COMMANDS {
        let mut command = Command::new(bash);
        command.args(["-c", COMMAND]).stdin(Stdio::null()).stdout(Stdio::null());
        in_clean_environment(&mut command, home);
        children.push(command.spawn()?);
    }
    let mut well = 0;
    for child in &mut children {
        well += usize::from(child.wait()?.success());
    }
    Ok((well, started.elapsed()))
}
