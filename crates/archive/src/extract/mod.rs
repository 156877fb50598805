//! Unpacking: an archive that nobody vouches for, into a directory that people work in.
//!
//! It is unpacked into a hidden directory beside the destination and moved in when all of it proved sound. Until then
//! nothing changes, and a move that fails is taken back: whatever goes wrong, the destination is what it was.

mod budget;
mod journal;
mod links;
mod merge;
mod moves;
mod place;
mod route;
mod stage;
mod tar;
mod unpack;
mod zip;

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use self::budget::Budget;
pub use self::budget::Limits;
pub use self::merge::Existing;
use self::merge::Merge;
use self::place::Place;
pub use self::place::nearest_directory;
use self::stage::Stage;
use self::unpack::Unpacker;
use crate::error::ExtractError;
use crate::format::{BLOCK, Format};

/// What was unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extracted {
    /// The archive's format.
    pub format: Format,
    /// Files, directories and links in it.
    pub entries: u64,
    /// Bytes of its files.
    pub bytes: u64,
}

/// Unpacks an archive, tar or tar.gz or zip, into a directory, which is made when missing. Setting `cancel` breaks it
/// off.
///
/// Nothing is written outside, and nothing through a link. The rights to run as another user are dropped, owners are not
/// taken over, and whoever unpacks can read and change all of it.
pub fn extract(
    archive: &mut File,
    into: &Path,
    existing: Existing,
    limits: Limits,
    cancel: &AtomicBool,
) -> Result<Extracted, ExtractError> {
    let length = archive.metadata().map_err(ExtractError::unreadable)?.len();
    let format = detect(archive)?;
    let place = Place::prepare(into)?;
    let stage = Stage::new(place.tree()?);
    let mut unpacker = Unpacker::new(Budget::new(limits, length, cancel), stage);
    let unpacked = match format {
        Format::Tar => tar::unpack(&mut tar::Stream::plain(archive), &mut unpacker),
        Format::TarGz => tar::unpack(&mut tar::Stream::gzip(archive, cancel), &mut unpacker),
        Format::Zip => zip::unpack(archive, length, &mut unpacker),
    };
    unpacked.map_err(|error| error.below(into))?;
    let budget = &unpacker.budget;
    Merge::new(&place, existing, budget).run(unpacker.stage().root())?;
    Ok(Extracted { format, entries: budget.entries, bytes: budget.bytes })
}

fn detect(archive: &mut File) -> Result<Format, ExtractError> {
    let mut head = Vec::with_capacity(BLOCK);
    let mut read = || {
        archive.rewind()?;
        (&*archive).take(BLOCK as u64).read_to_end(&mut head)?;
        archive.rewind()
    };
    read().map_err(ExtractError::unreadable)?;
    Format::detect(&head).map_err(|reason| ExtractError::Format { reason })
}
