//! What the spawner and its keepers share: which keepers wait for a command.
//!
//! It lies in memory shared by all of them, so that a keeper can take a command without waking the spawner and decide
//! by itself whether to wait again or to end. Only when few wait, or the server is gone, is the spawner woken.

#![expect(unsafe_code, reason = "shared memory has no safe interface")]

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// Keepers that wait at least.
const FEWEST: usize = 1;
/// Keepers that wait at most; one more ends instead.
const MOST: usize = 8;
/// Keepers there can be, and so commands with living processes.
const PLACES: usize = 1 << 15;

/// A keeper's own part of the shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(usize);

impl Place {
    /// A number no other living keeper has.
    pub(super) fn number(self) -> usize {
        self.0
    }
}

struct Shared {
    waiting: AtomicUsize,
    closed: AtomicBool,
    /// For each keeper whether it waits.
    waits: [AtomicBool; PLACES],
}

/// Shared by the spawner and all keepers.
pub(super) struct Pool {
    shared: &'static Shared,
    alarm: OwnedFd,
}

impl Pool {
    pub(super) fn new() -> io::Result<Self> {
        let alarm = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a fresh mapping, zeroed by the kernel, which is a valid `Shared`; it is never unmapped.
        let shared = unsafe {
            let memory =
                mmap_anonymous(std::ptr::null_mut(), size_of::<Shared>(), protection, flags)?;
            &*memory.cast::<Shared>()
        };
        Ok(Self { shared, alarm })
    }

    /// The spawner: whether another keeper should be made.
    pub(super) fn wants_more(&self) -> bool {
        !self.closed() && self.shared.waiting.load(Ordering::SeqCst) < FEWEST
    }

    /// All places, the first to be taken last.
    pub(super) fn places() -> Vec<Place> {
        (0..PLACES).rev().map(Place).collect()
    }

    /// The spawner: a keeper is about to be made here, and will wait.
    pub(super) fn made(&self, place: Place) {
        self.set(place, true);
    }

    /// The spawner: a keeper is no more.
    pub(super) fn lost(&self, place: Place) {
        self.set(place, false);
    }

    /// A keeper: it has a command now.
    pub(super) fn taken(&self, place: Place) {
        self.set(place, false);
        if self.wants_more() {
            self.wake();
        }
    }

    /// A keeper: it could wait again. False when enough do.
    pub(super) fn wait_again(&self, place: Place) -> bool {
        let enough = self.shared.waiting.load(Ordering::SeqCst) >= MOST;
        self.set(place, !enough);
        !enough
    }

    /// A keeper: the server is gone, none is needed any more.
    pub(super) fn close(&self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.wake();
    }

    pub(super) fn closed(&self) -> bool {
        self.shared.closed.load(Ordering::SeqCst)
    }

    /// Readable when the spawner is needed.
    pub(super) fn alarm(&self) -> &OwnedFd {
        &self.alarm
    }

    /// The spawner: it has heard.
    pub(super) fn silence(&self) {
        let _silent_already = rustix::io::read(&self.alarm, &mut [0; 8]);
    }

    fn wake(&self) {
        let _woken_already = rustix::io::write(&self.alarm, &1u64.to_ne_bytes());
    }

    /// Notes whether a keeper waits; the count follows.
    fn set(&self, place: Place, waits: bool) {
        let Some(flag) = self.shared.waits.get(place.0) else { return };
        match (flag.swap(waits, Ordering::SeqCst), waits) {
            (false, true) => self.shared.waiting.fetch_add(1, Ordering::SeqCst),
            (true, false) => self.shared.waiting.fetch_sub(1, Ordering::SeqCst),
            _ => return,
        };
    }
}
