//! Packing: a tree walked once and written as it is found, to a sink that cannot seek.
//!
//! Links stay links and are never followed. Devices, pipes and sockets have no content to keep: they are left out and
//! counted. Anything else that cannot be read ends the packing with its name, since an archive that lacks a file without
//! saying so is worse than none. What vanishes meanwhile is left out; a file that changes while it is read gets the
//! length it began with.

mod content;
mod tar;
mod tree;
mod walk;
mod zip;

use std::io::{BufWriter, Write};
use std::sync::atomic::AtomicBool;

use flate2::Compression;
use flate2::write::GzEncoder;

use self::tar::TarWriter;
pub use self::tree::Tree;
use self::walk::Walk;
use self::zip::ZipWriter;
use crate::error::PackError;
use crate::format::Format;

/// How hard gzip and zip try: most of the gain for a fraction of the time, since somebody waits for the bytes.
const LEVEL: Compression = Compression::new(3);

/// Bytes collected before they go to the sink.
const COLLECTED: usize = 64 << 10;

/// What an archive was made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packed {
    /// Files, directories and links in it.
    pub entries: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Devices, pipes and sockets left out.
    pub skipped: u64,
}

/// Packs a tree. Every entry's path begins with the tree's own name. Setting `cancel` breaks it off.
pub fn pack(
    tree: &Tree,
    format: Format,
    sink: impl Write,
    cancel: &AtomicBool,
) -> Result<Packed, PackError> {
    let sink = BufWriter::with_capacity(COLLECTED, sink);
    match format {
        Format::Tar => {
            let mut writer = TarWriter::new(sink);
            let packed = Walk::new(tree, cancel, &mut writer).run()?;
            let mut sink = writer.finish().map_err(PackError::Write)?;
            sink.flush().map_err(PackError::Write)?;
            Ok(packed)
        }
        Format::TarGz => {
            let mut writer = TarWriter::new(GzEncoder::new(sink, LEVEL));
            let packed = Walk::new(tree, cancel, &mut writer).run()?;
            let finish = || writer.finish()?.finish()?.flush();
            finish().map_err(PackError::Write)?;
            Ok(packed)
        }
        Format::Zip => {
            let mut writer = ZipWriter::new(sink);
            let packed = Walk::new(tree, cancel, &mut writer).run()?;
            writer.finish()?.flush().map_err(PackError::Write)?;
            Ok(packed)
        }
    }
}
