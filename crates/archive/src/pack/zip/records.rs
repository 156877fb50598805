//! The records of a zip, byte by byte. Fields of 64 bits are used where, and only where, 32 do not suffice.

use rustix::fs::Stat;

use super::clock::dos_time;
use crate::directory::Kind;

/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
/// Sizes and checksum follow the data.
const SIZES_FOLLOW: u16 = 1 << 3;
/// What a reader must know: directories and deflate, or fields of 64 bits as well.
const PLAIN: u16 = 20;
const WIDE: u16 = 45;
const UNIX: u16 = 3 << 8;
const FULL: u32 = u32::MAX;

/// How an entry's data is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Stored,
    /// Its sizes follow it, in 64 bits when `large`.
    Deflated {
        large: bool,
    },
}

/// One entry.
#[derive(Debug)]
pub(super) struct Record {
    name: String,
    method: Method,
    offset: u64,
    modified: i64,
    mode: u32,
    is_directory: bool,
    pub(super) crc: u32,
    pub(super) size: u64,
    pub(super) compressed: u64,
}

impl Record {
    pub(super) fn new(name: String, stat: &Stat, method: Method, offset: u64) -> Self {
        Self {
            name,
            method,
            offset,
            modified: stat.st_mtime,
            mode: stat.st_mode,
            is_directory: Kind::of(stat) == Kind::Directory,
            crc: 0,
            size: 0,
            compressed: 0,
        }
    }

    /// What goes before the data.
    pub(super) fn local(&self) -> Vec<u8> {
        let large = self.method == Method::Deflated { large: true };
        let (size, compressed) = match self.method {
            Method::Stored => (narrow(self.size), narrow(self.compressed)),
            Method::Deflated { large: true } => (FULL, FULL),
            Method::Deflated { large: false } => (0, 0),
        };
        let mut extra = self.timestamp();
        if large {
            extra.short(1).short(16).quad(0).quad(0);
        }
        let mut record = Bytes::default();
        record.word(0x0403_4b50).short(if large { WIDE } else { PLAIN });
        self.common(&mut record).word(self.crc).word(compressed).word(size);
        record.length(self.name.len()).length(extra.0.len()).put(self.name.as_bytes());
        record.put(&extra.0).take()
    }

    /// What follows data whose sizes were not known before.
    pub(super) fn descriptor(&self) -> Vec<u8> {
        let mut record = Bytes::default();
        record.word(0x0807_4b50).word(self.crc);
        if self.method == (Method::Deflated { large: true }) {
            record.quad(self.compressed).quad(self.size).take()
        } else {
            record.word(narrow(self.compressed)).word(narrow(self.size)).take()
        }
    }

    /// Its line in the table of contents.
    pub(super) fn central(&self) -> Vec<u8> {
        let mut wide = Bytes::default();
        for value in [self.size, self.compressed, self.offset] {
            if narrow(value) == FULL {
                wide.quad(value);
            }
        }
        let mut extra = self.timestamp();
        if !wide.0.is_empty() {
            extra.short(1).length(wide.0.len()).put(&wide.0);
        }
        let large = !wide.0.is_empty() || self.method == Method::Deflated { large: true };
        let attributes = self.mode << 16 | if self.is_directory { 0x10 } else { 0 };
        let mut record = Bytes::default();
        record.word(0x0201_4b50).short(UNIX | WIDE).short(if large { WIDE } else { PLAIN });
        self.common(&mut record).word(self.crc);
        record.word(narrow(self.compressed)).word(narrow(self.size));
        record.length(self.name.len()).length(extra.0.len());
        record.short(0).short(0).short(0).word(attributes).word(narrow(self.offset));
        record.put(self.name.as_bytes()).put(&extra.0).take()
    }

