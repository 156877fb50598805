//! The signals that ask the server to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for signals from its making on; until then the system's defaults hold.
#[derive(Debug)]
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl StopSignals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            // The terminal the server was started from is gone.
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The next request to stop.
    pub(crate) async fn next(&mut self) -> SignalKind {
        tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.hang_up.recv() => SignalKind::hangup(),
        }
    }
}
