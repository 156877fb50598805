//! What must stay where it is: the root, the home, the workspace, and the directories they lie in.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use atoll_operation::Error;

use crate::file::fault::Attempt;
use crate::file::paths::Places;

/// Refuses to take away a directory the sandbox stands on, by whichever path it is named.
pub(super) fn protect(places: &Places, attempt: Attempt<'_>, path: &Path) -> Result<(), Error> {
    let itself = fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    for (name, place) in
        [("root", Path::new("/")), ("home", &places.home), ("workspace", &places.workspace)]
    {
        let real = fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
        let by_name = place.starts_with(path) || real.starts_with(path);
        let by_identity = itself.is_some()
            && real.ancestors().any(|above| {
                fs::metadata(above).map(|metadata| (metadata.dev(), metadata.ino())).ok() == itself
            });
        if by_name || by_identity {
            return Err(attempt.invalid_target(&format!(
                "it is or holds the {name} directory of this sandbox, which must stay; name what is in it instead"
            )));
        }
    }
    if path.file_name().is_none() {
        return Err(
            attempt.invalid_path("a path that ends in '..' is not taken here; spell it out")
        );
    }
    Ok(())
}
