//! zip to a sink that cannot seek.
//!
//! A file's sizes and checksum follow its data. The table of contents is collected beside the archive, in a temporary
//! file once it is long, and comes at the end.

mod clock;
mod deflate;
mod records;

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use flate2::Crc;
use rustix::fs::Stat;
use tempfile::SpooledTempFile;

use self::deflate::Deflate;
use self::records::{End, Method, Record};
use super::content::{Content, Fault, Short};
use super::walk::Writer;
use crate::error::PackError;

/// Bytes of the table of contents kept in memory.
const TABLE_IN_MEMORY: usize = 4 << 20;

/// A file this long gets fields of 64 bits before its compressed size is known: compressing may add a little.
const LARGE: u64 = 0xf000_0000;

#[derive(Debug)]
pub(super) struct ZipWriter<W> {
    sink: Counted<W>,
    table: SpooledTempFile,
    entries: u64,
    deflate: Deflate,
}

#[derive(Debug)]
struct Counted<W> {
    sink: W,
    written: u64,
}

impl<W: Write> ZipWriter<W> {
    pub(super) fn new(sink: W) -> Self {
        Self {
            sink: Counted { sink, written: 0 },
            table: tempfile::spooled_tempfile(TABLE_IN_MEMORY),
            entries: 0,
            deflate: Deflate::new(),
        }
    }

    /// Writes the table of contents.
    pub(super) fn finish(mut self) -> Result<W, PackError> {
        let start = self.sink.written;
        self.table.rewind().map_err(PackError::Write)?;
        let mut chunk = vec![0; super::COLLECTED];
        loop {
            let count = self.table.read(&mut chunk).map_err(PackError::Write)?;
            if count == 0 {
                break;
            }
            self.sink.write_all(&chunk[..count]).map_err(PackError::Write)?;
        }
        let end = End { entries: self.entries, start, length: self.sink.written - start };
        self.sink.write_all(&end.encode()).map_err(PackError::Write)?;
        Ok(self.sink.sink)
    }

    /// Something whose bytes are at hand.
    fn small(&mut self, name: String, stat: &Stat, bytes: &[u8]) -> Result<(), Fault> {
        let mut record = self.record(name, stat, Method::Stored)?;
        let mut crc = Crc::new();
        crc.update(bytes);
        record.crc = crc.sum();
        record.size = bytes.len() as u64;
        record.compressed = record.size;
        self.sink.write_all(&record.local()).map_err(Fault::Write)?;
        self.sink.write_all(bytes).map_err(Fault::Write)?;
        self.list(&record)
    }

    fn record(&self, name: String, stat: &Stat, method: Method) -> Result<Record, Fault> {
        if name.len() > usize::from(u16::MAX) {
            return Err(Fault::Unfit("has a path too long for a zip"));
        }
        Ok(Record::new(name, stat, method, self.sink.written))
    }

    fn list(&mut self, record: &Record) -> Result<(), Fault> {
        self.table.write_all(&record.central()).map_err(Fault::Write)?;
        self.entries += 1;
        Ok(())
    }
}

impl<W: Write> Writer for ZipWriter<W> {
    fn directory(&mut self, path: &Path, stat: &Stat) -> Result<(), Fault> {
        self.small(text(path) + "/", stat, &[])
    }

    fn link(&mut self, path: &Path, stat: &Stat, target: &[u8]) -> Result<(), Fault> {
        self.small(text(path), stat, target)
    }

    fn file(
        &mut self,
        path: &Path,
        stat: &Stat,
        file: &mut File,
        content: &mut Content<'_>,
    ) -> Result<u64, Fault> {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size == 0 {
            self.small(text(path), stat, &[])?;
            return Ok(0);
        }
        let mut record =
            self.record(text(path), stat, Method::Deflated { large: size >= LARGE })?;
        self.sink.write_all(&record.local()).map_err(Fault::Write)?;
        let start = self.sink.written;
        let mut crc = Crc::new();
        record.size = content.copy(file, size, Short::Keep, |bytes| {
            crc.update(bytes);
            self.deflate.write(bytes, &mut self.sink)
        })?;
        self.deflate.finish(&mut self.sink).map_err(Fault::Write)?;
        record.crc = crc.sum();
        record.compressed = self.sink.written - start;
        self.sink.write_all(&record.descriptor()).map_err(Fault::Write)?;
        self.list(&record)?;
        Ok(record.size)
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.sink.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// Names in a zip are text: bytes that are no UTF-8 become U+FFFD.
fn text(path: &Path) -> String {
    String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned()
}
