//! An archive taken in and unpacked.

use std::fs::File;
use std::path::{Path, PathBuf};

use atoll_api::file::{ArchiveFormat, ExtractArchive, ExtractedArchive};
use atoll_archive::{Existing, Extracted, Format, Limits, nearest_directory};
use atoll_operation::{Context, Error, Incoming, Late, Receive};

use super::abandon::Abandon;
use super::fault::{not_extracted, too_large};
use crate::file::fault::Attempt;
use crate::file::inflow::pour;
use crate::file::paths::show;
use crate::file::service::{Files, blocking};

impl Receive<ExtractArchive> for Files {
    async fn receive(
        &self,
        _: &Context,
        input: Late<ExtractArchive>,
        file: Option<Incoming>,
    ) -> Result<ExtractedArchive, Error> {
        let Some(file) = file else {
            return Err(Error::field("file", "missing", "is required: send it as a form's part"));
        };
        let early = given(input.early());
        let archive = self.spool(early.as_deref(), file).await?;
        let input = input.all().await?;
        let path = given(Some(&input));
        if early.is_some() && early != path {
            let twice = "is given before the file and, by another name, after it; give it once";
            return Err(Error::field("path", "twice", twice));
        }
        let into = self.destination(path.as_deref())?;
        let existing = if input.overwrite { Existing::Replace } else { Existing::Keep };
        self.unpack(archive, into, existing).await
    }
}

impl Files {
    fn destination(&self, path: Option<&str>) -> Result<PathBuf, Error> {
        match path {
            Some(path) => self.path("extract", path),
            None => Ok(self.places.workspace.clone()),
        }
    }

    /// Takes the archive in, on the destination's file system where that is known: that is where there must be room.
    async fn spool(&self, early: Option<&str>, file: Incoming) -> Result<File, Error> {
        let into = self.destination(early)?;
        let (known, shown) = (early.is_some(), into.clone());
        let temporary = self.temporary_directory();
        let spooled = blocking(move || {
            let failed = |error| Attempt::new("extract", &into).failed(&error);
            let nearest = nearest_directory(&into).map_err(failed)?;
            // A destination that takes no file now will take none later.
            let elsewhere: &Path = if known { &nearest } else { &temporary };
            // Nobody sees it, and it is gone when it is let go of.
            let begin = |directory: &Path| tempfile::tempfile_in(directory);
            begin(&nearest).or_else(|_| begin(elsewhere)).map_err(failed)
        });
        let limit = self.limits.upload_bytes;
        let poured = pour(spooled.await?, file.bytes, limit).await;
        match poured.map_err(|error| Attempt::new("extract", &shown).failed(&error))? {
            (_, length) if length > limit => {
                let reason = format!("it is longer than {limit} bytes");
                Err(too_large("upload_bytes", limit, &reason))
            }
            (archive, _) => Ok(archive),
        }
    }

    async fn unpack(
        &self,
        mut archive: File,
        into: PathBuf,
        existing: Existing,
    ) -> Result<ExtractedArchive, Error> {
        let limits = Limits {
            entries: self.limits.archive_entries,
            bytes: self.limits.archive_bytes,
            ratio: self.limits.archive_ratio,
        };
        let abandon = Abandon::default();
        let flag = abandon.flag();
        let extracted = blocking(move || {
            atoll_archive::extract(&mut archive, &into, existing, limits, &flag)
                .map(|extracted| describe(&into, extracted))
                .map_err(|error| not_extracted(error, &into))
        });
        let outcome = extracted.await;
        drop(abandon);
        outcome
    }
}

/// A form cannot say that it leaves a field out otherwise than by leaving it empty.
fn given(input: Option<&ExtractArchive>) -> Option<String> {
    input.and_then(|input| input.path.clone()).filter(|path| !path.is_empty())
}

fn describe(into: &Path, extracted: Extracted) -> ExtractedArchive {
    ExtractedArchive {
        path: show(into),
        format: match extracted.format {
            Format::Tar => ArchiveFormat::Tar,
            Format::TarGz => ArchiveFormat::TarGz,
            Format::Zip => ArchiveFormat::Zip,
        },
        entries: extracted.entries,
        bytes: extracted.bytes,
    }
}
