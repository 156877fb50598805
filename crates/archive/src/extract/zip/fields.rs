//! Numbers in a record, and parts of the archive to read them from.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use crate::error::ExtractError;

/// A record's bytes, read from the front. What lies past the end reads as zero: records are measured before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.bytes(N).try_into().unwrap_or([0; N])
    }

    pub(super) fn byte(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    pub(super) fn short(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub(super) fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    pub(super) fn quad(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }
}

/// A part of the archive, read without moving the place where others read.
#[derive(Debug)]
pub(super) struct Section<'a> {
    archive: &'a File,
    at: u64,
    end: u64,
}

impl<'a> Section<'a> {
    pub(super) fn new(archive: &'a File, at: u64, end: u64) -> Self {
        Self { archive, at, end }
    }
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_sub(self.at);
        let room = usize::try_from(left).unwrap_or(buffer.len()).min(buffer.len());
        let count = self.archive.read_at(&mut buffer[..room], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Reads a record at a place in the archive.
pub(super) fn record<const N: usize>(archive: &File, at: u64) -> Result<[u8; N], ExtractError> {
    let mut bytes = [0; N];
    archive.read_exact_at(&mut bytes, at).map_err(ExtractError::unreadable)?;
    Ok(bytes)
}
