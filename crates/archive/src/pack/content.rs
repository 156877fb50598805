//! A file's bytes, as many as were announced.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes read at once.
const CHUNK: usize = 128 << 10;

/// Why one entry could not be written.
#[derive(Debug)]
pub(super) enum Fault {
    Read(io::Error),
    Write(io::Error),
    /// It has no place in the format.
    Unfit(&'static str),
    Cancelled,
}

/// What to do with a file that became shorter than was announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Short {
    /// Make up for it with zeros.
    Pad,
    /// Leave it short.
    Keep,
}

/// Reads files, one after another, through one buffer.
#[derive(Debug)]
pub(super) struct Content<'a> {
    cancel: &'a AtomicBool,
    buffer: Vec<u8>,
}

impl<'a> Content<'a> {
    pub(super) fn new(cancel: &'a AtomicBool) -> Self {
        Self { cancel, buffer: vec![0; CHUNK] }
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.cancel.load(Ordering::Relaxed) { Err(Fault::Cancelled) } else { Ok(()) }
    }

    /// Hands on `size` bytes of a file, never more, whatever it has grown to. Answers with how many it handed on.
    pub(super) fn copy(
        &mut self,
        file: &mut File,
        size: u64,
        short: Short,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<u64, Fault> {
        let mut left = size;
        while left > 0 {
            self.check()?;
            let room = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            let chunk = &mut self.buffer[..room];
            let mut count = match file.read(chunk) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Fault::Read(error)),
            };
            if count == 0 {
                if short == Short::Keep {
                    break;
                }
                chunk.fill(0);
                count = room;
            }
            take(&chunk[..count]).map_err(Fault::Write)?;
            left -= count as u64;
        }
        Ok(size - left)
    }
}
