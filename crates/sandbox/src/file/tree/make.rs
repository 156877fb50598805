//! Making directories.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use atoll_api::file::{MakeDirectory, MakeDirectoryResult};
use atoll_operation::{Context, Error, Handle};

use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::Files;

impl Handle<MakeDirectory> for Files {
    async fn handle(
        &self,
        cx: &Context,
        input: MakeDirectory,
    ) -> Result<MakeDirectoryResult, Error> {
        let path = self.path("mkdir", &input.path)?;
        self.at_desk(cx, move |_| match make(&path, input.mode) {
            Ok(created) => Ok(MakeDirectoryResult { path: show(&path), created }),
            Err(error) => Err(Attempt::new("mkdir", &path).failed(&error)),
        })
        .await
    }
}

/// Whether it was made just now.
fn make(path: &Path, mode: Option<u32>) -> io::Result<bool> {
    let mut made = fs::create_dir(path);
    if let (Err(error), Some(parent)) = (&made, path.parent())
        && error.kind() == io::ErrorKind::NotFound
    {
        fs::create_dir_all(parent)?;
        made = fs::create_dir(path);
    }
    match made {
        // Some systems refuse before they look: there it counts only that it is a directory.
        Err(_) if path.is_dir() => return Ok(false),
        made => made?,
    }
    if let Some(mode) = mode {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    Ok(true)
}
