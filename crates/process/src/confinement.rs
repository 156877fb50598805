//! How much a command and everything it starts may use.

use crate::spawner::long_at;

/// Bounds for one command with everything it starts; what is `None` is not bounded.
///
/// Memory and processes are bounded by control groups where the server may make them. Elsewhere they are the kernel's
/// limits per process and per user, which are weaker: memory is what *each* process may have, and the number of
/// processes counts all of a user's and does not bind root. Open files are always counted per process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Confinement {
    /// Bytes of memory; what needs more is killed, or refused memory where there is no control group.
    pub memory_bytes: Option<u64>,
    /// Processes and threads at once; the next `fork` fails.
    pub processes: Option<u64>,
    /// Files that one process may have open.
    pub open_files: Option<u64>,
}

impl Confinement {
    /// Bytes of a confinement as it travels.
    pub(crate) const SIZE: usize = 24;

    pub(crate) fn encode(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let numbers = [self.memory_bytes, self.processes, self.open_files];
        for (to, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            to.copy_from_slice(&number.unwrap_or(u64::MAX).to_ne_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let number = |position| Some(long_at(bytes, position)).filter(|number| *number != u64::MAX);
        Self { memory_bytes: number(0), processes: number(8), open_files: number(16) }
    }

    /// Whether a control group is needed for it.
    pub(crate) fn needs_group(self) -> bool {
        self.memory_bytes.is_some() || self.processes.is_some()
    }
}
