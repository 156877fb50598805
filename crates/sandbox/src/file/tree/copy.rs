//! Copying, and what copying and moving have in common: where things go.

use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use atoll_api::file::{CopyPath, CopyResult};
use atoll_operation::{Context, Error, Handle};

use super::copier::{Copier, Keep};
use super::look::leads_nowhere;
use super::remove::remove_tree;
use super::rename::{beside, rename_to_free};
use crate::file::desk::Desk;
use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::Files;

impl Handle<CopyPath> for Files {
    async fn handle(&self, cx: &Context, input: CopyPath) -> Result<CopyResult, Error> {
        let source = self.path("copy", &input.source)?;
        let destination = self.path("copy", &input.destination)?;
        self.at_desk(cx, move |desk| {
            let route = Route::find("copy", &source, &destination)?;
            copy(desk, &route, input.overwrite)
        })
        .await
    }
}

/// From where to where something goes.
pub(super) struct Route<'a> {
    pub(super) operation: &'static str,
    pub(super) source: &'a Path,
    pub(super) metadata: Metadata,
    /// Where it will be, and not only the directory it goes into.
    pub(super) destination: PathBuf,
}

impl<'a> Route<'a> {
    /// Looks at both ends, and refuses what cannot be.
    pub(super) fn find(
        operation: &'static str,
        source: &'a Path,
        destination: &Path,
    ) -> Result<Self, Error> {
        let attempt = Attempt::new(operation, source);
        let metadata = fs::symlink_metadata(source).map_err(|error| attempt.failed(&error))?;
        let Some(name) = source.file_name() else {
            let message = "a path that ends in '..' is not taken here; spell it out";
            return Err(attempt.invalid_path(message));
        };
        let destination = match fs::metadata(destination) {
            Ok(there) if there.is_dir() => destination.join(name),
            _ => destination.to_owned(),
        };
        let route = Self { operation, source, metadata, destination };
        if let Err(error) = fs::metadata(route.parent()) {
            let cure = "The directory it goes into must be there; make it with /v1/file/mkdir";
            return Err(route.there().failed_with(&error, cure));
        }
        if route.returns() {
            let message = "the source and the destination are the same";
            return Err(route.there().invalid_target(message));
        }
        if route.metadata.is_dir() && route.enters_itself() {
            let message = "the destination lies in the source: a directory cannot go into itself";
            return Err(route.there().invalid_target(message));
        }
        Ok(route)
    }

    /// For errors about the destination.
    pub(super) fn there(&self) -> Attempt<'_> {
        Attempt::new(self.operation, &self.destination)
    }

    /// What is at the destination already.
    pub(super) fn existing(&self) -> Result<Option<Metadata>, Error> {
        match fs::symlink_metadata(&self.destination) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if leads_nowhere(&error) => Ok(None),
            Err(error) => Err(self.there().failed(&error)),
        }
    }

    /// Whether both ends are one name in one directory.
    fn returns(&self) -> bool {
        let directory = |path: &Path| fs::metadata(path.parent()?).ok();
        self.source.file_name() == self.destination.file_name()
            && match (directory(self.source), directory(&self.destination)) {
                (Some(one), Some(other)) => is_same(&one, &other),
                _ => false,
            }
    }

    fn parent(&self) -> &Path {
        self.destination.parent().unwrap_or(Path::new("/"))
    }

    fn enters_itself(&self) -> bool {
        fs::canonicalize(self.parent()).is_ok_and(|parent| {
            parent
                .ancestors()
                .any(|above| fs::metadata(above).is_ok_and(|above| is_same(&above, &self.metadata)))
        })
    }
}

pub(super) fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

fn copy(desk: &Desk, route: &Route<'_>, overwrite: bool) -> Result<CopyResult, Error> {
    let kind = route.metadata.file_type();
    if kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device() {
        let message = "it is a pipe, a socket or a device, which has no content to copy";
        return Err(Attempt::new(route.operation, route.source).invalid_target(message));
    }
    let mut copier = Copier::new(desk, route.operation, Keep::Permissions);
    match route.existing()? {
        Some(_) if !overwrite => return Err(route.there().already_exists()),
        Some(there) => copy_over(route, &there, &mut copier)?,
        None => {
            let fresh = copy_beside(route, &mut copier)?;
            let renamed = if overwrite && !route.metadata.is_dir() {
                fs::rename(&fresh, &route.destination)
            } else {
                rename_to_free(&fresh, &route.destination)
            };
            renamed.map_err(|error| {
                discard(&fresh);
                route.there().failed(&error)
            })?;
        }
    }
    if let Some(first) = &copier.first_skipped {
        desk.cx.hint(format!(
            "{} pipes, sockets or devices were left out, {} among them",
            copier.skipped,
            show(first)
        ));
    }
    Ok(CopyResult {
        source: show(route.source),
        destination: show(&route.destination),
        files: copier.files,
        bytes: copier.bytes,
    })
}

/// Copies over what is there: directories become one, files are replaced.
fn copy_over(route: &Route<'_>, there: &Metadata, copier: &mut Copier<'_>) -> Result<(), Error> {
    let through_link = fs::metadata(&route.destination).ok();
    if through_link.is_some_and(|target| is_same(&target, &route.metadata)) {
        let message = "the source and the destination are the same file";
        return Err(route.there().invalid_target(message));
    }
    if route.metadata.is_dir() && !there.is_dir() {
        return Err(route.there().failed(&rustix::io::Errno::NOTDIR.into()));
    }
    copier.copy(route.source, &route.destination)
}

/// Makes a complete copy under another name beside the destination, or nothing.
pub(super) fn copy_beside(route: &Route<'_>, copier: &mut Copier<'_>) -> Result<PathBuf, Error> {
    let fresh = beside(&route.destination);
    match copier.copy_apart(route.source, &fresh, &route.destination) {
        Ok(()) => Ok(fresh),
        Err(error) => {
            discard(&fresh);
            Err(error)
        }
    }
}

/// Takes back what was made, as far as that is possible.
pub(super) fn discard(fresh: &Path) {
    let discarded = match fs::symlink_metadata(fresh) {
        Ok(metadata) if metadata.is_dir() => remove_tree(fresh).map_err(|left| left.error),
        Ok(_) => fs::remove_file(fresh),
        Err(_) => Ok(()),
    };
    if let Err(error) = discarded {
        tracing::warn!(path = %fresh.display(), %error, "an unfinished copy could not be removed");
    }
}
