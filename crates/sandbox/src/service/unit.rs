//! One service of a user, kept up by its rules.
//!
//! A task of its own, the keeper-up, is the only one that starts and ends the program. Everybody else gives orders, each
//! with a number, and waits until the unit's standing tells that the order was answered. The states are supervisord's:
//! what ends before its `startsecs` are over is tried again after 1, 2, 3 … seconds, `startretries` times; what was up is
//! started again as `autorestart` says, at once the first time and after growing pauses when it keeps ending within a
//! minute.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use atoll_api::service::ServiceState;
use atoll_observe::Journal;
use atoll_process::{Exit, Log, LogSettings, Piped};
use jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::definition::{Definition, Restart};
use super::launch::{Refusal, launch};
use super::output::{Outlets, carry};
use crate::programs::Programs;

/// A run that lasts this long ends a row of quick ends.
const LASTING: Duration = Duration::from_mins(1);
/// The longest pause before another start.
const LONGEST_PAUSE: u64 = 30;
/// How long what was killed may take to be gone.
const GONE: Duration = Duration::from_secs(10);
/// How long the last output may take to be carried away.
const CARRIED: Duration = Duration::from_secs(5);
/// Characters of its last line that are repeated when it failed.
const LAST_WORDS: usize = 200;

/// A service with its program.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) definition: Definition,
    pub(super) log: Log,
    orders: watch::Sender<Order>,
    standing: watch::Sender<Standing>,
    surroundings: Surroundings,
    outlets: Outlets,
}

/// What every unit is made with.
#[derive(Debug, Clone)]
pub(super) struct Surroundings {
    pub(super) programs: Programs,
    /// Variables that services see beside other programs'.
    pub(super) variables: Arc<BTreeMap<String, String>>,
    pub(super) journal: Arc<Journal>,
    /// Told whenever a unit's standing changes.
    pub(super) changed: watch::Sender<u64>,
    /// Cancelled when there is no time left for programs to end by themselves.
    pub(super) hurry: CancellationToken,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Order {
    number: u64,
    up: bool,
    /// Nothing will be asked any more.
    last: bool,
}

/// How a unit stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) state: ServiceState,
    pub(super) detail: Option<String>,
    pub(super) pid: Option<i32>,
    pub(super) since: Option<Timestamp>,
    pub(super) restarts: u64,
    /// The last order that was answered.
    answered: u64,
    /// The last order for which a program was started, or could not be.
    launched: u64,
}

impl Unit {
    /// A unit that is off; its task waits for orders.
    pub(super) fn new(definition: Definition, surroundings: &Surroundings) -> Arc<Self> {
        let programs = &surroundings.programs;
        let kept_bytes = programs.foundation().limits.service_log_bytes;
        let standing = Standing {
            state: ServiceState::Off,
            detail: None,
            pid: None,
            since: None,
            restarts: 0,
            answered: 0,
            launched: 0,
        };
        let unit = Arc::new(Self {
            log: Log::new(LogSettings { kept_bytes, ..programs.log_settings() }),
            orders: watch::Sender::default(),
            standing: watch::Sender::new(standing),
            outlets: Outlets::new(&definition.stdout, &definition.stderr),
            surroundings: surroundings.clone(),
            definition,
        });
        programs.tasks().spawn(Arc::clone(&unit).keep());
        unit
    }

    pub(super) fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    /// Whether it is up or on its way.
    pub(super) fn is_wanted(&self) -> bool {
        use ServiceState::{Backoff, Running, Starting};
        matches!(self.standing.borrow().state, Starting | Running | Backoff)
    }

    /// Orders a start, again if it runs; the number of the order.
    pub(super) fn order_start(&self) -> u64 {
        self.order(true, false)
    }

    /// Orders a stop; the number of the order.
    pub(super) fn order_stop(&self) -> u64 {
        self.order(false, false)
    }

    /// Orders a stop after which nothing else will be ordered.
    pub(super) fn order_end(&self) -> u64 {
        self.order(false, true)
    }

    /// The number of the last order.
    pub(super) fn latest_order(&self) -> u64 {
        self.orders.borrow().number
    }

    fn order(&self, up: bool, last: bool) -> u64 {
        let mut number = 0;
        self.orders.send_modify(|order| {
            number = order.number + 1;
            *order = Order { number, up, last: last || order.last };
        });
        number
    }

