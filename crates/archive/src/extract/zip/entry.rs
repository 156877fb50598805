//! Entry after entry of a zip: where its data lies, and what it is.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::atomic::AtomicBool;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::fields::{Fields, Section, record};
use super::name::decode;
use super::table::{Line, Place, Table};
use crate::error::{ExtractError, show};
use crate::extract::budget::{Budget, Watched};
use crate::extract::route::NAME;
use crate::extract::stage::Nature;
use crate::extract::unpack::Unpacker;

const BUFFER: usize = 64 << 10;
/// What goes before an entry's data, without its texts.
const LOCAL: u64 = 30;

/// Unpacks a whole zip of this length.
pub(crate) fn unpack(
    archive: &File,
    length: u64,
    unpacker: &mut Unpacker<'_>,
) -> Result<(), ExtractError> {
    let place = Place::find(archive, length)?;
    unpacker.budget.check_entries(place.entries)?;
    let mut table = Table::new(archive, place);
    let mut data = 0_u64;
    let mut lines = 0_u64;
    while let Some(line) = table.next()? {
        lines += 1;
        // Data that many entries share makes a small archive take for ever.
        data = data.saturating_add(line.compressed);
        if data > place.start {
            return Err(ExtractError::broken("its entries share data"));
        }
        entry(archive, place.start, &line, unpacker)?;
    }
    if lines != place.entries {
        return Err(ExtractError::broken("its table of contents is not as long as it says"));
    }
    Ok(())
}

fn entry(
    archive: &File,
    limit: u64,
    line: &Line,
    unpacker: &mut Unpacker<'_>,
) -> Result<(), ExtractError> {
    let name = decode(&line.raw_name, line.by_unix);
    let route = unpacker.begin(&name)?;
    if line.encrypted {
        let reason = format!("entry {} is encrypted; send the archive without", show(&name));
        return Err(ExtractError::Format { reason });
    }
    let mode = line.by_unix.then_some(line.attributes >> 16).filter(|mode| *mode != 0);
    let nature = Nature { mode, modified: line.modified };
    let hazard = |reason: &str| Err(ExtractError::hazard(&name, reason));
    let is_directory = name.ends_with(b"/") || (!line.by_unix && line.attributes & 0x10 != 0);
    let kind = mode.unwrap_or(0) & 0o170_000;
    match if is_directory && matches!(kind, 0 | 0o100_000) { 0o040_000 } else { kind } {
        0o040_000 if line.size != 0 => hazard("it is a directory with content"),
        0o040_000 => unpacker.directory(&route, nature),
        0 | 0o100_000 => {
            let mut data = Data::open(archive, limit, line, &name, unpacker.budget.cancel())?;
            unpacker.file(&route, nature, |buffer, budget| data.read(buffer, budget))
        }
        0o120_000 if line.size > NAME as u64 => hazard("its target is longer than 4095 bytes"),
        0o120_000 => {
            let mut data = Data::open(archive, limit, line, &name, unpacker.budget.cancel())?;
            let mut target = Vec::new();
            let mut chunk = [0; NAME];
            loop {
                match data.read(&mut chunk, &unpacker.budget)? {
                    0 => return unpacker.link(&route, &target, nature),
                    count => target.extend_from_slice(&chunk[..count]),
                }
            }
        }
        0o010_000 => hazard("it is a named pipe"),
        0o020_000 | 0o060_000 => hazard("it is a device"),
        _ => hazard("it is of a kind that is not known here"),
    }
}

/// An entry's data, proven when its end is reached.
struct Data<'a> {
    source: Source<'a>,
    name: &'a [u8],
    line: &'a Line,
    crc: Crc,
    count: u64,
}

enum Source<'a> {
    Stored(Watched<'a, Section<'a>>),
    Deflated(Box<DeflateDecoder<BufReader<Watched<'a, Section<'a>>>>>),
}

