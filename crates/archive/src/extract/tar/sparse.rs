//! Sparse files: which parts of them an archive holds.
//!
//! GNU tar has written them in four ways. Its own format has a map in the header and in blocks behind it; in POSIX
//! archives the map is an attribute, several attributes (both [`super::pax`]), or stands before the data.

use tar::{GnuExtSparseHeader, GnuSparseHeader, Header};

use super::pax::decimal;
use super::stream::Stream;
use crate::error::ExtractError;
use crate::extract::budget::Budget;
use crate::format::BLOCK;

/// Parts a file may have.
const PARTS: usize = 1 << 18;

const DAMAGED: &str = "a sparse file's map is damaged";

/// Bytes of a file that the archive holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// The parts, in order and apart.
#[derive(Debug, Default)]
pub(super) struct Map {
    parts: Vec<Part>,
    end: u64,
    held: u64,
}

impl Map {
    pub(super) fn add(&mut self, part: Part) -> Result<(), &'static str> {
        let end = part.offset.checked_add(part.length).ok_or(DAMAGED)?;
        if part.offset < self.end || self.parts.len() >= PARTS {
            return Err(DAMAGED);
        }
        self.parts.push(part);
        self.end = end;
        self.held += part.length;
        Ok(())
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether it fits a file of this size of which the archive holds so many bytes.
    pub(super) fn check(&self, size: u64, held: u64) -> Result<(), ExtractError> {
        if self.end > size || self.held != held {
            return Err(ExtractError::broken(DAMAGED));
        }
        Ok(())
    }

    /// The map in GNU's own format; blocks of it that follow the header are read.
    pub(super) fn of_header(
        header: &Header,
        stream: &mut Stream<'_>,
        budget: &Budget<'_>,
    ) -> Result<(Self, u64), ExtractError> {
        let header = header.as_gnu().ok_or_else(damaged)?;
        let size = header.real_size().map_err(|_| damaged())?;
        let mut map = Self::default();
        map.add_fields(&header.sparse)?;
        let mut more = header.is_extended();
        while more {
            let block = stream.block(budget)?.map_err(|_| damaged())?;
            let mut extension = GnuExtSparseHeader::new();
            extension.as_mut_bytes().copy_from_slice(&block);
            map.add_fields(&extension.sparse)?;
            more = extension.is_extended();
        }
        Ok((map, size))
    }

    fn add_fields(&mut self, fields: &[GnuSparseHeader]) -> Result<(), ExtractError> {
        for field in fields.iter().filter(|field| !field.is_empty()) {
            let (Ok(offset), Ok(length)) = (field.offset(), field.length()) else {
                return Err(damaged());
            };
            self.add(Part { offset, length }).map_err(ExtractError::broken)?;
        }
        Ok(())
    }

    /// The map that stands before the data: lines of digits, filled up to a whole block. Answers with its bytes too.
    pub(super) fn before_data(
        stream: &mut Stream<'_>,
        budget: &Budget<'_>,
    ) -> Result<(Self, u64), ExtractError> {
        let mut lines = Lines { block: [0; BLOCK], at: BLOCK, blocks: 0 };
        let count = lines.number(stream, budget)?;
        if count > PARTS as u64 {
            return Err(damaged());
        }
        let mut map = Self::default();
        for _ in 0..count {
            let offset = lines.number(stream, budget)?;
            let length = lines.number(stream, budget)?;
            map.add(Part { offset, length }).map_err(ExtractError::broken)?;
        }
        Ok((map, lines.blocks * BLOCK as u64))
    }
}

struct Lines {
    block: [u8; BLOCK],
    at: usize,
    blocks: u64,
}

impl Lines {
    fn number(
        &mut self,
        stream: &mut Stream<'_>,
        budget: &Budget<'_>,
    ) -> Result<u64, ExtractError> {
        let mut digits = Vec::new();
        loop {
            if self.at == BLOCK {
                self.block = stream.block(budget)?.map_err(|_| damaged())?;
                self.blocks += 1;
                self.at = 0;
            }
            let byte = self.block[self.at];
            self.at += 1;
            if byte == b'\n' {
                return decimal(&digits).ok_or_else(damaged);
            }
            digits.push(byte);
            if digits.len() > 20 {
                return Err(damaged());
            }
        }
    }
}

fn damaged() -> ExtractError {
    ExtractError::broken(DAMAGED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_in_order_and_apart() {
        let mut map = Map::default();
        map.add(Part { offset: 10, length: 5 }).unwrap();
        map.add(Part { offset: 15, length: 0 }).unwrap();
        assert!(map.add(Part { offset: 14, length: 1 }).is_err());
        assert!(map.add(Part { offset: u64::MAX, length: 1 }).is_err());
        assert!(map.check(15, 5).is_ok());
        assert!(map.check(14, 5).is_err());
        assert!(map.check(15, 4).is_err());
    }
}