    /// Waits until an order was answered: a start when it is up, has failed or is to be tried again; a stop when nothing
    /// is left.
    pub(super) async fn answered(&self, order: u64) {
        let mut standing = self.standing.subscribe();
        let _sender_lives = standing.wait_for(|now| now.answered >= order).await.map(|_| ());
    }

    /// Waits until a program was started for an order, or could not be.
    pub(super) async fn launched(&self, order: u64) {
        let mut standing = self.standing.subscribe();
        let reached = |now: &Standing| now.launched >= order || now.answered >= order;
        let _sender_lives = standing.wait_for(reached).await.map(|_| ());
    }

    async fn keep(self: Arc<Self>) {
        let mut orders = self.orders.subscribe();
        let mut done = 0;
        loop {
            let order = match orders.wait_for(|order| order.number > done).await {
                Ok(order) => *order,
                Err(_) => return,
            };
            done = order.number;
            if order.up && !order.last {
                self.keep_up(order.number).await;
            } else {
                self.tell(|now| {
                    now.state = ServiceState::Off;
                    now.detail = None;
                    now.restarts = 0;
                    now.answered = order.number;
                });
                if order.last {
                    self.log.close();
                    return;
                }
            }
        }
    }

    /// Keeps the program up until another order comes, it fails for good, or has ended as it should.
    async fn keep_up(&self, order: u64) {
        let rules = &self.definition;
        let (mut restarts, mut early, mut quick) = (0, 0_u32, 0_u64);
        loop {
            if self.orders.borrow().number > order {
                return;
            }
            self.tell(|now| {
                now.state = ServiceState::Starting;
                now.detail = None;
                now.restarts = restarts;
            });
            let began = Instant::now();
            let end = match self.run(order, began).await {
                Ok(end) => end,
                Err(Refusal::Missing(reason)) => {
                    tracing::warn!(service = rules.name, reason, "a service cannot be started");
                    return self.settle(order, ServiceState::Missing, Some(reason));
                }
                Err(Refusal::Failed(reason)) => End::Early(reason),
            };
            let (reason, pause) = match end {
                End::Ordered => return,
                End::Early(reason) => {
                    early += 1;
                    if early > rules.start_retries {
                        tracing::warn!(service = rules.name, reason, "a service does not come up");
                        let tries = format!("{reason}; it was tried {early} times");
                        self.note("service_failed", &format!("{} {tries}", rules.name), restarts);
                        return self.settle(order, ServiceState::Failed, Some(tries));
                    }
                    (reason, u64::from(early))
                }
                End::Late { exit, reason } => {
                    early = 0;
                    let expected =
                        matches!(exit, Exit::Code(code) if rules.exit_codes.contains(&code));
                    let again = match rules.restart {
                        Restart::Always => true,
                        Restart::Unexpected => !expected,
                        Restart::Never => false,
                    };
                    if !again {
                        let state = if expected { ServiceState::Off } else { ServiceState::Failed };
                        if !expected {
                            self.note(
                                "service_failed",
                                &format!("{} {reason}", rules.name),
                                restarts,
                            );
                        }
                        return self.settle(order, state, Some(reason));
                    }
                    quick = if began.elapsed() < LASTING { quick + 1 } else { 0 };
                    (reason, quick.saturating_sub(1))
                }
            };
            restarts += 1;
            tracing::info!(service = rules.name, reason, "a service is started again");
            self.note("service_restart", &format!("{} {reason}", rules.name), restarts);
            if pause > 0 {
                let pause = Duration::from_secs(pause.min(LONGEST_PAUSE));
                self.tell(|now| {
                    now.state = ServiceState::Backoff;
                    now.detail = Some(format!("{reason}; tried again after {} s", pause.as_secs()));
                    now.restarts = restarts;
                    now.answered = order;
                });
                tokio::select! {
                    () = sleep(pause) => {}
                    () = self.superseded(order) => return,
                }
            }
        }
    }

