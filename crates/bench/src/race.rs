//! Contenders measured in turns: a few samples of each, again and again, so that whatever disturbs the machine for a
//! while disturbs them all.

use std::time::Duration;

use crate::Failure;
use crate::report::{Report, time_row};
use crate::statistics::Samples;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) warm_ups: usize,
    pub(crate) rounds: usize,
    pub(crate) samples_per_round: usize,
}

/// One contender: what is done for a sample, and the samples so far.
pub(crate) struct Lane<'a> {
    pub(crate) name: String,
    run: Box<dyn FnMut() -> Result<Duration, Failure> + 'a>,
    pub(crate) samples: Samples,
    /// Why it takes no part, or no more.
    failure: Option<String>,
}

impl<'a> Lane<'a> {
    pub(crate) fn new(
        name: impl Into<String>,
        run: impl FnMut() -> Result<Duration, Failure> + 'a,
    ) -> Self {
        let samples = Samples::default();
        Self { name: name.into(), run: Box::new(run), samples, failure: None }
    }

    /// A contender whose preparation may have failed: then the report says why, and the others run without it.
    pub(crate) fn prepared<F>(name: impl Into<String>, run: Result<F, Failure>) -> Self
    where
        F: FnMut() -> Result<Duration, Failure> + 'a,
    {
        match run {
            Ok(run) => Self::new(name, run),
            Err(error) => {
                let mut lane = Self::new(name, || Ok(Duration::ZERO));
                lane.failure = Some(error.to_string());
                lane
            }
        }
    }

    /// The median in seconds, unless it failed.
    pub(crate) fn median_seconds(&self) -> Option<f64> {
        self.failure.is_none().then(|| self.samples.median().as_secs_f64())
    }

    /// The samples, or why there are none.
    pub(crate) fn result(&self) -> Result<&Samples, Failure> {
        match &self.failure {
            None => Ok(&self.samples),
            Some(why) => Err(format!("{}: {why}", self.name).into()),
        }
    }

    fn sample(&mut self) -> Option<Duration> {
        if self.failure.is_some() {
            return None;
        }
        match (self.run)() {
            Ok(duration) => Some(duration),
            Err(error) => {
                self.failure = Some(error.to_string());
                None
            }
        }
    }
}

/// Runs the contenders in turns. Each round starts with another one, so that none always follows the same.
pub(crate) fn race(plan: Plan, lanes: &mut [Lane<'_>]) {
    for lane in &mut *lanes {
        for _ in 0..plan.warm_ups {
            lane.sample();
        }
    }
    let count = lanes.len().max(1);
    for round in 0..plan.rounds {
        for turn in 0..lanes.len() {
            let lane = &mut lanes[(round + turn) % count];
            for _ in 0..plan.samples_per_round {
                if let Some(duration) = lane.sample() {
                    lane.samples.push(duration);
                }
            }
        }
    }
}

/// Writes a row for each contender, compared with the floor's and our own median.
pub(crate) fn report_lanes(
    report: &mut Report,
    lanes: &[Lane<'_>],
    floor: Duration,
    atoll: Duration,
) {
    for lane in lanes {
        match &lane.failure {
            None => report.row(time_row(&lane.name, &lane.samples, floor, atoll)),
            Some(why) => report.absent(&lane.name, why),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const PLAN: Plan = Plan { warm_ups: 1, rounds: 2, samples_per_round: 2 };

    #[test]
    fn contenders_take_turns_and_start_in_turn() {
        let order = RefCell::new(String::new());
        let lane = |name: char| {
            let order = &order;
            Lane::new(name, move || {
                order.borrow_mut().push(name);
                Ok(Duration::from_millis(1))
            })
        };
        let mut lanes = [lane('a'), lane('b')];
        race(PLAN, &mut lanes);
        assert_eq!(lanes[0].samples.count(), 4, "warm-ups do not count");
        assert_eq!(order.borrow().as_str(), "abaabbbbaa");
    }

    #[test]
    fn a_contender_that_fails_leaves_the_others_running_and_is_named() {
        let mut tries = 0;
        let mut lanes = [
            Lane::new("flaky", || {
                tries += 1;
                if tries > 2 { Err("gone".into()) } else { Ok(Duration::from_millis(1)) }
            }),
            Lane::new("steady", || Ok(Duration::from_millis(1))),
            Lane::prepared("absent", Err::<fn() -> _, _>("not installed".into())),
        ];
        race(PLAN, &mut lanes);
        assert_eq!(lanes[1].samples.count(), 4);
        assert_eq!(lanes[0].result().unwrap_err().to_string(), "flaky: gone");
        assert!(lanes[2].result().is_err() && lanes[0].median_seconds().is_none());
        let mut report = Report { columns: vec![""; 8], ..Report::default() };
        report_lanes(&mut report, &lanes, Duration::ZERO, Duration::from_millis(2));
        let text = report.to_text();
        assert!(text.contains("not measured: gone") && text.contains("not installed"), "{text}");
        assert!(text.contains("0.50"), "{text}");
    }
}