impl<'a> Data<'a> {
    /// Finds the data. It must end before `limit`.
    fn open(
        archive: &'a File,
        limit: u64,
        line: &'a Line,
        name: &'a [u8],
        cancel: &'a AtomicBool,
    ) -> Result<Self, ExtractError> {
        let damaged = |what: &str| ExtractError::broken(format!("entry {}: {what}", show(name)));
        let misplaced = || damaged("its data is not where it should be");
        if line.offset.checked_add(LOCAL).is_none_or(|end| end > limit) {
            return Err(misplaced());
        }
        let head: [u8; 30] = record(archive, line.offset)?;
        let mut fields = Fields(&head);
        if fields.word() != 0x0403_4b50 {
            return Err(misplaced());
        }
        fields.bytes(22);
        let (name_length, extra_length) = (fields.short(), fields.short());
        let texts = line.offset + LOCAL;
        let start = texts + u64::from(name_length) + u64::from(extra_length);
        let end = start.checked_add(line.compressed).filter(|end| *end <= limit);
        let end = end.ok_or_else(misplaced)?;
        let mut local_name = Vec::new();
        Section::new(archive, texts, texts + u64::from(name_length))
            .read_to_end(&mut local_name)
            .map_err(ExtractError::unreadable)?;
        if local_name != line.raw_name {
            return Err(damaged("it has another name before its data"));
        }
        let section = Watched::new(Section::new(archive, start, end), cancel);
        let source = match line.method {
            0 => Source::Stored(section),
            8 => Source::Deflated(Box::new(DeflateDecoder::new(BufReader::with_capacity(
                BUFFER.min(usize::try_from(line.compressed).unwrap_or(BUFFER).max(1)),
                section,
            )))),
            method => {
                let method = method_name(method);
                let reason = format!(
                    "entry {} is compressed with {method}; send the archive with deflate",
                    show(name)
                );
                return Err(ExtractError::Format { reason });
            }
        };
        Ok(Self { source, name, line, crc: Crc::new(), count: 0 })
    }

    /// Reads on; at the end, where it gives nothing, the data must have been what was promised.
    fn read(&mut self, buffer: &mut [u8], budget: &Budget<'_>) -> Result<usize, ExtractError> {
        let count = loop {
            let read = match &mut self.source {
                Source::Stored(section) => section.read(buffer),
                Source::Deflated(decoder) => decoder.read(buffer),
            };
            match read {
                Ok(count) => break count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    budget.check()?;
                    return Err(match error.raw_os_error() {
                        Some(_) => ExtractError::unreadable(error),
                        None => self.damaged("its compressed data is damaged"),
                    });
                }
            }
        };
        self.count += count as u64;
        self.crc.update(&buffer[..count]);
        if self.count > self.line.size {
            return Err(self.damaged("it is longer than its size says"));
        }
        if count == 0 {
            self.prove()?;
        }
        Ok(count)
    }

    fn prove(&mut self) -> Result<(), ExtractError> {
        if self.count != self.line.size {
            return Err(self.damaged("it is shorter than its size says"));
        }
        if self.crc.sum() != self.line.crc {
            return Err(self.damaged("its content does not match its checksum"));
        }
        let rest = match &mut self.source {
            Source::Stored(_) => false,
            Source::Deflated(decoder) => {
                !decoder.get_mut().fill_buf().map_err(ExtractError::unreadable)?.is_empty()
            }
        };
        if rest { Err(self.damaged("more follows its compressed data")) } else { Ok(()) }
    }

    fn damaged(&self, what: &str) -> ExtractError {
        ExtractError::broken(format!("entry {}: {what}", show(self.name)))
    }
}

fn method_name(method: u16) -> String {
    match method {
        9 => "deflate64".to_owned(),
        12 => "bzip2".to_owned(),
        14 => "LZMA".to_owned(),
        93 => "zstd".to_owned(),
        95 => "xz".to_owned(),
        _ => format!("method {method}"),
    }
}