    /// Runs the program once.
    async fn run(&self, order: u64, began: Instant) -> Result<End, Refusal> {
        let rules = &self.definition;
        let Surroundings { programs, variables, .. } = &self.surroundings;
        let program = launch(programs, variables, rules).await?;
        let tasks = programs.tasks();
        let out = carry(program.stdout().clone(), self.log.clone(), self.outlets.stdout.clone());
        let errors = carry(program.stderr().clone(), self.log.clone(), self.outlets.stderr.clone());
        let (out, errors) = (tasks.spawn(out), tasks.spawn(errors));
        self.tell(|now| {
            now.pid = Some(program.child().pid());
            now.launched = order;
        });
        let end = tokio::select! {
            biased;
            () = self.superseded(order) => {
                self.end(&program).await;
                End::Ordered
            }
            end = self.watch(&program, order, began) => end,
        };
        // What it has started does not outlive it.
        if timeout(GONE, program.child().kill_all()).await.is_err() {
            tracing::warn!(service = rules.name, "processes of a service cannot be killed");
        }
        let carried = async { (out.await, errors.await) };
        if timeout(CARRIED, carried).await.is_err() {
            tracing::debug!(service = rules.name, "the last output of a service comes late");
        }
        self.tell(|now| now.pid = None);
        Ok(end.with_last_words(&self.log))
    }

    /// Waits until the program ends by itself, and tells when it is taken for up.
    async fn watch(&self, program: &Piped, order: u64, began: Instant) -> End {
        if !self.definition.start_time.is_zero() {
            tokio::select! {
                biased;
                exit = program.wait() => return End::Early(ended(exit, began)),
                () = sleep(self.definition.start_time) => {}
            }
        }
        self.tell(|now| {
            now.state = ServiceState::Running;
            now.answered = order;
        });
        let exit = program.wait().await;
        End::Late { exit, reason: ended(exit, began) }
    }

    /// Has the program end: first itself, then whatever it leaves behind, each told by the same signal.
    async fn end(&self, program: &Piped) {
        let (rules, child) = (&self.definition, program.child());
        self.tell(|now| now.state = ServiceState::Stopping);
        if rules.stop_group {
            child.signal_group(rules.stop_signal).await;
        } else if child.exit().is_none() {
            let signal = Signal::from_named_raw(rules.stop_signal);
            if let (Some(pid), Some(signal)) = (Pid::from_raw(child.pid()), signal) {
                // It may have ended this very moment.
                let _gone = kill_process(pid, signal);
            }
        }
        let ended = async {
            program.wait().await;
            child.signal_all(rules.stop_signal).await;
            child.gone().await;
        };
        let hurried = self.surroundings.hurry.run_until_cancelled(ended);
        if !matches!(timeout(rules.stop_time, hurried).await, Ok(Some(()))) {
            let seconds = rules.stop_time.as_secs();
            tracing::info!(service = rules.name, seconds, "a service that did not end is killed");
        }
    }

    /// Waits until another order came.
    async fn superseded(&self, order: u64) {
        let mut orders = self.orders.subscribe();
        let _sender_lives = orders.wait_for(|now| now.number > order).await.map(|_| ());
    }

    fn settle(&self, order: u64, state: ServiceState, detail: Option<String>) {
        self.tell(|now| {
            now.state = state;
            now.detail = detail;
            now.answered = order;
        });
    }

    fn tell(&self, change: impl FnOnce(&mut Standing)) {
        self.standing.send_modify(|standing| {
            let before = standing.state;
            change(standing);
            if standing.state != before {
                standing.since = Some(Timestamp::now());
            }
        });
        self.surroundings.changed.send_modify(|count| *count += 1);
    }

    fn note(&self, kind: &str, message: &str, restarts: u64) {
        let data = json!({ "service": self.definition.name, "restarts": restarts });
        self.surroundings.journal.push(kind, message, data);
    }
}

/// How a run ended.
enum End {
    /// Somebody ordered something else.
    Ordered,
    /// Before it was taken for up.
    Early(String),
    /// After.
    Late { exit: Exit, reason: String },
}

impl End {
    /// The same with the last line it printed, which often tells why.
    fn with_last_words(mut self, log: &Log) -> Self {
        if let Self::Early(reason) | Self::Late { reason, .. } = &mut self {
            let end = log.progress().end;
            let text = log.read_text(end.saturating_sub(4096), 4096).text;
            let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
            if let Some(line) = line {
                let words: String = line.chars().take(LAST_WORDS).collect();
                *reason = format!("{reason}; its last line: {words}");
            }
        }
        self
    }
}

fn ended(exit: Exit, began: Instant) -> String {
    format!("{exit} after {:.1} s", began.elapsed().as_secs_f64())
}
