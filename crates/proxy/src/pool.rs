//! Connections that wait for the next request. They wait so short that the other side, which closes what is idle too long,
//! has hardly ever begun to; whoever meets the exception tries again on a new one.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::connect::Address;
use crate::line::{Line, Payload};

/// How long a connection waits. Servers close theirs after two seconds at the earliest.
const IDLE: Duration = Duration::from_millis(1500);
/// Connections that wait for one server, and for all.
const IDLE_PER_SERVER: usize = 32;
const IDLE_TOTAL: usize = 256;

/// Connections that wait.
pub(crate) struct Pool<B>(Mutex<Waiting<B>>);

struct Waiting<B> {
    lines: HashMap<Address, Vec<(Instant, Line<B>)>>,
    count: usize,
    /// Whether a task looks after those that wait too long.
    swept: bool,
}

impl<B: Payload> Pool<B> {
    pub(crate) fn new() -> Arc<Self> {
        let waiting = Waiting { lines: HashMap::new(), count: 0, swept: false };
        Arc::new(Self(Mutex::new(waiting)))
    }

    /// A connection that has waited for this.
    pub(crate) async fn take(&self, address: &Address) -> Option<Line<B>> {
        loop {
            let mut line = self.pop(address)?;
            if poll_fn(|cx| Poll::Ready(line.is_idle(cx))).await {
                return Some(line);
            }
        }
    }

    fn pop(&self, address: &Address) -> Option<Line<B>> {
        let mut waiting = self.lock();
        let (since, line) = waiting.lines.get_mut(address)?.pop()?;
        waiting.count -= 1;
        // The latest comes first: all below have waited longer.
        (since.elapsed() < IDLE).then_some(line)
    }

    /// Lets a connection wait; closes it where too many do.
    pub(crate) fn put(self: &Arc<Self>, address: &Address, line: Line<B>) {
        let mut waiting = self.lock();
        if waiting.count >= IDLE_TOTAL {
            return;
        }
        if let Some(lines) = waiting.lines.get_mut(address) {
            if lines.len() >= IDLE_PER_SERVER {
                return;
            }
            lines.push((Instant::now(), line));
        } else {
            waiting.lines.insert(address.clone(), vec![(Instant::now(), line)]);
        }
        waiting.count += 1;
        if !std::mem::replace(&mut waiting.swept, true) {
            drop(waiting);
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Closes those that have waited too long; whether others are left.
    fn close_old(&self) -> bool {
        let mut waiting = self.lock();
        for lines in waiting.lines.values_mut() {
            lines.retain(|(since, _)| since.elapsed() < IDLE);
        }
        waiting.lines.retain(|_, lines| !lines.is_empty());
        waiting.count = waiting.lines.values().map(Vec::len).sum();
        waiting.swept = waiting.count > 0;
        waiting.swept
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<B>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs while connections wait.
async fn sweep<B: Payload>(pool: Weak<Pool<B>>) {
    loop {
        tokio::time::sleep(IDLE).await;
        match pool.upgrade() {
            Some(pool) if pool.close_old() => {}
            _ => return,
        }
    }
}

impl<B> fmt::Debug for Pool<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}