    fn common<'a>(&self, record: &'a mut Bytes) -> &'a mut Bytes {
        let (time, date) = dos_time(self.modified);
        let (flags, method) = match self.method {
            Method::Stored => (UTF8, 0),
            Method::Deflated { .. } => (UTF8 | SIZES_FOLLOW, 8),
        };
        record.short(flags).short(method).short(time).short(date)
    }

    /// The moment of change to the second and in UTC, as far as its 32 bits reach.
    fn timestamp(&self) -> Bytes {
        let mut extra = Bytes::default();
        if let Ok(modified) = i32::try_from(self.modified) {
            extra.short(0x5455).short(5).put(&[1]).word(modified.cast_unsigned());
        }
        extra
    }
}

/// The end of an archive.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) entries: u64,
    /// Where the table of contents begins.
    pub(super) start: u64,
    /// Its bytes.
    pub(super) length: u64,
}

impl End {
    pub(super) fn encode(&self) -> Vec<u8> {
        let entries = u16::try_from(self.entries).unwrap_or(u16::MAX);
        let (length, start) = (narrow(self.length), narrow(self.start));
        let mut record = Bytes::default();
        if entries == u16::MAX || length == FULL || start == FULL {
            record.word(0x0606_4b50).quad(44).short(UNIX | WIDE).short(WIDE).word(0).word(0);
            record.quad(self.entries).quad(self.entries).quad(self.length).quad(self.start);
            record.word(0x0706_4b50).word(0).quad(self.start + self.length).word(1);
        }
        record.word(0x0605_4b50).short(0).short(0).short(entries).short(entries);
        record.word(length).word(start).short(0).take()
    }
}

/// What 32 bits can say; all ones mean that 64 bits say it elsewhere.
fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(FULL)
}

#[derive(Debug, Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn short(&mut self, value: u16) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    fn word(&mut self, value: u32) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    fn quad(&mut self, value: u64) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    /// Names were measured before, and the extra fields have fixed sizes.
    fn length(&mut self, value: usize) -> &mut Self {
        self.short(u16::try_from(value).unwrap_or(u16::MAX))
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quad(bytes: &[u8], at: usize) -> u64 {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    fn record(method: Method, offset: u64, size: u64) -> Record {
        let stat = rustix::fs::stat("/").unwrap();
        let mut record = Record::new("x".to_owned(), &stat, method, offset);
        record.size = size;
        record.compressed = size;
        record
    }

    #[test]
    fn what_32_bits_cannot_say_64_say_elsewhere() {
        let large = record(Method::Deflated { large: true }, 1 << 32, 5 << 30);
        let central = large.central();
        assert_eq!(&central[20..28], [0xff; 8]);
        assert_eq!(&central[42..46], [0xff; 4]);
        let extra = central.len() - 28;
        assert_eq!(&central[extra..extra + 4], [1, 0, 24, 0]);
        assert_eq!(quad(&central, extra + 4), 5 << 30);
        assert_eq!(quad(&central, extra + 12), 5 << 30);
        assert_eq!(quad(&central, extra + 20), 1 << 32);
        let descriptor = large.descriptor();
        assert_eq!((descriptor.len(), quad(&descriptor, 8)), (24, 5 << 30));

        // Only the place lies far back: only that is said in 64 bits.
        let late = record(Method::Stored, 1 << 33, 7).central();
        assert_eq!(&late[late.len() - 12..late.len() - 8], [1, 0, 8, 0]);
        assert_eq!(quad(&late, late.len() - 8), 1 << 33);

        let small = record(Method::Deflated { large: false }, 9, 7);
        assert_eq!(small.descriptor().len(), 16);
        assert_eq!(&small.central()[42..46], [9, 0, 0, 0]);
    }

    #[test]
    fn many_entries_and_long_archives_get_a_second_end() {
        let end = End { entries: 65_534, start: 7, length: 9 }.encode();
        assert_eq!(end.len(), 22);
        for (entries, start) in [(65_535, 7), (70_000, 7), (1, 1 << 32)] {
            let end = End { entries, start, length: 9 }.encode();
            assert_eq!(end.len(), 56 + 20 + 22);
            assert_eq!((quad(&end, 24), quad(&end, 32)), (entries, entries));
            assert_eq!((quad(&end, 40), quad(&end, 48)), (9, start));
            assert_eq!(quad(&end, 64), start + 9);
        }
    }
}
