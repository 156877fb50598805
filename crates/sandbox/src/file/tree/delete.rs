//! Deleting.

use std::fs;
use std::path::Path;

use atoll_api::file::{DeletePath, DeleteResult};
use atoll_operation::{Context, Error, Handle};

use super::guard::protect;
use super::look::leads_nowhere;
use super::remove::remove_tree;
use crate::file::fault::Attempt;
use crate::file::paths::{Places, show};
use crate::file::service::Files;

impl Handle<DeletePath> for Files {
    async fn handle(&self, cx: &Context, input: DeletePath) -> Result<DeleteResult, Error> {
        let path = self.path("delete", &input.path)?;
        let places = self.places.clone();
        self.at_desk(cx, move |_| {
            let deleted = delete(&places, &path, input.recursive)?;
            Ok(DeleteResult { path: show(&path), deleted })
        })
        .await
    }
}

/// Whether there was something to delete.
fn delete(places: &Places, path: &Path, recursive: bool) -> Result<bool, Error> {
    let attempt = Attempt::new("delete", path);
    protect(places, attempt, path)?;
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if leads_nowhere(&error) => return Ok(false),
        Err(error) => return Err(attempt.failed(&error)),
    };
    let deleted = match (metadata.is_dir(), recursive) {
        (true, true) => {
            return remove_tree(path)
                .map(|()| true)
                .map_err(|left| Attempt::new("delete", &left.path).failed(&left.error));
        }
        (true, false) => fs::remove_dir(path),
        (false, _) => fs::remove_file(path),
    };
    match deleted {
        Ok(()) => Ok(true),
        Err(error) if leads_nowhere(&error) => Ok(false),
        Err(error) => Err(attempt.failed(&error)),
    }
}
