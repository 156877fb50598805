//! A started program: its exit, its signals, its end.

use std::fmt;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::{mpsc, watch};

use crate::command::{Command, SpawnError};
use crate::spawner::tree::{self, ProcessKey};
use crate::spawner::{Order, Report, Spawner};
use crate::text::size;

/// Orders that may wait for a keeper; each is answered in milliseconds, so a full queue means a keeper that hangs.
const ORDERS: usize = 64;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It returned this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It was killed because memory ran out.
    OutOfMemory {
        /// Bytes it could have with everything it started.
        limit: u64,
    },
    /// Its keeper was killed, and it with it.
    Lost,
}

impl Exit {
    /// `starved` is the memory it could have, if any of its processes was killed for want of more.
    fn from_status(status: i32, starved: Option<u64>) -> Self {
        if !libc::WIFSIGNALED(status) {
            return Exit::Code(libc::WEXITSTATUS(status));
        }
        match (libc::WTERMSIG(status), starved) {
            (libc::SIGKILL, Some(limit)) => Exit::OutOfMemory { limit },
            (signal, _) => Exit::Signal(signal),
        }
    }

    /// The code, or the negative signal number.
    pub fn signed(self) -> i32 {
        match self {
            Exit::Code(code) => code,
            Exit::Signal(signal) => -signal,
            Exit::OutOfMemory { .. } | Exit::Lost => -libc::SIGKILL,
        }
    }

    /// The code, or 128 plus the signal number, as a shell reports it.
    pub fn shell_code(self) -> i32 {
        match self {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
            Exit::OutOfMemory { .. } | Exit::Lost => 128 + libc::SIGKILL,
        }
    }
}

/// Readable after the program's name.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Exit::Code(code) => write!(f, "ended with code {code}"),
            Exit::Signal(signal) => write!(f, "was ended by signal {signal}"),
            Exit::OutOfMemory { limit } => {
                write!(f, "was killed because it ran out of memory: it may use {}", size(limit))
            }
            Exit::Lost => write!(f, "was killed"),
        }
    }
}

/// Where a program is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Life {
    /// How it ended, once it has.
    pub(crate) exit: Option<Exit>,
    /// Whether everything it started has ended too.
    pub(crate) gone: bool,
    /// Kill orders carried out so far.
    pub(crate) kills: u64,
    /// Its processes that were killed because memory ran out, as far as is known.
    victims: i32,
    /// How often they were counted.
    counts: u64,
}

/// A started program with all its descendants. Dropping every handle ends them all.
#[derive(Debug, Clone)]
pub struct Child(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pid: i32,
    keeper: i32,
    memory: Option<u64>,
    life: watch::Receiver<Life>,
    orders: mpsc::Sender<Order>,
}

