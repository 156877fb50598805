//! What work on a file needs once it has left the threads that serve connections: the limits, the turns, the call it
//! is for, and whether anybody still waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_api::system::Limits;
use atoll_operation::{Context, Error, Kind};

use super::service::{Files, blocking};
use super::store::Turns;

/// A place to work at. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Desk {
    pub(super) limits: Arc<Limits>,
    pub(super) turns: Arc<Turns>,
    pub(super) cx: Context,
    pub(super) interest: Interest,
}

/// Whether somebody waits for the outcome. Long work looks at it now and then.
#[derive(Debug, Clone, Default)]
pub(super) struct Interest {
    lost: Arc<AtomicBool>,
}

/// Says that nobody waits any more when it is dropped.
struct Waiting(Interest);

impl Interest {
    /// Nobody waits any more.
    pub(super) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Breaks off work that nobody waits for.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.lost.load(Ordering::Relaxed) {
            return Err(Error::new(Kind::Cancelled, "cancelled", "the caller went away"));
        }
        Ok(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.lose();
    }
}

impl Files {
    /// Works at a desk, away from the threads that serve connections. Changes begun are finished when the caller
    /// leaves; work that looks at its [`Interest`] breaks off.
    pub(super) async fn at_desk<T: Send + 'static>(
        &self,
        cx: &Context,
        work: impl FnOnce(&Desk) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let desk = Desk {
            limits: Arc::clone(&self.limits),
            turns: Arc::clone(&self.turns),
            cx: cx.clone(),
            interest: Interest::default(),
        };
        let _waiting = Waiting(desk.interest.clone());
        blocking(move || work(&desk)).await
    }
}

/// A limit as a length in memory.
pub(super) fn length(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
