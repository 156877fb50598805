//! What the readers of both formats do with an entry: name it, count it, stage it.

use std::io::{Seek, SeekFrom, Write};

use super::budget::Budget;
use super::route::Route;
use super::stage::{Nature, Stage, failed};
use super::tar::Part;
use crate::error::ExtractError;

/// Bytes of content passed on at once.
const CHUNK: usize = 128 << 10;

#[derive(Debug)]
pub(super) struct Unpacker<'a> {
    pub(super) budget: Budget<'a>,
    stage: Stage,
    buffer: Vec<u8>,
}

impl<'a> Unpacker<'a> {
    pub(super) fn new(budget: Budget<'a>, stage: Stage) -> Self {
        Self { budget, stage, buffer: vec![0; CHUNK] }
    }

    pub(super) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Counts an entry and finds out where it goes.
    pub(super) fn begin(&mut self, name: &[u8]) -> Result<Route, ExtractError> {
        self.budget.entry(self.stage.implied())?;
        Route::of(name).map_err(|reason| ExtractError::hazard(name, reason))
    }

    pub(super) fn directory(&mut self, route: &Route, nature: Nature) -> Result<(), ExtractError> {
        self.stage.directory(route, nature)
    }

    pub(super) fn link(
        &mut self,
        route: &Route,
        target: &[u8],
        nature: Nature,
    ) -> Result<(), ExtractError> {
        self.stage.link(route, target, nature)
    }

    pub(super) fn hard_link(&mut self, route: &Route, target: &[u8]) -> Result<(), ExtractError> {
        let to = Route::of(target).map_err(|reason| {
            ExtractError::hazard(route.as_bytes(), format!("of the file it links to: {reason}"))
        })?;
        self.stage.hard_link(route, &to)
    }

    /// Writes a file: all that `read` gives until it gives nothing.
    pub(super) fn file(
        &mut self,
        route: &Route,
        nature: Nature,
        mut read: impl FnMut(&mut [u8], &Budget<'_>) -> Result<usize, ExtractError>,
    ) -> Result<(), ExtractError> {
        let mut file = self.stage.file(route)?;
        loop {
            let count = read(&mut self.buffer, &self.budget)?;
            if count == 0 {
                return Stage::finish(route, file, nature);
            }
            self.budget.bytes(count as u64)?;
            file.write_all(&self.buffer[..count]).map_err(failed(route))?;
        }
    }

    /// Writes a file of which only parts are in the archive; between them it is empty, and it counts whole.
    pub(super) fn sparse_file(
        &mut self,
        route: &Route,
        nature: Nature,
        (size, parts): (u64, &[Part]),
        mut read: impl FnMut(&mut [u8], &Budget<'_>) -> Result<usize, ExtractError>,
    ) -> Result<(), ExtractError> {
        self.budget.bytes(size)?;
        let mut file = self.stage.file(route)?;
        for part in parts {
            file.seek(SeekFrom::Start(part.offset)).map_err(failed(route))?;
            let mut left = part.length;
            while left > 0 {
                let room = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
                let count = read(&mut self.buffer[..room], &self.budget)?;
                if count == 0 {
                    return Err(ExtractError::broken("it ends too early"));
                }
                file.write_all(&self.buffer[..count]).map_err(failed(route))?;
                left -= count as u64;
            }
        }
        file.set_len(size).map_err(failed(route))?;
        Stage::finish(route, file, nature)
    }
}
