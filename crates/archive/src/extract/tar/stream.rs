//! The bytes of a tar, compressed or not, in blocks.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::atomic::AtomicBool;

use flate2::bufread::MultiGzDecoder;

use crate::error::ExtractError;
use crate::extract::budget::{Budget, Watched};
use crate::format::{BLOCK, is_zero};

const BUFFER: usize = 64 << 10;

pub(crate) struct Stream<'a> {
    source: Box<dyn Read + 'a>,
    /// Bytes read so far.
    position: u64,
}

impl<'a> Stream<'a> {
    pub(crate) fn plain(archive: &'a File) -> Self {
        Self { source: Box::new(BufReader::with_capacity(BUFFER, archive)), position: 0 }
    }

    /// A gzip file may consist of several, one after another.
    pub(crate) fn gzip(archive: &'a File, cancel: &'a AtomicBool) -> Self {
        let buffered = BufReader::with_capacity(BUFFER, Watched::new(archive, cancel));
        let inflated = MultiGzDecoder::new(buffered);
        Self { source: Box::new(BufReader::with_capacity(BUFFER, inflated)), position: 0 }
    }

    /// Reads a block, or says how many bytes there were when there is none.
    pub(super) fn block(
        &mut self,
        budget: &Budget<'_>,
    ) -> Result<Result<[u8; BLOCK], usize>, ExtractError> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            match self.read(&mut block[filled..], budget)? {
                0 => return Ok(Err(filled)),
                count => filled += count,
            }
        }
        Ok(Ok(block))
    }

    /// Reads what is there, at most a buffer full; nothing only at the end.
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        budget: &Budget<'_>,
    ) -> Result<usize, ExtractError> {
        budget.check()?;
        loop {
            match self.source.read(buffer) {
                Ok(count) => {
                    self.position += count as u64;
                    budget.check_stream(self.position)?;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    budget.check()?;
                    return Err(ExtractError::unreadable(error));
                }
            }
        }
    }

    /// Reads what fills the last block of an entry's data.
    pub(super) fn skip_padding(&mut self, budget: &Budget<'_>) -> Result<(), ExtractError> {
        let mut left = (BLOCK - usize::try_from(self.position % BLOCK as u64).unwrap_or(0)) % BLOCK;
        let mut padding = [0; BLOCK];
        while left > 0 {
            match self.read(&mut padding[..left], budget)? {
                0 => return Err(ExtractError::broken("it ends too early")),
                count => left -= count,
            }
        }
        Ok(())
    }

    /// Reads on to the end, which proves the checksums of compressed data. Only zeros may follow a tar's end.
    pub(super) fn finish(&mut self, budget: &Budget<'_>) -> Result<(), ExtractError> {
        let mut chunk = vec![0; BUFFER];
        loop {
            let count = self.read(&mut chunk, budget)?;
            if count == 0 {
                return Ok(());
            }
            if !is_zero(&chunk[..count]) {
                let reason = "more data follows its end; archives joined together are not read";
                return Err(ExtractError::broken(reason));
            }
        }
    }
}

impl fmt::Debug for Stream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("position", &self.position).finish_non_exhaustive()
    }
}
