//! Taking an upload.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_api::file::{FileUploadResult, UploadFile};
use atoll_operation::{Context, Error, Incoming, Late, Receive};

use super::destination::{Destination, begin_in};
use super::naming::path_for;
use super::spool::Spool;
use crate::file::fault::Attempt;
use crate::file::paths::{Places, show};
use crate::file::service::{Files, blocking};
use crate::file::store::Turns;

impl Receive<UploadFile> for Files {
    async fn receive(
        &self,
        _: &Context,
        input: Late<UploadFile>,
        file: Option<Incoming>,
    ) -> Result<FileUploadResult, Error> {
        let Some(file) = file else {
            return Err(Error::field("file", "missing", "is required: send it as a form's part"));
        };
        let landing = Landing {
            places: self.places.clone(),
            temporary: self.temporary_directory(),
            turns: Arc::clone(&self.turns),
        };
        let early = input.early().and_then(|early| early.path.clone());
        landing.take(early, file, async { input.all().await.map(|input| input.path) }).await
    }
}

/// Where uploads arrive.
#[derive(Debug, Clone)]
struct Landing {
    places: Places,
    temporary: PathBuf,
    turns: Arc<Turns>,
}

impl Landing {
    /// Takes a file. Its path may be known early; otherwise the file waits in the workspace until it is.
    async fn take(
        self,
        early: Option<String>,
        file: Incoming,
        path: impl Future<Output = Result<Option<String>, Error>>,
    ) -> Result<FileUploadResult, Error> {
        let landing = Arc::new(self);
        let filename: Option<Arc<str>> = file.filename.as_deref().map(Into::into);

        let early = early.filter(|path| !path.is_empty());
        let (here, known, name) = (Arc::clone(&landing), early.clone(), filename.clone());
        let (destination, spool) =
            blocking(move || here.begin(known.as_deref(), name.as_deref())).await?;
        let spool = spool.fill(file).await.map_err(|error| {
            let shown = destination.as_ref().map(Destination::path);
            Attempt::new("upload", shown.unwrap_or(&landing.places.workspace)).failed(&error)
        })?;
        let path = path.await?;
        if early.is_some() && early != path {
            let twice = "is given before the file and, by another name, after it; give it once";
            return Err(Error::field("path", "twice", twice));
        }
        blocking(move || {
            let destination = match destination {
                Some(destination) => destination,
                None => landing.destination(path.as_deref(), filename.as_deref())?,
            };
            let file_path = show(destination.path());
            let file_size = destination.settle(spool, &landing.turns)?;
            Ok(FileUploadResult { file_path, file_size, success: true })
        })
        .await
    }

    /// Begins an unfinished file, at its destination where that is known.
    fn begin(
        &self,
        path: Option<&str>,
        filename: Option<&str>,
    ) -> Result<(Option<Destination>, Spool), Error> {
        if path.is_none() {
            let spool = begin_in(&self.elsewhere());
            let attempt = Attempt::new("upload", &self.places.workspace);
            return Ok((None, spool.map_err(|error| attempt.failed(&error))?));
        }
        let mut destination = self.destination(path, filename)?;
        let spool = destination.begin(&self.elsewhere())?;
        Ok((Some(destination), spool))
    }

    fn destination(&self, path: Option<&str>, name: Option<&str>) -> Result<Destination, Error> {
        Destination::find(path_for(&self.places, path, name)?)
    }

    /// Where a file can wait that cannot wait beside its destination.
    fn elsewhere(&self) -> [&Path; 2] {
        [&self.places.workspace, &self.temporary]
    }
}

#[cfg(test)]
mod tests;