impl Child {
    /// Starts a command on these standard streams.
    pub(crate) async fn start(
        spawner: &Spawner,
        command: &Command,
        streams: [BorrowedFd<'_>; 3],
        terminal: bool,
    ) -> Result<Self, SpawnError> {
        let confinement = spawner.confinement();
        let memory = confinement.memory_bytes;
        let socket = spawner
            .send(&command.request(terminal, confinement)?, streams)
            .await
            .map_err(SpawnError::SpawnerGone)?;
        let (mut reports, mut control) = socket.into_split();
        let (keeper, pid) = match next(&mut reports).await {
            Some(Report::Started { keeper, pid }) => (keeper, pid),
            Some(Report::Failed { step, errno }) => return Err(command.failure(step, errno)),
            Some(_) | None => {
                return Err(SpawnError::SpawnerGone(std::io::ErrorKind::BrokenPipe.into()));
            }
        };
        let (changes, life) = watch::channel(Life::default());
        let counter = spawner.victim_counter();
        let (orders, mut queue) = mpsc::channel::<Order>(ORDERS);
        spawner.tasks().spawn(async move {
            while let Some(report) = next(&mut reports).await {
                if let Report::Exited { victims: count, .. } | Report::Victims { count } = report {
                    let more = count.saturating_sub(changes.borrow().victims);
                    counter.fetch_add(u64::try_from(more).unwrap_or_default(), Ordering::Relaxed);
                }
                changes.send_modify(|life| match report {
                    Report::Exited { status, victims } => {
                        life.victims = victims;
                        life.exit = Some(Exit::from_status(status, memory.filter(|_| victims > 0)));
                    }
                    Report::Killed => life.kills += 1,
                    Report::Victims { count } => {
                        life.victims = count;
                        life.counts += 1;
                    }
                    Report::Started { .. } | Report::Failed { .. } => {}
                });
            }
            changes.send_modify(|life| {
                life.exit.get_or_insert(Exit::Lost);
                life.gone = true;
            });
        });
        // Ends with the last handle; dropping `control` then closes the writing side, the keeper's sign to end all.
        spawner.tasks().spawn(async move {
            while let Some(order) = queue.recv().await {
                if control.write_all(&order.encode()).await.is_err() {
                    break;
                }
            }
        });
        Ok(Self(Arc::new(Inner { pid, keeper, memory, life, orders })))
    }

    /// Process id of the command itself.
    pub fn pid(&self) -> i32 {
        self.0.pid
    }

    pub(crate) fn life(&self) -> watch::Receiver<Life> {
        self.0.life.clone()
    }

    /// How it ended, once it has.
    pub fn exit(&self) -> Option<Exit> {
        self.0.life.borrow().exit
    }

    /// Whether it and everything it started has ended.
    pub fn is_gone(&self) -> bool {
        self.0.life.borrow().gone
    }

    /// Bytes of memory it could have, if any of its processes was killed for want of more before it ended.
    pub fn starved(&self) -> Option<u64> {
        self.0.memory.filter(|_| self.0.life.borrow().victims > 0)
    }

    /// Bytes of memory it may have with everything it starts.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.0.memory
    }

    /// Processes killed because memory ran out.
    pub(crate) async fn count_victims(&self) -> i32 {
        let mut life = self.life();
        let before = life.borrow_and_update().counts;
        self.order(Order::CountVictims).await;
        let counted = life.wait_for(|life| life.gone || life.counts > before).await;
        counted.map_or(0, |life| life.victims)
    }

    /// Signals the command's process group.
    pub async fn signal_group(&self, signal: i32) {
        self.order(Order::SignalGroup(signal)).await;
    }

    /// Signals the command and everything it started.
    pub async fn signal_all(&self, signal: i32) {
        self.order(Order::SignalTree(signal)).await;
    }

    /// Kills the command and everything it started, and waits until nothing is left.
    pub async fn kill_all(&self) {
        self.order(Order::Kill { keep_command: false, spare: Vec::new() }).await;
        let mut life = self.life();
        let _keeper_gone = life.wait_for(|life| life.gone).await.map(|_| ());
    }

    /// The processes it has started and that live.
    pub(crate) fn descendants(&self) -> Vec<ProcessKey> {
        tree::descendants(self.0.keeper, &[], Some(self.0.pid))
    }

    /// Kills what it has started but for `spare` and theirs, and waits until that is done. The command lives on.
    pub(crate) async fn kill_started_since(&self, spare: Vec<ProcessKey>) {
        let mut life = self.life();
        let before = life.borrow_and_update().kills;
        self.order(Order::Kill { keep_command: true, spare }).await;
        let _keeper_gone = life.wait_for(|life| life.gone || life.kills > before).await.map(|_| ());
    }

    /// Waits until the command itself has ended.
    pub(crate) async fn exited(&self) {
        let mut life = self.life();
        let _keeper_gone = life.wait_for(|life| life.exit.is_some()).await.map(|_| ());
    }

    /// Waits until it and everything it started has ended.
    pub async fn gone(&self) {
        let mut life = self.life();
        let _keeper_gone = life.wait_for(|life| life.gone).await.map(|_| ());
    }

    async fn order(&self, order: Order) {
        // A keeper that is gone has nothing left to be told.
        let _gone = self.0.orders.send(order).await;
    }
}

async fn next(reports: &mut OwnedReadHalf) -> Option<Report> {
    let mut bytes = [0; Report::SIZE];
    reports.read_exact(&mut bytes).await.ok()?;
    Report::decode(bytes).ok()
}
