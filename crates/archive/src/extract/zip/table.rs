//! The table of contents: found from the archive's end, read line by line.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;

use super::fields::{Fields, Section, record};
use crate::directory::Moment;
use crate::error::ExtractError;

const BUFFER: usize = 64 << 10;
/// The end record, and the longest comment that may follow it.
const END: usize = 22;
const COMMENT: usize = 0xffff;
/// A line without its texts.
const LINE: usize = 46;

/// Where the table lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) entries: u64,
}

/// A line of it.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) raw_name: Vec<u8>,
    pub(super) by_unix: bool,
    pub(super) encrypted: bool,
    pub(super) method: u16,
    pub(super) modified: Moment,
    pub(super) crc: u32,
    pub(super) compressed: u64,
    pub(super) size: u64,
    /// Where the entry itself begins.
    pub(super) offset: u64,
    pub(super) attributes: u32,
}

impl Place {
    /// Finds the table.
    pub(super) fn find(archive: &File, length: u64) -> Result<Self, ExtractError> {
        let at = find_end(archive, length)?;
        let bytes: [u8; END] = record(archive, at)?;
        let mut fields = Fields(&bytes[4..]);
        let disks = [fields.short(), fields.short()];
        let counts = [fields.short(), fields.short()];
        let (size, start) = (fields.word(), fields.word());
        if disks[0] != disks[1] || counts[0] != counts[1] {
            return Err(several_disks());
        }
        let wide = counts[0] == u16::MAX || size == u32::MAX || start == u32::MAX;
        let place = match at.checked_sub(20).filter(|_| wide) {
            Some(locator) => Self::find_wide(archive, locator)?,
            None => None,
        };
        if place.is_none() && disks[0] != 0 {
            return Err(several_disks());
        }
        let place = place.unwrap_or(Self {
            start: start.into(),
            end: u64::from(start) + u64::from(size),
            entries: counts[0].into(),
        });
        if place.start > place.end || place.end > at {
            return Err(ExtractError::broken("its table of contents is not where it should be"));
        }
        Ok(place)
    }

    /// The end record with fields of 64 bits, if there is one.
    fn find_wide(archive: &File, locator: u64) -> Result<Option<Self>, ExtractError> {
        let bytes: [u8; 20] = record(archive, locator)?;
        let mut fields = Fields(&bytes);
        if fields.word() != 0x0706_4b50 {
            return Ok(None);
        }
        let (disk, at, disks) = (fields.word(), fields.quad(), fields.word());
        if disk != 0 || disks > 1 {
            return Err(several_disks());
        }
        if at.checked_add(56).is_none_or(|end| end > locator) {
            return Err(ExtractError::broken("its end record is not where it should be"));
        }
        let bytes: [u8; 56] = record(archive, at)?;
        let mut fields = Fields(&bytes);
        if fields.word() != 0x0606_4b50 {
            return Err(ExtractError::broken("its end record is damaged"));
        }
        fields.bytes(20);
        let (here, entries, size, start) =
            (fields.quad(), fields.quad(), fields.quad(), fields.quad());
        if here != entries {
            return Err(several_disks());
        }
        let end = start.checked_add(size).filter(|end| *end <= at);
        let end = end.ok_or_else(|| {
            ExtractError::broken("its table of contents is not where it should be")
        })?;
        Ok(Some(Self { start, end, entries }))
    }
}

/// The last end record whose comment reaches to the end of the archive.
fn find_end(archive: &File, length: u64) -> Result<u64, ExtractError> {
    let start = length.saturating_sub((END + COMMENT) as u64);
    let mut tail = vec![0; usize::try_from(length - start).unwrap_or(0)];
    archive.read_exact_at(&mut tail, start).map_err(ExtractError::unreadable)?;
    let is_end = |at: &usize| {
        let mut fields = Fields(&tail[*at..]);
        let found = fields.word() == 0x0605_4b50;
        fields.bytes(16);
        found && at + END + usize::from(fields.short()) == tail.len()
    };
    let found = (0..=tail.len().saturating_sub(END)).rev().find(is_end);
    match found {
        Some(at) => Ok(start + at as u64),
        None => Err(ExtractError::broken("it has no end record: it is cut off")),
    }
}

fn several_disks() -> ExtractError {
    ExtractError::Format {
        reason: "it is one of several parts; join them into one archive first".to_owned(),
    }
}

/// Reads the table.
#[derive(Debug)]
pub(super) struct Table<'a> {
    source: BufReader<Section<'a>>,
    left: u64,
    extra: Vec<u8>,
}

