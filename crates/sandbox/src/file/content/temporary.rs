//! Files with names nobody uses yet.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use atoll_api::file::{CreateTempFile, TempFile};
use atoll_operation::{Context, Error, Handle};

use super::payload::from_base64;
use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::Files;
use crate::file::store::temporary;

/// The pattern of a file whose caller does not mind.
const ANY: &str = "tmp*";
const PRIVATE: u32 = 0o600;

impl Handle<CreateTempFile> for Files {
    async fn handle(&self, cx: &Context, input: CreateTempFile) -> Result<TempFile, Error> {
        let directory = match input.dir.as_deref().filter(|dir| !dir.is_empty()) {
            Some(directory) => self.path("create_temp", directory)?,
            None => self.temporary_directory(),
        };
        self.at_desk(cx, move |_| create(&directory, input)).await
    }
}

fn create(directory: &Path, input: CreateTempFile) -> Result<TempFile, Error> {
    let attempt = Attempt::new("create_temp", directory);
    let pattern = input.pattern.as_deref().filter(|pattern| !pattern.is_empty()).unwrap_or(ANY);
    if pattern.contains('/') {
        let message = "is the name of a file and cannot contain '/'; give the directory as dir";
        return Err(Error::field("pattern", "name", message));
    }
    let (prefix, suffix) = pattern.rsplit_once('*').unwrap_or((pattern, ""));
    let content =
        if input.base64 { from_base64(input.content)? } else { input.content.into_bytes() };
    let make = || {
        if !directory.is_dir() {
            std::fs::create_dir_all(directory)?;
        }
        let mut fresh = temporary(directory, prefix, suffix, PRIVATE)?;
        fresh.as_file_mut().write_all(&content)?;
        if let Some(mode) = input.mode {
            fresh.as_file().set_permissions(Permissions::from_mode(mode))?;
        }
        fresh.keep().map(|(_, path)| path).map_err(|error| error.error)
    };
    let path = make().map_err(|error| attempt.failed(&error))?;
    Ok(TempFile { file: show(&path) })
}
