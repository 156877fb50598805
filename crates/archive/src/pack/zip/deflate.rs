//! One compressor for all files of an archive: making one anew for each would cost more than compressing a small file.

use std::io::{self, Write};

use flate2::{Compress, FlushCompress, Status};

use super::super::LEVEL;

/// Compressed bytes handed on at once.
const ROOM: usize = 32 << 10;

#[derive(Debug)]
pub(super) struct Deflate {
    state: Compress,
    room: Vec<u8>,
}

impl Deflate {
    pub(super) fn new() -> Self {
        Self { state: Compress::new(LEVEL, false), room: Vec::with_capacity(ROOM) }
    }

    pub(super) fn write(&mut self, mut bytes: &[u8], sink: &mut impl Write) -> io::Result<()> {
        while !bytes.is_empty() {
            let taken = self.step(bytes, FlushCompress::None, sink)?.0;
            bytes = bytes.get(taken..).unwrap_or_default();
        }
        Ok(())
    }

    /// Ends one file's data and is ready for the next.
    pub(super) fn finish(&mut self, sink: &mut impl Write) -> io::Result<()> {
        while self.step(&[], FlushCompress::Finish, sink)?.1 != Status::StreamEnd {}
        self.state.reset();
        Ok(())
    }

    fn step(
        &mut self,
        bytes: &[u8],
        flush: FlushCompress,
        sink: &mut impl Write,
    ) -> io::Result<(usize, Status)> {
        let before = self.state.total_in();
        self.room.clear();
        let status = self.state.compress_vec(bytes, &mut self.room, flush)?;
        sink.write_all(&self.room)?;
        let taken = usize::try_from(self.state.total_in() - before).unwrap_or(bytes.len());
        Ok((taken, status))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn files_are_compressed_one_after_another() {
        let mut deflate = Deflate::new();
        for length in [0_usize, 1, 1000, 300_000, 7] {
            let bytes: Vec<u8> =
                (0..length).map(|at| u8::try_from(at * at % 251).unwrap()).collect();
            let mut compressed = Vec::new();
            bytes.chunks(777).for_each(|chunk| deflate.write(chunk, &mut compressed).unwrap());
            deflate.finish(&mut compressed).unwrap();
            let mut read = Vec::new();
            flate2::read::DeflateDecoder::new(&compressed[..]).read_to_end(&mut read).unwrap();
            assert_eq!(read, bytes);
        }
    }
}
