//! How much an archive may hold, counted as it is unpacked: what its headers say is not believed.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{ExtractError, Limit};

/// What one archive may hold.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Entries, directories that only their paths speak of included.
    pub entries: u64,
    /// Bytes of its files, unpacked.
    pub bytes: u64,
    /// How many times its own size it may unpack to.
    pub ratio: u64,
}

/// Logs and empty forms compress as well as bombs do: what unpacks to less than this harms nobody, whatever its ratio.
const RATIO_FROM: u64 = 16 << 20;

/// Bytes of headers and padding each entry may take on average.
const OVERHEAD: u64 = 4096;

#[derive(Debug)]
pub(super) struct Budget<'a> {
    limits: Limits,
    /// Bytes that may be unpacked, by the two limits that say so.
    ceiling: u64,
    pub(super) entries: u64,
    pub(super) bytes: u64,
    cancel: &'a AtomicBool,
}

impl<'a> Budget<'a> {
    /// `size` is the archive's own.
    pub(super) fn new(limits: Limits, size: u64, cancel: &'a AtomicBool) -> Self {
        let by_ratio = size.saturating_mul(limits.ratio).max(RATIO_FROM);
        Self { limits, ceiling: limits.bytes.min(by_ratio), entries: 0, bytes: 0, cancel }
    }

    /// Takes one more entry. Directories that were only implied so far count as if they were entries.
    pub(super) fn entry(&mut self, implied: u64) -> Result<(), ExtractError> {
        self.check()?;
        self.entries += 1;
        self.check_entries(self.entries + implied)
    }

    /// Whether this many entries would be too many.
    pub(super) fn check_entries(&self, entries: u64) -> Result<(), ExtractError> {
        if entries > self.limits.entries {
            return Err(too_large(Limit::Entries, self.limits.entries));
        }
        Ok(())
    }

    /// Takes this many more bytes.
    pub(super) fn bytes(&mut self, bytes: u64) -> Result<(), ExtractError> {
        self.check()?;
        self.bytes = self.bytes.saturating_add(bytes);
        self.check_bytes(self.bytes)
    }

    fn check_bytes(&self, bytes: u64) -> Result<(), ExtractError> {
        if bytes > self.limits.bytes {
            return Err(too_large(Limit::Bytes, self.limits.bytes));
        }
        if bytes > self.ceiling {
            return Err(too_large(Limit::Ratio, self.limits.ratio));
        }
        Ok(())
    }

    /// Whether a tar stream may be this long: everything in it, headers included.
    pub(super) fn check_stream(&self, bytes: u64) -> Result<(), ExtractError> {
        let overhead = self.limits.entries.saturating_mul(OVERHEAD).saturating_add(RATIO_FROM);
        self.check_bytes(bytes.saturating_sub(overhead))
    }

    /// Set when work shall break off.
    pub(super) fn cancel(&self) -> &'a AtomicBool {
        self.cancel
    }

    /// Whether to go on.
    pub(super) fn check(&self) -> Result<(), ExtractError> {
        if self.cancel.load(Ordering::Relaxed) { Err(ExtractError::Cancelled) } else { Ok(()) }
    }
}

/// A source that ends with an error when work shall break off: compressed data may go on for very long without giving
/// a single byte.
#[derive(Debug)]
pub(super) struct Watched<'a, R> {
    source: R,
    cancel: &'a AtomicBool,
}

impl<'a, R> Watched<'a, R> {
    pub(super) fn new(source: R, cancel: &'a AtomicBool) -> Self {
        Self { source, cancel }
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(io::Error::other("broken off"));
        }
        self.source.read(buffer)
    }
}

fn too_large(limit: Limit, allowed: u64) -> ExtractError {
    ExtractError::TooLarge { limit, allowed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_met_exactly_and_named_when_passed() {
        let cancel = AtomicBool::new(false);
        let limits = Limits { entries: 2, bytes: 50 << 20, ratio: 2 };
        let mut budget = Budget::new(limits, 100 << 20, &cancel);
        assert!(budget.entry(0).is_ok() && budget.entry(0).is_ok());
        let error = budget.entry(0).unwrap_err();
        assert_eq!(error.to_string(), "it holds more than 2 entries");
        assert!(budget.bytes(50 << 20).is_ok());
        let error = budget.bytes(1).unwrap_err();
        assert_eq!(error.to_string(), "it holds more than 52428800 bytes");

        let mut budget = Budget::new(limits, 10 << 20, &cancel);
        assert!(budget.bytes(20 << 20).is_ok());
        let error = budget.bytes(1).unwrap_err();
        assert_eq!(error.to_string(), "it holds more than 2 times its own size");

        let mut budget = Budget::new(limits, 1, &cancel);
        assert!(budget.bytes(RATIO_FROM).is_ok(), "the ratio counts from there on");
        cancel.store(true, Ordering::Relaxed);
        assert!(matches!(budget.bytes(0), Err(ExtractError::Cancelled)));
    }
}
