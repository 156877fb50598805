//! The sandbox's own ports: those nobody may reach but through the operations that are meant for it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{PoisonError, RwLock};

type Source = Box<dyn Fn() -> Option<u16> + Send + Sync>;

/// The ports that are not for others. Whoever opens one says so here.
#[derive(Default)]
pub struct InternalPorts {
    ports: RwLock<BTreeSet<u16>>,
    sources: RwLock<Vec<Source>>,
}

impl InternalPorts {
    /// Adds a port that stays.
    pub fn add(&self, port: u16) {
        self.ports.write().unwrap_or_else(PoisonError::into_inner).insert(port);
    }

    /// Adds a port that comes and goes; asked for whenever somebody wants to know, so it must be quick.
    pub fn add_source(&self, source: impl Fn() -> Option<u16> + Send + Sync + 'static) {
        self.sources.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(source));
    }

    /// Whether a port is the sandbox's own.
    pub fn contains(&self, port: u16) -> bool {
        self.ports.read().unwrap_or_else(PoisonError::into_inner).contains(&port)
            || self.sources().any(|open| open == port)
    }

    fn sources(&self) -> impl Iterator<Item = u16> {
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        sources.iter().filter_map(|source| source()).collect::<Vec<_>>().into_iter()
    }
}

impl fmt::Debug for InternalPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = self.ports.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(ports.iter().copied().chain(self.sources())).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU16, Ordering};

    use super::*;

    #[test]
    fn a_port_is_internal_while_whoever_opened_it_says_so() {
        let (internal, moving) = (InternalPorts::default(), Arc::new(AtomicU16::new(0)));
        let source = Arc::clone(&moving);
        internal.add_source(move || Some(source.load(Ordering::Relaxed)).filter(|port| *port > 0));
        internal.add(8080);
        assert!(internal.contains(8080) && !internal.contains(9222));
        moving.store(9222, Ordering::Relaxed);
        assert!(internal.contains(9222));
        moving.store(0, Ordering::Relaxed);
        assert!(!internal.contains(9222));
    }
}
