//! Moving, within a file system and across.

use std::fs;
use std::io;
use std::path::Path;

use atoll_api::file::{MovePath, MoveResult};
use atoll_operation::{Context, Error, Handle};
use rustix::io::Errno;

use super::copier::{Copier, Keep};
use super::copy::{Route, copy_beside, discard, is_same};
use super::guard::protect;
use super::remove::remove_tree;
use super::rename::{beside, rename_to_free};
use crate::file::desk::Desk;
use crate::file::fault::Attempt;
use crate::file::paths::show;
use crate::file::service::Files;

impl Handle<MovePath> for Files {
    async fn handle(&self, cx: &Context, input: MovePath) -> Result<MoveResult, Error> {
        let source = self.path("move", &input.source)?;
        let destination = self.path("move", &input.destination)?;
        let places = self.places.clone();
        self.at_desk(cx, move |desk| {
            protect(&places, Attempt::new("move", &source), &source)?;
            let route = Route::find("move", &source, &destination)?;
            relocate(desk, &route, input.overwrite)?;
            Ok(MoveResult { source: show(&source), destination: show(&route.destination) })
        })
        .await
    }
}

fn relocate(desk: &Desk, route: &Route<'_>, overwrite: bool) -> Result<(), Error> {
    let existing = if overwrite { route.existing()? } else { None };
    let moved = match existing {
        // Renaming one name of a file to another name of it does nothing at all.
        Some(there) if !there.is_dir() && is_same(&there, &route.metadata) => {
            fs::remove_file(route.source)
        }
        _ => rename(route.source, &route.destination, overwrite),
    };
    match moved {
        Err(error) if error.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => {
            across(desk, route, overwrite)
        }
        moved => moved.map_err(|error| route.there().failed(&error)),
    }
}

fn rename(from: &Path, to: &Path, overwrite: bool) -> io::Result<()> {
    if overwrite { fs::rename(from, to) } else { rename_to_free(from, to) }
}

/// Copies to the other file system, then takes the original away. Whatever fails up to the last step leaves both
/// places as they were: the original is set aside, which shows that it may go, before the copy takes its place.
fn across(desk: &Desk, route: &Route<'_>, overwrite: bool) -> Result<(), Error> {
    if !overwrite && route.existing()?.is_some() {
        return Err(route.there().already_exists());
    }
    let mut copier = Copier::new(desk, route.operation, Keep::Everything);
    let fresh = copy_beside(route, &mut copier)?;
    if let Some(special) = &copier.first_skipped {
        discard(&fresh);
        let message = "it is a pipe, a socket or a device, which cannot go to another file system";
        return Err(Attempt::new(route.operation, special).invalid_target(message));
    }
    let aside = beside(route.source);
    if let Err(error) = rename_to_free(route.source, &aside) {
        discard(&fresh);
        return Err(Attempt::new(route.operation, route.source).failed(&error));
    }
    if let Err(error) = rename(&fresh, &route.destination, overwrite) {
        let restored = rename_to_free(&aside, route.source);
        if let Err(error) = restored {
            tracing::error!(path = %aside.display(), %error, "a move could not be taken back");
        }
        discard(&fresh);
        return Err(route.there().failed(&error));
    }
    let removed = if route.metadata.is_dir() {
        remove_tree(&aside).map_err(|left| left.error)
    } else {
        fs::remove_file(&aside)
    };
    if let Err(error) = removed {
        desk.cx.hint(format!(
            "everything was moved, but some of the original could not be deleted and lies in {}: {error}",
            show(&aside)
        ));
    }
    Ok(())
}
