//! Apps that know the path above them although it is taken off for them.
//!
//! A development server that was given `/proxy/5173/` as its base leads whoever asks it for `/` to there, which is where
//! they come from: taken off again, the path would lead round for ever. Such an app is asked for whole paths from then
//! on, until nobody listens on its port or it does not know its first page any more.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ports of apps that know the path above them. One bit for each, so that no number of apps takes more room.
pub(crate) struct Knowing(Box<[AtomicU64]>);

const BITS: usize = 64;

impl Default for Knowing {
    fn default() -> Self {
        Self((0..(1 << 16) / BITS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Knowing {
    pub(super) fn contains(&self, port: u16) -> bool {
        let (word, bit) = self.place(port);
        word.is_some_and(|word| word.load(Ordering::Relaxed) & bit != 0)
    }

    pub(super) fn insert(&self, port: u16) {
        if let (Some(word), bit) = self.place(port) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    pub(super) fn remove(&self, port: u16) {
        if let (Some(word), bit) = self.place(port) {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    fn place(&self, port: u16) -> (Option<&AtomicU64>, u64) {
        let port = usize::from(port);
        (self.0.get(port / BITS), 1 << (port % BITS))
    }
}

impl fmt::Debug for Knowing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries((1..=u16::MAX).filter(|port| self.contains(*port))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_port_is_known_by_itself() {
        let knowing = Knowing::default();
        for port in [1, 63, 64, 5173, u16::MAX] {
            knowing.insert(port);
        }
        assert_eq!(format!("{knowing:?}"), "{1, 63, 64, 5173, 65535}");
        knowing.remove(64);
        assert!(!knowing.contains(64) && knowing.contains(63) && !knowing.contains(65));
    }
}
