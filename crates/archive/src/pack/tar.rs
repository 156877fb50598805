//! tar as GNU writes it: names and links of any length, files of any size.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::Stat;
use tar::{EntryType, Header};

use super::content::{Content, Fault, Short};
use super::walk::Writer;
use crate::format::BLOCK;

/// Room for a name, and for a link's target, in a header.
const FIELD: usize = 100;

/// GNU tar reads and writes this many bytes at once, and others have come to expect whole ones.
const RECORD: u64 = 20 * BLOCK as u64;

#[derive(Debug)]
pub(super) struct TarWriter<W> {
    sink: W,
    written: u64,
}

impl<W: Write> TarWriter<W> {
    pub(super) fn new(sink: W) -> Self {
        Self { sink, written: 0 }
    }

    /// Writes the end: two empty blocks, filled up to a whole record.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.put(&[0; 2 * BLOCK])?;
        while !self.written.is_multiple_of(RECORD) {
            self.put(&[0; BLOCK])?;
        }
        Ok(self.sink)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Fills the block that was begun.
    fn pad(&mut self) -> io::Result<()> {
        let rest = usize::try_from(self.written % BLOCK as u64).unwrap_or(0);
        if rest == 0 { Ok(()) } else { self.put(&[0; BLOCK][rest..]) }
    }

    fn header(&mut self, name: &[u8], target: &[u8], mut header: Header) -> io::Result<()> {
        if target.len() > FIELD {
            self.long(b'K', target)?;
        }
        if name.len() > FIELD {
            self.long(b'L', name)?;
        }
        let fields = header.as_old_mut();
        copy_field(&mut fields.name, name);
        copy_field(&mut fields.linkname, target);
        header.set_cksum();
        self.put(header.as_bytes())
    }

    /// A text too long for its field goes before its header as a file of its own.
    fn long(&mut self, kind: u8, text: &[u8]) -> io::Result<()> {
        let mut header = Header::new_gnu();
        copy_field(&mut header.as_old_mut().name, b"././@LongLink");
        header.set_entry_type(EntryType::new(kind));
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(text.len() as u64 + 1);
        header.set_cksum();
        self.put(header.as_bytes())?;
        self.put(text)?;
        self.put(&[0])?;
        self.pad()
    }
}

impl<W: Write> Writer for TarWriter<W> {
    fn directory(&mut self, path: &Path, stat: &Stat) -> Result<(), Fault> {
        let mut name = path.as_os_str().as_bytes().to_vec();
        name.push(b'/');
        self.header(&name, b"", describe(stat, EntryType::Directory, 0)).map_err(Fault::Write)
    }

    fn link(&mut self, path: &Path, stat: &Stat, target: &[u8]) -> Result<(), Fault> {
        let header = describe(stat, EntryType::Symlink, 0);
        self.header(path.as_os_str().as_bytes(), target, header).map_err(Fault::Write)
    }

    fn file(
        &mut self,
        path: &Path,
        stat: &Stat,
        file: &mut File,
        content: &mut Content<'_>,
    ) -> Result<u64, Fault> {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let header = describe(stat, EntryType::Regular, size);
        self.header(path.as_os_str().as_bytes(), b"", header).map_err(Fault::Write)?;
        let count = content.copy(file, size, Short::Pad, |bytes| self.put(bytes))?;
        self.pad().map_err(Fault::Write)?;
        Ok(count)
    }
}

fn describe(stat: &Stat, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(stat.st_mode & 0o7777);
    header.set_uid(stat.st_uid.into());
    header.set_gid(stat.st_gid.into());
    header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or(0));
    header.set_size(size);
    header
}

/// Copies as much as fits; the rest, if any, went before.
fn copy_field(field: &mut [u8], text: &[u8]) {
    let length = text.len().min(field.len());
    field[..length].copy_from_slice(&text[..length]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_past_octal_fit_their_field() {
        let directory = tempfile::tempdir().unwrap();
        let mut stat = rustix::fs::stat(directory.path()).unwrap();
        stat.st_mtime = 1 << 34;
        stat.st_uid = u32::MAX - 1;
        for size in [(8 << 30) - 1, 8 << 30, 1 << 50] {
            let header = describe(&stat, EntryType::Regular, size);
            assert_eq!(header.size().unwrap(), size);
            assert_eq!(header.mtime().unwrap(), 1 << 34);
            assert_eq!(header.uid().unwrap(), u64::from(u32::MAX - 1));
        }
    }
}