impl<'a> Table<'a> {
    pub(super) fn new(archive: &'a File, place: Place) -> Self {
        let section = Section::new(archive, place.start, place.end);
        let source = BufReader::with_capacity(BUFFER, section);
        Self { source, left: place.end - place.start, extra: Vec::new() }
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Line>, ExtractError> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut head = [0; LINE];
        self.source.read_exact(&mut head).map_err(cut_off)?;
        let mut fields = Fields(&head);
        if fields.word() != 0x0201_4b50 {
            return Err(damaged());
        }
        let host = fields.short() >> 8;
        fields.short();
        let (flags, method) = (fields.short(), fields.short());
        let dos_time = (fields.short(), fields.short());
        let (crc, compressed, size) = (fields.word(), fields.word(), fields.word());
        let (name, extra, comment) = (fields.short(), fields.short(), fields.short());
        fields.bytes(4);
        let (attributes, offset) = (fields.word(), fields.word());
        let mut line = Line {
            raw_name: vec![0; name.into()],
            by_unix: matches!(host, 3 | 19),
            encrypted: flags & 1 != 0,
            method,
            modified: Moment(from_dos(dos_time), 0),
            crc,
            compressed: compressed.into(),
            size: size.into(),
            offset: offset.into(),
            attributes,
        };
        self.source.read_exact(&mut line.raw_name).map_err(cut_off)?;
        self.extra.resize(extra.into(), 0);
        self.source.read_exact(&mut self.extra).map_err(cut_off)?;
        let comment = u64::from(comment);
        let skipped = io::copy(&mut self.source.by_ref().take(comment), &mut io::sink());
        if skipped.map_err(ExtractError::unreadable)? != comment {
            return Err(damaged());
        }
        line.widen(&self.extra)?;
        let taken = LINE as u64 + u64::from(name) + u64::from(extra) + comment;
        self.left = self.left.checked_sub(taken).ok_or_else(damaged)?;
        Ok(Some(line))
    }
}

impl Line {
    /// Takes in the extra fields: numbers of 64 bits, and the moment of change in UTC.
    fn widen(&mut self, extra: &[u8]) -> Result<(), ExtractError> {
        const FULL: u64 = u32::MAX as u64;
        let mut fields = Fields(extra);
        while fields.0.len() >= 4 {
            let (kind, length) = (fields.short(), fields.short());
            let mut field = Fields(fields.bytes(length.into()));
            match kind {
                1 => {
                    for value in [&mut self.size, &mut self.compressed, &mut self.offset] {
                        if *value == FULL {
                            if field.0.len() < 8 {
                                return Err(damaged());
                            }
                            *value = field.quad();
                        }
                    }
                }
                0x5455 if field.0.len() >= 5 && field.byte() & 1 != 0 => {
                    self.modified = Moment(field.word().cast_signed().into(), 0);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn cut_off(error: io::Error) -> ExtractError {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        damaged()
    } else {
        ExtractError::unreadable(error)
    }
}

fn damaged() -> ExtractError {
    ExtractError::broken("its table of contents is damaged")
}

/// Seconds since 1970, taking the fields as UTC: the zone they were written in is not told.
fn from_dos((time, date): (u16, u16)) -> i64 {
    let [hour, minute, second] = [time >> 11, time >> 5 & 63, (time & 31) * 2].map(i64::from);
    let [year, month, day] =
        [(date >> 9) + 1980, (date >> 5 & 15).max(1), (date & 31).max(1)].map(i64::from);
    // Years are taken from March, so that a leap day ends one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    (days - 719_468) * 86_400 + hour * 3600 + minute * 60 + second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_64_bits_are_read() {
        // All before the table is a hole.
        let start = 5_u64 << 30;
        let mut line = b"PK\x01\x02\x2d\x03\x2d\0".to_vec();
        line.resize(LINE, 0);
        line[20..28].fill(0xff);
        line[28] = 1;
        line[30] = 28;
        line[42..46].fill(0xff);
        line.push(b'x');
        line.extend([1, 0, 24, 0]);
        line.extend([6_u64 << 30, 7 << 30, 1 << 32].map(u64::to_le_bytes).concat());
        let mut end = b"PK\x06\x06".to_vec();
        end.resize(24, 0);
        end.extend([1, 1, line.len() as u64, start].map(u64::to_le_bytes).concat());
        end.extend(b"PK\x06\x07\0\0\0\0");
        end.extend((start + line.len() as u64).to_le_bytes());
        end.extend([1, 0, 0, 0]);
        end.extend(b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0");
        let archive = tempfile::tempfile().unwrap();
        archive.write_all_at(&line, start).unwrap();
        archive.write_all_at(&end, start + line.len() as u64).unwrap();

        let place = Place::find(&archive, archive.metadata().unwrap().len()).unwrap();
        assert_eq!(place, Place { start, end: start + line.len() as u64, entries: 1 });
        let mut table = Table::new(&archive, place);
        let found = table.next().unwrap().unwrap();
        assert_eq!(found.raw_name, b"x");
        assert_eq!((found.size, found.compressed, found.offset), (6 << 30, 7 << 30, 1 << 32));
        assert!(table.next().unwrap().is_none());
    }

    #[test]
    fn dos_fields_become_moments() {
        let date = |year: u16, month: u16, day: u16| (year - 1980) << 9 | month << 5 | day;
        assert_eq!(from_dos((0x645c, date(2024, 2, 29))), 1_709_210_096);
        assert_eq!(from_dos((0, date(1980, 1, 1))), 315_532_800);
        assert_eq!(from_dos((0, date(2000, 3, 1))), 951_868_800);
    }
}
